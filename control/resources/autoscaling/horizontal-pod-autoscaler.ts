// HorizontalPodAutoscaler: stored as v2; v1 knows only CPU and keeps the rest in annotations.

import type { KubeObject } from "../../../plugins/kit/kube/objects/types.ts";
import type { Column, ResourceDefinition } from "../definition.ts";
import { type FieldErrors, invalid, required } from "../../machinery/field-error.ts";
import { setDefault } from "../pod-spec/defaults.ts";
import { age, ageColumn, column, nameColumn } from "../print.ts";
import { pathSegment } from "../names.ts";
import { type Metric, metricsText } from "./metric.ts";
import { type ScalingRules, validateBehavior, validateMetrics } from "./validate-metrics.ts";

interface HpaSpec {
  scaleTargetRef?: { kind?: string; name?: string; apiVersion?: string };
  minReplicas?: number;
  maxReplicas?: number;
  metrics?: Metric[];
  targetCPUUtilizationPercentage?: number;
  behavior?: { scaleUp?: ScalingRules; scaleDown?: ScalingRules };
}

interface HpaStatus {
  currentReplicas?: number;
  desiredReplicas?: number;
  currentMetrics?: Metric[] | null;
  currentCPUUtilizationPercentage?: number;
  conditions?: unknown;
}

const specOf = (object: KubeObject) => (object.spec ?? {}) as HpaSpec;
const statusOf = (object: KubeObject) => (object.status ?? {}) as HpaStatus;

const columns: readonly Column[] = [
  nameColumn,
  column("Reference", "What it scales."),
  column("Targets", "Its metrics: now and wanted."),
  column("MinPods", "The fewest replicas."),
  column("MaxPods", "The most replicas."),
  column("Replicas", "How many there are."),
  ageColumn,
];

const shared = {
  group: "autoscaling",
  plural: "horizontalpodautoscalers",
  singular: "horizontalpodautoscaler",
  kind: "HorizontalPodAutoscaler",
  namespaced: true,
  shortNames: ["hpa"],
  categories: ["all"],
  hasStatus: true,
  columns,
} as const;

function cells(object: KubeObject, now: number): unknown[] {
  const spec = specOf(object);
  const target = spec.scaleTargetRef ?? {};
  return [
    object.metadata.name,
    `${target.kind ?? ""}/${target.name ?? ""}`,
    metricsText(spec.metrics, statusOf(object).currentMetrics ?? undefined),
    String(spec.minReplicas ?? "<unset>"),
    spec.maxReplicas ?? 0,
    statusOf(object).currentReplicas ?? 0,
    age(object.metadata.creationTimestamp, now),
  ];
}

function validate(object: KubeObject): FieldErrors {
  const { minReplicas, maxReplicas = 0, scaleTargetRef, metrics, behavior } = specOf(object);
  const errors: FieldErrors = [];
  if (minReplicas !== undefined && minReplicas < 1)
    errors.push(invalid("spec.minReplicas", minReplicas, "must be greater than or equal to 1"));
  if (maxReplicas < 1) errors.push(invalid("spec.maxReplicas", maxReplicas, "must be greater than 0"));
  if (minReplicas !== undefined && maxReplicas < minReplicas)
    errors.push(invalid("spec.maxReplicas", maxReplicas, "must be greater than or equal to `minReplicas`"));
  if (!scaleTargetRef?.kind) errors.push(required("spec.scaleTargetRef.kind"));
  if (!scaleTargetRef?.name) errors.push(required("spec.scaleTargetRef.name"));
  for (const field of ["kind", "name"] as const)
    if (scaleTargetRef?.[field])
      for (const problem of pathSegment(scaleTargetRef[field]))
        errors.push(invalid(`spec.scaleTargetRef.${field}`, scaleTargetRef[field], problem));
  validateMetrics(metrics ?? [], errors);
  validateBehavior(behavior ?? {}, errors);
  return errors;
}

function validateStatus(object: KubeObject): FieldErrors {
  const errors: FieldErrors = [];
  for (const name of ["currentReplicas", "desiredReplicas"] as const) {
    const count = statusOf(object)[name] ?? 0;
    if (count < 0) errors.push(invalid(`status.${name}`, count, "must be greater than or equal to 0"));
  }
  return errors;
}

