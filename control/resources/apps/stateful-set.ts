// StatefulSet.

import { fractionalBytes } from "../fractional-bytes.ts";
import { workloadWarnings } from "../pod-spec/warnings.ts";
import type { KubeObject } from "../../../plugins/kit/kube/objects/types.ts";
import { defaultClaimSpec } from "../core/claim-spec.ts";
import type { ResourceDefinition } from "../definition.ts";
import { deepEqual } from "../../machinery/equal.ts";
import { type FieldErrors, forbidden, invalid, notListed } from "../../machinery/field-error.ts";
import { isZero, validateIntOrPercent, validateNotAboveAll } from "../int-or-percent.ts";
import type { LabelSelector } from "../label-selector.ts";
import { setDefault } from "../pod-spec/defaults.ts";
import {
  defaultTemplate,
  type PodTemplate,
  templateCells,
  templateColumns,
  validateWorkload,
} from "../pod-template.ts";
import { age, ageColumn, column, nameColumn } from "../print.ts";
import { countRules, validateCounts } from "./validate-counts.ts";

interface StatefulSetSpec {
  replicas?: number;
  selector?: LabelSelector;
  template?: PodTemplate;
  serviceName?: string;
  podManagementPolicy?: string;
  revisionHistoryLimit?: number;
  minReadySeconds?: number;
  ordinals?: { start?: number };
  updateStrategy?: { type?: string; rollingUpdate?: { partition?: number; maxUnavailable?: number | string } };
  persistentVolumeClaimRetentionPolicy?: { whenDeleted?: string; whenScaled?: string };
  volumeClaimTemplates?: ClaimTemplate[];
}

interface ClaimTemplate {
  apiVersion?: string;
  kind?: string;
  metadata?: { name?: string };
  spec?: Record<string, unknown>;
  status?: unknown;
}

const specOf = (object: KubeObject) => (object.spec ?? {}) as StatefulSetSpec;
const mutable = [
  "replicas",
  "ordinals",
  "template",
  "updateStrategy",
  "persistentVolumeClaimRetentionPolicy",
  "minReadySeconds",
] as const;

/** The template as pods get it: each claim template is a volume of its name, which replaces one of the template. */
function withClaims({ template, volumeClaimTemplates = [] }: StatefulSetSpec): { template?: PodTemplate } {
  if (!template?.spec) return {};
  const names = volumeClaimTemplates.map(({ metadata }) => metadata?.name ?? "");
  const claims = names.map((name) => ({ name, persistentVolumeClaim: { claimName: name } }));
  const others = (template.spec.volumes ?? []).filter(({ name }) => !names.includes(name));
  return { template: { ...template, spec: { ...template.spec, volumes: [...others, ...claims] } } };
}

