// Reads metrics of pods, objects and the world outside from the adapters that serve custom.metrics.k8s.io and
// external.metrics.k8s.io; the cluster itself has neither. Amounts are in thousandths.

import type { Call } from "../../../plugins/kit/base/call.ts";
import type { ApiClient } from "../../../plugins/kit/kube/client/api-client.ts";
import { Fault, isFault } from "../../../plugins/kit/base/fault.ts";
import type { ResourceRef } from "../../../plugins/kit/kube/objects/resources.ts";
import { parseQuantity, quantityMilli } from "../../../plugins/kit/kube/quantity.ts";
import type { MetricIdentifier } from "../../resources/autoscaling/metric.ts";
import { isEmptySelector, selectorText } from "../../resources/label-selector.ts";

interface MetricValue {
  readonly describedObject?: { readonly name?: string };
  readonly value?: string | number;
}

/** The newer one first; adapters serve one or both. */
const customVersions = ["v1beta2", "v1beta1"];

export class CustomMetrics {
  readonly #client: ApiClient;

  constructor(client: ApiClient) {
    this.#client = client;
  }

  /** By name of the pod. */
  async ofPods(namespace: string, pods: string, metric: MetricIdentifier, call: Call): Promise<Map<string, number>> {
    const query = { labelSelector: pods, metricLabelSelector: seriesOf(metric) };
    const values = await this.#custom(`namespaces/${namespace}/pods/*/${nameOf(metric)}`, query, metric, call);
    return new Map(values.map(({ describedObject, value }) => [describedObject?.name ?? "", milli(value)]));
  }

  async ofObject(
    at: { readonly namespace: string; readonly ref: ResourceRef; readonly name: string },
    metric: MetricIdentifier,
    call: Call,
  ): Promise<number> {
    const { namespace, ref, name } = at;
    const resource = ref.group ? `${ref.plural}.${ref.group}` : ref.plural;
    const place =
      ref.kind === "Namespace" ? `namespaces/${name}/metrics` : `namespaces/${namespace}/${resource}/${name}`;
    const query = { metricLabelSelector: seriesOf(metric) };
    const [first] = await this.#custom(`${place}/${nameOf(metric)}`, query, metric, call);
    if (!first) throw new Fault("unavailable", `unable to get metric ${nameOf(metric)}: no metrics returned`);
    return milli(first.value);
  }

  /** The sum of all series that match. */
  async external(namespace: string, metric: MetricIdentifier, call: Call): Promise<number> {
    const path = `/apis/external.metrics.k8s.io/v1beta1/namespaces/${namespace}/${nameOf(metric)}`;
    const query = { labelSelector: seriesOf(metric) };
    const values = await this.#read(`${path}${queryOf(query)}`, metric, "external", call);
    if (!values) throw none(metric, "external");
    return values.reduce((sum, { value }) => sum + milli(value), 0);
  }

  async #custom(
    path: string,
    query: Record<string, string>,
    metric: MetricIdentifier,
    call: Call,
  ): Promise<readonly MetricValue[]> {
    for (const version of customVersions) {
      const at = `/apis/custom.metrics.k8s.io/${version}/${path}${queryOf(query)}`;
      const values = await this.#read(at, metric, "custom", call);
      if (values) return values;
    }
    throw none(metric, "custom");
  }

  /** Undefined where nobody serves the path. */
  async #read(
    path: string,
    metric: MetricIdentifier,
    kind: "custom" | "external",
    call: Call,
  ): Promise<readonly MetricValue[] | undefined> {
    try {
      const response = await this.#client.request(path, {}, call);
      return ((await response.json()) as { items?: readonly MetricValue[] }).items ?? [];
    } catch (error) {
      if (isFault(error, "not-found")) return undefined;
      const { message } = error as Error;
      const doing = `unable to get metric ${nameOf(metric)}: unable to fetch metrics from ${kind} metrics API`;
      throw new Fault("unavailable", `${doing}: ${message}`, { cause: error });
    }
  }
}

const nameOf = ({ name = "" }: MetricIdentifier) => encodeURIComponent(name);
const seriesOf = ({ selector }: MetricIdentifier) => (isEmptySelector(selector) ? "" : selectorText(selector));
const milli = (value: string | number | undefined) => Number(quantityMilli(parseQuantity(value ?? "0")));

function none(metric: MetricIdentifier, kind: "custom" | "external"): Fault {
  const why = `no ${kind} metrics API (${kind}.metrics.k8s.io) serves it`;
  return new Fault("not-found", `unable to get metric ${nameOf(metric)}: ${why}`);
}

function queryOf(values: Record<string, string>): string {
  const set = Object.entries(values).filter(([, value]) => value !== "");
  return set.length === 0 ? "" : `?${new URLSearchParams(set).toString()}`;
}
