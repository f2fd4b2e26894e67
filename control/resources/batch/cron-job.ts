// CronJob.

import { warnOfJob } from "./warn-of-job.ts";
import { warnOfName } from "../pod-spec/warnings.ts";
import type { KubeObject, ObjectMeta } from "../../../plugins/kit/kube/objects/types.ts";
import type { ResourceDefinition } from "../definition.ts";
import { type FieldErrors, invalid, notListed, notSupported, required, tooLong } from "../../machinery/field-error.ts";
import { selectorText } from "../label-selector.ts";
import { dnsSubdomain } from "../names.ts";
import { setDefault } from "../pod-spec/defaults.ts";
import { defaultTemplate, templateCells, templateColumns } from "../pod-template.ts";
import { age, ageColumn, column, nameColumn } from "../print.ts";
import { cronProblem } from "./cron-format.ts";
import type { JobSpec } from "./job.ts";
import { validateJobSpec } from "./validate-job.ts";

interface CronJobSpec {
  schedule?: string;
  timeZone?: string | null;
  suspend?: boolean;
  concurrencyPolicy?: string;
  startingDeadlineSeconds?: number;
  successfulJobsHistoryLimit?: number;
  failedJobsHistoryLimit?: number;
  jobTemplate?: { metadata?: ObjectMeta; spec?: JobSpec };
}

const specOf = (object: KubeObject) => (object.spec ?? {}) as CronJobSpec;
const policies = ["Allow", "Forbid", "Replace"];

const zoneInSchedule =
  "cannot use TZ or CRON_TZ in spec.spec.schedule, use timeZone instead, see https://kubernetes.io/docs/concepts/workloads/controllers/cron-jobs/ for more details";

export const cronJobs: ResourceDefinition = {
  group: "batch",
  version: "v1",
  plural: "cronjobs",
  singular: "cronjob",
  kind: "CronJob",
  namespaced: true,
  shortNames: ["cj"],
  categories: ["all"],
  hasStatus: true,
  hasGeneration: true,
  // Jobs add a dash and a time to the name, and their pods more.
  validateName: (name) => [...dnsSubdomain(name), ...(name.length > 52 ? ["must be no more than 52 characters"] : [])],
  columns: [
    nameColumn,
    column("Schedule", "When it runs."),
    column("Timezone", "Where that time holds."),
    column("Suspend", "Whether it is paused.", "boolean"),
    column("Active", "How many of its jobs run now.", "integer"),
    column("Last Schedule", "How long ago it last ran."),
    ageColumn,
    ...templateColumns,
  ],
  cells(object, now) {
    const spec = specOf(object);
    const status = (object.status ?? {}) as { active?: unknown[]; lastScheduleTime?: string };
    return [
      object.metadata.name,
      spec.schedule ?? "",
      spec.timeZone ?? "<none>",
      spec.suspend === true ? "True" : "False",
      status.active?.length ?? 0,
      status.lastScheduleTime ? age(status.lastScheduleTime, now) : "<none>",
      age(object.metadata.creationTimestamp, now),
      ...templateCells(spec.jobTemplate?.spec?.template),
      selectorText(spec.jobTemplate?.spec?.selector),
    ];
  },
  defaults(object) {
    object.spec ??= {};
    const spec = specOf(object);
    if (!spec.concurrencyPolicy) spec.concurrencyPolicy = "Allow";
    setDefault(spec, "suspend", false);
    setDefault(spec, "successfulJobsHistoryLimit", 3);
    setDefault(spec, "failedJobsHistoryLimit", 1);
    if (spec.jobTemplate) spec.jobTemplate.metadata ??= {};
    const jobTemplate = (spec.jobTemplate ??= {});
    defaultTemplate((jobTemplate.spec ??= {}));
  },
  warnings(object, previous) {
    const spec = specOf(object);
    const own = warnOfJob(spec.jobTemplate?.spec, "spec.jobTemplate.spec");
    if (!previous) return [...warnOfName(object.metadata.name), ...own];
    return [
      ...(object.metadata.generation === previous.metadata.generation ? [] : own),
      ...(spec.schedule?.includes("TZ") ? [zoneInSchedule] : []),
    ];
  },
  validate(object, previous) {
    const spec = specOf(object);
    const errors = validateSchedule(spec, previous && specOf(previous));
    if (spec.timeZone !== undefined && spec.timeZone !== null && !isTimeZone(spec.timeZone))
      errors.push(invalid("spec.timeZone", spec.timeZone, `unknown time zone ${spec.timeZone}`));
    if (!policies.includes(spec.concurrencyPolicy ?? ""))
      errors.push(notSupported("spec.concurrencyPolicy", spec.concurrencyPolicy, policies));
    const job = spec.jobTemplate?.spec;
    if (job?.selector)
      errors.push(invalid("spec.jobTemplate.spec.selector", job.selector, "`selector` will be auto-generated"));
    if (job?.manualSelector) errors.push(notListed("spec.jobTemplate.spec.manualSelector", true, ["nil", "false"]));
    for (const field of ["startingDeadlineSeconds", "successfulJobsHistoryLimit", "failedJobsHistoryLimit"] as const)
      if ((spec[field] ?? 0) < 0)
        errors.push(invalid(`spec.${field}`, spec[field], "must be greater than or equal to 0"));
    return [...errors, ...validateJobSpec(spec.jobTemplate?.spec ?? {}, "spec.jobTemplate.spec")];
  },
};

function validateSchedule({ schedule, timeZone }: CronJobSpec, before: CronJobSpec | undefined): FieldErrors {
  const field = "spec.schedule";
  if (!schedule) return [required(field)];
  if (schedule.length > 1024) return [tooLong(field, 1024)];
  const problem = cronProblem(schedule);
  const errors = problem === undefined ? [] : [invalid(field, schedule, problem)];
  if (!schedule.includes("TZ")) return errors;
  // Old ones may keep it.
  if (before?.schedule?.includes("TZ") !== true)
    errors.push(invalid(field, schedule, "cannot use TZ or CRON_TZ in schedule, use timeZone field instead"));
  else if (timeZone != null)
    errors.push(invalid(field, schedule, "cannot use both timeZone field and TZ or CRON_TZ in schedule"));
  return errors;
}

function isTimeZone(zone: string): boolean {
  try {
    new Intl.DateTimeFormat("en", { timeZone: zone });
    return zone !== "" && zone.toLowerCase() !== "local";
  } catch {
    return false;
  }
}
