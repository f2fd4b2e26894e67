// CronJob.

import type { KubeObject, ObjectMeta } from "../../../plugins/kit/objects/types.ts";
import type { ResourceDefinition } from "../definition.ts";
import { type FieldErrors, invalid, notSupported, required, tooLong } from "../field-error.ts";
import { selectorText } from "../label-selector.ts";
import { dnsSubdomain } from "../names.ts";
import { setDefault } from "../pod-spec/defaults.ts";
import { defaultTemplate, templateCells, templateColumns } from "../pod-template.ts";
import { age, ageColumn, column, nameColumn } from "../print.ts";
import { type JobSpec, validateJobSpec } from "./job.ts";

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
    defaultTemplate(spec.jobTemplate?.spec?.template);
  },
  validate(object) {
    const spec = specOf(object);
    const errors: FieldErrors = [];
    if (!spec.schedule) errors.push(required("spec.schedule"));
    else if (!isSchedule(spec.schedule))
      errors.push(invalid("spec.schedule", spec.schedule, "must be a cron expression of five fields"));
    else if (/TZ=/.test(spec.schedule))
      errors.push(
        invalid("spec.schedule", spec.schedule, "cannot use TZ or CRON_TZ in schedule, use timeZone field instead"),
      );
    if (spec.timeZone !== undefined && spec.timeZone !== null && !isTimeZone(spec.timeZone))
      errors.push(invalid("spec.timeZone", spec.timeZone, `unknown time zone ${spec.timeZone}`));
    if (!policies.includes(spec.concurrencyPolicy ?? ""))
      errors.push(notSupported("spec.concurrencyPolicy", spec.concurrencyPolicy, policies));
    for (const field of ["startingDeadlineSeconds", "successfulJobsHistoryLimit", "failedJobsHistoryLimit"] as const)
      if ((spec[field] ?? 0) < 0)
        errors.push(invalid(`spec.${field}`, spec[field], "must be greater than or equal to 0"));
    if ((spec.schedule?.length ?? 0) > 1024) errors.push(tooLong("spec.schedule", 1024));
    return [...errors, ...validateJobSpec(spec.jobTemplate?.spec ?? {}, "spec.jobTemplate.spec")];
  },
};

function isSchedule(text: string): boolean {
  const schedule = text.trim();
  if (/^@(yearly|annually|monthly|weekly|daily|midnight|hourly)$/.test(schedule)) return true;
  if (/^@every \S+$/.test(schedule)) return true;
  const fields = schedule.replace(/^(CRON_)?TZ=\S+\s+/, "").split(/\s+/);
  const names = "jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec|sun|mon|tue|wed|thu|fri|sat";
  const field = new RegExp(`^(\\*|\\?|\\d+|${names})(-(\\d+|${names}))?(/\\d+)?$`, "i");
  return fields.length === 5 && fields.every((one) => one.split(",").every((part) => field.test(part)));
}

function isTimeZone(zone: string): boolean {
  try {
    new Intl.DateTimeFormat("en", { timeZone: zone });
    return zone !== "" && zone.toLowerCase() !== "local";
  } catch {
    return false;
  }
}