export const autoscalersV2: ResourceDefinition = {
  ...shared,
  version: "v2",
  newStatus: { currentMetrics: null, desiredReplicas: 0 },
  cells,
  validate,
  validateStatus,
  defaults(object) {
    object.spec ??= {};
    const spec = specOf(object);
    setDefault(spec, "minReplicas", 1);
    if ((spec.metrics?.length ?? 0) === 0)
      spec.metrics = [
        { type: "Resource", resource: { name: "cpu", target: { type: "Utilization", averageUtilization: 80 } } },
      ];
    if (spec.behavior) spec.behavior = completed(spec.behavior);
  },
};

/** Who says something of how it scales gets the rest said, too. */
function completed({ scaleUp, scaleDown }: NonNullable<HpaSpec["behavior"]>): NonNullable<HpaSpec["behavior"]> {
  const byPercent = { type: "Percent", value: 100, periodSeconds: 15 };
  const up = {
    stabilizationWindowSeconds: 0,
    selectPolicy: "Max",
    policies: [{ type: "Pods", value: 4, periodSeconds: 15 }, byPercent],
  };
  return { scaleUp: { ...up, ...scaleUp }, scaleDown: { selectPolicy: "Max", policies: [byPercent], ...scaleDown } };
}

const metricsAnnotation = "autoscaling.alpha.kubernetes.io/metrics";

function isCpu(metric: Metric): boolean {
  return (
    metric.type === "Resource" &&
    metric.resource?.name === "cpu" &&
    metric.resource.target?.averageUtilization !== undefined
  );
}

export const autoscalersV1: ResourceDefinition = {
  ...shared,
  version: "v1",
  newStatus: { currentReplicas: 0, desiredReplicas: 0 },
  storage: { group: "autoscaling", plural: "horizontalpodautoscalers" },
  storedAs: { group: "autoscaling", version: "v2" },
  cells: (object, now) => cells(toV2(object), now),
  validate: (object) => validate(toV2(structuredClone(object))),
  validateStatus,
  defaults(object) {
    object.spec ??= {};
    setDefault(specOf(object), "minReplicas", 1);
  },
  toStored: toV2,
  fromStored(object) {
    const { metrics = [], behavior: _behavior, ...spec } = specOf(object);
    const cpu = metrics.find(isCpu);
    const others = metrics.filter((metric) => metric !== cpu);
    const { currentMetrics, conditions: _conditions, ...status } = statusOf(object);
    const used = currentMetrics?.find((metric) => metric.resource?.name === "cpu")?.resource?.current
      ?.averageUtilization;
    const target = cpu?.resource?.target?.averageUtilization;
    if (others.length > 0)
      object.metadata.annotations = { ...object.metadata.annotations, [metricsAnnotation]: JSON.stringify(others) };
    return {
      ...object,
      apiVersion: "autoscaling/v1",
      spec: { ...spec, ...(target === undefined ? {} : { targetCPUUtilizationPercentage: target }) },
      ...(object.status === undefined
        ? {}
        : { status: { ...status, ...(used === undefined ? {} : { currentCPUUtilizationPercentage: used }) } }),
    };
  },
};

function toV2(object: KubeObject): KubeObject {
  const { targetCPUUtilizationPercentage, ...spec } = specOf(object);
  const { currentCPUUtilizationPercentage, ...status } = statusOf(object);
  const { [metricsAnnotation]: kept, ...annotations } = object.metadata.annotations ?? {};
  const metrics: Metric[] = kept === undefined ? [] : (JSON.parse(kept) as Metric[]);
  if (targetCPUUtilizationPercentage !== undefined)
    metrics.unshift({
      type: "Resource",
      resource: { name: "cpu", target: { type: "Utilization", averageUtilization: targetCPUUtilizationPercentage } },
    });
  if (metrics.length === 0)
    metrics.push({
      type: "Resource",
      resource: { name: "cpu", target: { type: "Utilization", averageUtilization: 80 } },
    });
  const metadata = { ...object.metadata };
  if (kept !== undefined) metadata.annotations = annotations;
  const current =
    currentCPUUtilizationPercentage === undefined
      ? {}
      : {
          currentMetrics: [
            {
              type: "Resource",
              resource: { name: "cpu", current: { averageUtilization: currentCPUUtilizationPercentage } },
            },
          ],
        };
  return {
    ...object,
    apiVersion: "autoscaling/v2",
    metadata,
    spec: { ...spec, metrics },
    ...(object.status === undefined ? {} : { status: { ...status, ...current } }),
  };
}
