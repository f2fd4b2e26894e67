// How one metric of a HorizontalPodAutoscaler is shown: `cpu: 12%/80%`.

import type { LabelSelector } from "../label-selector.ts";

export interface MetricTarget {
  type?: string;
  value?: string | number;
  averageValue?: string | number;
  averageUtilization?: number;
}

interface MetricValue {
  value?: string | number;
  averageValue?: string | number;
  averageUtilization?: number;
}

export interface MetricIdentifier {
  name?: string;
  selector?: LabelSelector;
}

type Source<V> = {
  target?: MetricTarget;
  current?: MetricValue;
  name?: string;
  container?: string;
  metric?: MetricIdentifier;
} & V;

export interface Metric {
  type?: string;
  resource?: Source<{ name?: string }>;
  containerResource?: Source<{ name?: string; container?: string }>;
  pods?: Source<object>;
  object?: Source<{ describedObject?: { apiVersion?: string; kind?: string; name?: string } }>;
  external?: Source<object>;
}

export const fieldOf: Record<string, keyof Metric> = {
  Resource: "resource",
  ContainerResource: "containerResource",
  Pods: "pods",
  Object: "object",
  External: "external",
};

const most = 2;

export function metricsText(metrics: readonly Metric[] | undefined, current: readonly Metric[] | undefined): string {
  if (!metrics || metrics.length === 0) return "<none>";
  const texts = metrics.map((metric, index) => metricText(metric, current?.[index]));
  const shown = texts.slice(0, most).join(", ");
  return texts.length > most ? `${shown} + ${texts.length - most} more...` : shown;
}

function metricText(metric: Metric, current: Metric | undefined): string {
  const field = fieldOf[metric.type ?? ""];
  if (!field) return "<unknown type>";
  const source = metric[field] as Source<object> | undefined;
  const now = (current?.[field] as Source<object> | undefined)?.current;
  const target = source?.target ?? {};
  const prefix =
    field === "resource" ? `${source?.name ?? ""}: ` : field === "containerResource" ? `${source?.name ?? ""}: ` : "";
  if (target.averageUtilization !== undefined)
    return `${prefix}${now?.averageUtilization === undefined ? "<unknown>" : `${now.averageUtilization}%`}/${target.averageUtilization}%`;
  if (target.averageValue !== undefined)
    return `${prefix}${String(now?.averageValue ?? "<unknown>")}/${String(target.averageValue)}${field === "external" ? " (avg)" : ""}`;
  return `${prefix}${String(now?.value ?? "<unknown>")}/${String(target.value ?? "<auto>")}`;
}