export const statefulSets: ResourceDefinition = {
  group: "apps",
  version: "v1",
  plural: "statefulsets",
  singular: "statefulset",
  kind: "StatefulSet",
  namespaced: true,
  shortNames: ["sts"],
  categories: ["all"],
  hasStatus: true,
  validateStatus: validateCounts(countRules.statefulSet),
  newStatus: { replicas: 0, availableReplicas: 0 },
  hasGeneration: true,
  scale: {
    specReplicas: "spec.replicas",
    statusReplicas: "status.replicas",
    selector: { path: "spec.selector", as: "labelSelector" },
  },
  columns: [
    nameColumn,
    column("Ready", "How many replicas are ready, of how many."),
    ageColumn,
    ...templateColumns.slice(0, 2),
  ],
  cells(object, now) {
    const ready = (object.status as { readyReplicas?: number } | undefined)?.readyReplicas ?? 0;
    return [
      object.metadata.name,
      `${ready}/${specOf(object).replicas ?? 0}`,
      age(object.metadata.creationTimestamp, now),
      ...templateCells(specOf(object).template),
    ];
  },
  defaults(object) {
    object.spec ??= {};
    const spec = specOf(object);
    setDefault(spec, "replicas", 1);
    setDefault(spec, "revisionHistoryLimit", 10);
    if (!spec.podManagementPolicy) spec.podManagementPolicy = "OrderedReady";
    spec.updateStrategy ??= {};
    if (!spec.updateStrategy.type) spec.updateStrategy.type = "RollingUpdate";
    if (spec.updateStrategy.type === "RollingUpdate") {
      spec.updateStrategy.rollingUpdate ??= {};
      setDefault(spec.updateStrategy.rollingUpdate, "partition", 0);
    }
    spec.persistentVolumeClaimRetentionPolicy ??= {};
    setDefault(spec.persistentVolumeClaimRetentionPolicy, "whenDeleted", "Retain");
    setDefault(spec.persistentVolumeClaimRetentionPolicy, "whenScaled", "Retain");
    defaultTemplate(spec);
    for (const claim of spec.volumeClaimTemplates ?? []) {
      claim.apiVersion ??= "v1";
      claim.kind ??= "PersistentVolumeClaim";
      claim.status ??= { phase: "Pending" };
      if (claim.spec) defaultClaimSpec(claim.spec);
    }
  },
  warnings: (object, previous) => [
    ...workloadWarnings(object, previous, { isNamed: false }),
    ...(specOf(object).volumeClaimTemplates ?? []).flatMap((claim, index) =>
      fractionalBytes(
        (claim.spec as { resources?: unknown } | undefined)?.resources,
        ["storage"],
        `spec.volumeClaimTemplates[${index}]${previous ? ".Spec" : ""}`,
      ),
    ),
  ],
  validate(object, previous) {
    const spec = specOf(object);
    const errors = validateWorkload({ ...spec, ...withClaims(spec) }, { kind: "StatefulSet" });
    for (const field of ["replicas", "minReadySeconds"] as const)
      if ((spec[field] ?? 0) < 0)
        errors.push(invalid(`spec.${field}`, spec[field], "must be greater than or equal to 0"));
    if (!["OrderedReady", "Parallel"].includes(spec.podManagementPolicy ?? ""))
      errors.push(
        invalid("spec.podManagementPolicy", spec.podManagementPolicy, "must be 'OrderedReady' or 'Parallel'"),
      );
    if (!["OnDelete", "RollingUpdate"].includes(spec.updateStrategy?.type ?? ""))
      errors.push(invalid("spec.updateStrategy", spec.updateStrategy, "must be 'RollingUpdate' or 'OnDelete'"));
    errors.push(...validateRolling(spec));
    if (previous) {
      const held: Record<string, unknown> = { ...spec };
      for (const field of mutable) {
        held[field] = specOf(previous)[field];
      }
      if (!deepEqual(held, specOf(previous)))
        errors.push(
          forbidden(
            "spec",
            "updates to statefulset spec for fields other than 'replicas', 'ordinals', 'template', 'updateStrategy', 'persistentVolumeClaimRetentionPolicy' and 'minReadySeconds' are forbidden",
          ),
        );
    }
    return errors;
  },
};

function validateRolling({
  updateStrategy,
  ordinals,
  persistentVolumeClaimRetentionPolicy,
}: StatefulSetSpec): FieldErrors {
  const errors: FieldErrors = [];
  const rolling = updateStrategy?.rollingUpdate;
  const at = "spec.updateStrategy.rollingUpdate";
  if (rolling && updateStrategy?.type === "OnDelete")
    errors.push(invalid(at, rolling, "only allowed for updateStrategy 'RollingUpdate'"));
  if ((rolling?.partition ?? 0) < 0)
    errors.push(invalid(`${at}.partition`, rolling?.partition, "must be greater than or equal to 0"));
  if (rolling?.maxUnavailable != null) {
    errors.push(...validateIntOrPercent(rolling.maxUnavailable, `${at}.maxUnavailable`));
    if (isZero(rolling.maxUnavailable))
      errors.push(invalid(`${at}.maxUnavailable`, rolling.maxUnavailable, "cannot be 0"));
    errors.push(...validateNotAboveAll(rolling.maxUnavailable, `${at}.maxUnavailable`));
  }
  for (const field of ["whenDeleted", "whenScaled"] as const) {
    const policy = persistentVolumeClaimRetentionPolicy?.[field];
    if (policy && !["Delete", "Retain"].includes(policy))
      errors.push(notListed(`spec.persistentVolumeClaimRetentionPolicy.${field}`, policy, ["Retain", "Delete"]));
  }
  if ((ordinals?.start ?? 0) < 0)
    errors.push(invalid("spec.ordinals.start", ordinals?.start, "must be greater than or equal to 0"));
  return errors;
}
