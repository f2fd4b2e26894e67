// Measures one metric of an autoscaler, of whatever type: reads it, and says how many replicas it asks for and how it is shown.

import type { Call } from "../../../plugins/kit/base/call.ts";
import type { ApiClient } from "../../../plugins/kit/kube/client/api-client.ts";
import { Fault, toFault } from "../../../plugins/kit/base/fault.ts";
import { type ResourceRef, resources } from "../../../plugins/kit/kube/objects/resources.ts";
import type { Pod } from "../../../plugins/kit/kube/objects/types.ts";
import { formatQuantity, parseQuantity, quantityMilli } from "../../../plugins/kit/kube/quantity.ts";
import type { Metric, MetricTarget } from "../../resources/autoscaling/metric.ts";
import { selectorText } from "../../resources/label-selector.ts";
import { isReady } from "../pods/pod-facts.ts";
import { CustomMetrics } from "./custom-metrics.ts";
import type { PodMetrics } from "./objects.ts";
import { proposeForTotal, proposeReplicas, type ResourceWish } from "./replicas.ts";

/** A metric that says nothing now, with the reason that conditions and events give. */
export class MetricFailure extends Error {
  readonly reason: string;
  /** What the condition says. */
  readonly condition: string;
  /** The reason of an event of its own, besides the one that nothing could be computed. */
  readonly event: string | undefined;
  constructor(reason: string, message: string, told: { readonly event?: string; readonly condition?: string } = {}) {
    super(message);
    this.reason = reason;
    this.condition = told.condition ?? `the HPA was unable to compute the replica count: ${message}`;
    this.event = told.event;
  }
}

/** What is sized, and its pods. */
export interface Sized {
  readonly namespace: string;
  readonly podSelector: string;
  readonly pods: readonly Pod[];
  readonly current: number;
  /** Replicas that the target says it has. */
  readonly reported: number;
}

export interface Measured {
  readonly replicas: number;
  /** In words, for events. */
  readonly reason: string;
  readonly shown: Metric;
}

type Measure = (metric: Metric, sized: Sized, now: number, call: Call) => Promise<Measured>;

const amountOf = (value: string | number) => Number(quantityMilli(parseQuantity(value)));
const quantity = (milli: number) => formatQuantity(parseQuantity(`${milli}m`));

export class Meter {
  readonly #client: ApiClient;
  readonly #custom: CustomMetrics;
  readonly #resourceOf: (group: string, kind: string) => ResourceRef | undefined;
  readonly #measures: Readonly<Record<string, Measure>> = {
    Resource: (metric, sized, now, call) => this.#resource(metric, "resource", sized, now, call),
    ContainerResource: (metric, sized, now, call) => this.#resource(metric, "containerResource", sized, now, call),
    Pods: (metric, sized, now, call) => this.#pods(metric, sized, now, call),
    Object: (metric, sized, _now, call) => this.#object(metric, sized, call),
    External: (metric, sized, _now, call) => this.#external(metric, sized, call),
  };

  constructor(client: ApiClient, resourceOf: (group: string, kind: string) => ResourceRef | undefined) {
    this.#client = client;
    this.#custom = new CustomMetrics(client);
    this.#resourceOf = resourceOf;
  }

  /** Throws a MetricFailure when the metric cannot be had. */
  async measure(metric: Metric, sized: Sized, now: number, call: Call): Promise<Measured> {
    const { type = "" } = metric;
    const measure = this.#measures[type];
    if (!measure) throw new MetricFailure("InvalidMetricSourceType", `unknown metric source type "${type}"`);
    try {
      return await measure(metric, sized, now, call);
    } catch (error) {
      call.signal.throwIfAborted();
      const { message } = toFault(error, "metrics");
      throw new MetricFailure(`FailedGet${type}Metric`, `failed to get ${nameOf(metric)}: ${message}`);
    }
  }

  async #resource(
    metric: Metric,
    field: "resource" | "containerResource",
    sized: Sized,
    now: number,
    call: Call,
  ): Promise<Measured> {
    const source = metric[field];
    const { averageUtilization, averageValue } = source?.target ?? {};
    const container = metric.containerResource?.container;
    const wish: ResourceWish = {
      resource: source?.name ?? "",
      ...(container ? { container } : {}),
      ...(averageUtilization === undefined ? {} : { utilization: averageUtilization }),
      ...(averageValue === undefined ? {} : { average: amountOf(averageValue) }),
    };
    const { namespace, podSelector: labelSelector } = sized;
    const { items } = await this.#client.list<PodMetrics>(resources.podmetrics, { namespace, labelSelector }, call);
    const proposal = proposeReplicas(sized.current, wish, sized.pods, items, now);
    const measured = {
      averageValue: quantity(proposal.average),
      ...(proposal.utilization === undefined ? {} : { averageUtilization: proposal.utilization }),
    };
    const shown = { name: wish.resource, ...(container ? { container } : {}), current: measured };
    const kind = container ? "container resource" : "resource";
    const what = wish.utilization === undefined ? kind : `${kind} utilization (percentage of request)`;
    return {
      replicas: proposal.replicas,
      reason: `${wish.resource} ${what}`,
      shown: { type: metric.type ?? "", [field]: shown },
    };
  }

  async #pods({ pods: source = {} }: Metric, sized: Sized, now: number, call: Call): Promise<Measured> {
    const { metric = {}, target = {} } = source;
    const { name = "" } = metric;
    const values = await this.#custom.ofPods(sized.namespace, sized.podSelector, metric, call);
    const read = [...values].map(
      ([pod, value]): PodMetrics => ({
        metadata: { name: pod },
        containers: [{ name, usage: { [name]: `${value}m` } }],
      }),
    );
    const wish = { resource: name, average: amountOf(target.averageValue ?? 0) };
    const { replicas, average } = proposeReplicas(sized.current, wish, sized.pods, read, now);
    const shown = { metric, current: { averageValue: quantity(average) } };
    return { replicas, reason: `pods metric ${name}`, shown: { type: "Pods", pods: shown } };
  }

  async #object({ object: source = {} }: Metric, sized: Sized, call: Call): Promise<Measured> {
    const { metric = {}, target = {}, describedObject = {} } = source;
    const { apiVersion = "v1", kind = "", name = "" } = describedObject;
    const ref = this.#resourceOf(apiVersion.split("/").at(-2) ?? "", kind);
    if (!ref) throw new Fault("not-found", `no matches for kind "${kind}" in version "${apiVersion}"`);
    const total = await this.#custom.ofObject({ namespace: sized.namespace, ref, name }, metric, call);
    const { replicas, current } = ofTotal(total, target, sized);
    const shown = { metric, describedObject, current };
    return { replicas, reason: `${kind} metric ${metric.name}`, shown: { type: "Object", object: shown } };
  }

  async #external({ external: source = {} }: Metric, sized: Sized, call: Call): Promise<Measured> {
    const { metric = {}, target = {} } = source;
    const total = await this.#custom.external(sized.namespace, metric, call);
    const { replicas, current } = ofTotal(total, target, sized);
    const reason = `external metric ${metric.name}(${metric.selector ? selectorText(metric.selector) : "nil"})`;
    return { replicas, reason, shown: { type: "External", external: { metric, current } } };
  }
}

/** As the messages of failures call a metric. */
function nameOf({ type, resource, containerResource, external }: Metric): string {
  if (type === "Resource" || type === "ContainerResource") {
    const { name = "", target } = (type === "Resource" ? resource : containerResource) ?? {};
    return `${name} ${target?.averageUtilization === undefined ? "resource metric value" : "utilization"}`;
  }
  if (type === "External") return `${external?.metric?.name ?? ""} external metric value`;
  return `${type === "Pods" ? "pods" : "object"} metric value`;
}

function ofTotal(total: number, { value, averageValue }: MetricTarget, { current, pods, reported }: Sized) {
  const target = {
    ...(averageValue === undefined ? {} : { average: amountOf(averageValue) }),
    ...(value === undefined ? {} : { value: amountOf(value) }),
  };
  const proposal = proposeForTotal(current, total, target, { ready: pods.filter(isReady).length, reported });
  const shown =
    proposal.average === undefined
      ? { value: quantity(proposal.value ?? 0) }
      : { averageValue: quantity(proposal.average) };
  return { replicas: proposal.replicas, current: shown };
}
