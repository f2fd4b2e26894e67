// HorizontalPodAutoscaler: sizes what it points at by how busy its pods are.

import type { Call } from "../../../plugins/kit/base/call.ts";
import { Fault, isFault, toFault } from "../../../plugins/kit/base/fault.ts";
import { type ResourceRef, resources } from "../../../plugins/kit/kube/objects/resources.ts";
import type { Pod } from "../../../plugins/kit/kube/objects/types.ts";
import { timestamp, withCondition } from "../../manager/conditions.ts";
import type { ControllerFactory } from "../../manager/contract.ts";
import { keyOf, splitKey } from "../../manager/owners.ts";
import { writeStatus } from "../../manager/write-status.ts";
import type { Metric } from "../../resources/autoscaling/metric.ts";
import { builtInResources, onCustomResource } from "../stored-resources.ts";
import { decide, memoryMs, type Past } from "./behavior.ts";
import { Meter, MetricFailure } from "./meter.ts";
import { type Autoscaler, type AutoscalerStatus, autoscalerType, type Scale } from "./objects.ts";
import { PodSelectors } from "./selectors.ts";

const everyMs = 15_000;

interface Asked {
  readonly replicas: number;
  readonly reason: string;
  readonly current: Metric[];
}

export const horizontalAutoscalerController: ControllerFactory = ({ client, informers, events, clock }) => {
  const autoscalers = informers.for<Autoscaler>(resources.horizontalpodautoscalers);
  const pods = informers.for<Pod>(resources.pods);
  const scalable = new Map<string, ResourceRef>(builtInResources.map((ref) => [`${ref.group}/${ref.kind}`, ref]));
  onCustomResource(informers, (ref) => scalable.set(`${ref.group}/${ref.kind}`, ref));
  const meter = new Meter(client, (group, kind) => scalable.get(`${group}/${kind}`));
  const selectors = new PodSelectors((key) => {
    const { namespace, name } = splitKey(key);
    return autoscalers.get(namespace, name) !== undefined;
  });
  const pasts = new Map<string, Past>();

  function targetOf({ spec: { scaleTargetRef } }: Autoscaler): ResourceRef {
    const group = (scaleTargetRef.apiVersion ?? "v1").split("/").at(-2) ?? "";
    const ref = scalable.get(`${group}/${scaleTargetRef.kind}`);
    if (!ref) throw new Fault("not-found", `no matches for kind "${scaleTargetRef.kind}" in group "${group}"`);
    return ref;
  }

  /** The most that any metric asks for. One that cannot be read stops a shrinking, not a growing. */
  async function ask(autoscaler: Autoscaler, scale: Scale, call: Call): Promise<Asked> {
    const { namespace = "" } = autoscaler.metadata;
    const current = scale.spec?.replicas ?? 0;
    const { selector: podSelector = "", replicas: reported = 0 } = scale.status ?? {};
    const mine = selectors.podsOf(keyOf(autoscaler), podSelector, pods.list(namespace));
    const target = { namespace, podSelector, pods: mine, current, reported };
    const metrics = autoscaler.spec.metrics ?? [];
    const failures: MetricFailure[] = [];
    let best: { replicas: number; reason: string } | undefined;
    const shown: Metric[] = [];
    for (const metric of metrics) {
      try {
        const measured = await meter.measure(metric, target, clock.now(), call);
        shown.push(measured.shown);
        if (!best || measured.replicas > best.replicas) best = measured;
      } catch (error) {
        if (!(error instanceof MetricFailure)) throw error;
        failures.push(error);
        events.event({ ...autoscalerType, ...autoscaler }, "Warning", error.reason, error.message);
      }
    }
    const [first] = failures;
    if (best && !(first && best.replicas < current)) return { ...best, current: shown };
    const count = `${failures.length} invalid out of ${metrics.length}`;
    throw new MetricFailure(
      first?.reason ?? "InvalidMetricSourceType",
      first ? `invalid metrics (${count}), first error is: ${first.message}` : "no metrics",
    );
  }

  function remember(key: string, autoscaler: Autoscaler, more: Partial<Past>): Past {
    const since = clock.now() - memoryMs(autoscaler);
    const known = pasts.get(key) ?? { asked: [], changes: [] };
    const next = {
      asked: [...known.asked, ...(more.asked ?? [])].filter(({ at }) => at >= since),
      changes: [...known.changes, ...(more.changes ?? [])].filter(({ at }) => at >= since),
    };
    pasts.set(key, next);
    return next;
  }

  async function resize(ref: ResourceRef, scale: Scale, replicas: number, call: Call) {
    const spec = { ...scale.spec, replicas };
    await client.update(ref, { apiVersion: "autoscaling/v1", kind: "Scale", ...scale, spec }, call, {
      subresource: "scale",
    });
    return timestamp(clock.now());
  }

  async function work(key: string, autoscaler: Autoscaler, call: Call): Promise<void> {
    const { namespace = "" } = autoscaler.metadata;
    const { scaleTargetRef, minReplicas = 1, maxReplicas } = autoscaler.spec;
    let conditions = autoscaler.status?.conditions ?? [];
    const now = clock.now();
    const say = (type: string, isTrue: boolean, reason: string, message: string) => {
      conditions = withCondition(conditions, { type, status: isTrue ? "True" : "False", reason, message }, now);
    };
    const write = (more: Partial<AutoscalerStatus>) =>
      writeStatus(
        client,
        resources.horizontalpodautoscalers,
        autoscaler,
        { desiredReplicas: 0, ...autoscaler.status, ...more, conditions } as AutoscalerStatus,
        call,
      );
    const warn = (reason: string, message: string) =>
      events.event({ ...autoscalerType, ...autoscaler }, "Warning", reason, message);
    let ref: ResourceRef;
    let scale: Scale;
    try {
      ref = targetOf(autoscaler);
      scale = await client.get<Scale>(ref, { namespace, name: scaleTargetRef.name, subresource: "scale" }, call);
    } catch (error) {
      const { message } = toFault(error, "scale");
      say(
        "AbleToScale",
        false,
        "FailedGetScale",
        `the HPA controller was unable to get the target's current scale: ${message}`,
      );
      warn("FailedGetScale", message);
      await write({});
      return;
    }
    say("AbleToScale", true, "SucceededGetScale", "the HPA controller was able to get the target's current scale");
    const current = scale.spec?.replicas ?? 0;
    const seen = scale.status?.replicas ?? 0;
    if (current === 0) {
      say(
        "ScalingActive",
        false,
        "ScalingDisabled",
        "scaling is disabled since the replica count of the target is zero",
      );
      await write({ currentReplicas: seen, desiredReplicas: 0 });
      return;
    }
    let [replicas, reason] = [current, ""];
    let currentMetrics = autoscaler.status?.currentMetrics;
    if (current > maxReplicas) [replicas, reason] = [maxReplicas, "Current number of replicas above Spec.MaxReplicas"];
    else if (current < minReplicas)
      [replicas, reason] = [minReplicas, "Current number of replicas below Spec.MinReplicas"];
    else {
      let asked: Asked;
      try {
        asked = await ask(autoscaler, scale, call);
      } catch (error) {
        if (!(error instanceof MetricFailure)) throw error;
        say("ScalingActive", false, error.reason, error.condition);
        if (error.event) warn(error.event, error.message);
        warn("FailedComputeMetricsReplicas", error.message);
        await write({ currentReplicas: seen, desiredReplicas: current });
        return;
      }
      const message = `the HPA was able to successfully calculate a replica count from ${asked.reason}`;
      say("ScalingActive", true, "ValidMetricFound", message);
      // After a start nothing is remembered: what is there now counts as asked for, so that nothing shrinks in haste.
      const initial = pasts.has(key) ? [] : [{ at: now, replicas: current }];
      const past = remember(key, autoscaler, { asked: [...initial, { at: now, replicas: asked.replicas }] });
      const decision = decide(autoscaler, current, asked.replicas, past, now);
      say("AbleToScale", true, decision.ableReason, decision.ableMessage);
      say("ScalingLimited", decision.isLimited, decision.limitReason, decision.limitMessage);
      replicas = decision.replicas;
      reason = replicas > current ? `${asked.reason} above target` : "All metrics below target";
      currentMetrics = asked.current;
    }
    let { lastScaleTime } = autoscaler.status ?? {};
    if (replicas !== current) {
      try {
        lastScaleTime = await resize(ref, scale, replicas, call);
      } catch (error) {
        call.signal.throwIfAborted();
        const { message } = toFault(error, "scale");
        warn("FailedRescale", `New size: ${replicas}; reason: ${reason}; error: ${message}`);
        const why = `the HPA controller was unable to update the target scale: ${message}`;
        say("AbleToScale", false, "FailedUpdateScale", why);
        await write({ currentReplicas: seen, desiredReplicas: current });
        return;
      }
      remember(key, autoscaler, { changes: [{ at: now, by: replicas - current }] });
      say(
        "AbleToScale",
        true,
        "SucceededRescale",
        `the HPA controller was able to update the target scale to ${replicas}`,
      );
      events.event(
        { ...autoscalerType, ...autoscaler },
        "Normal",
        "SuccessfulRescale",
        `New size: ${replicas}; reason: ${reason}`,
      );
    }
    await write({
      ...(autoscaler.metadata.generation === undefined ? {} : { observedGeneration: autoscaler.metadata.generation }),
      currentReplicas: seen,
      desiredReplicas: replicas,
      ...(lastScaleTime ? { lastScaleTime } : {}),
      ...(currentMetrics ? { currentMetrics } : {}),
    });
  }

  return {
    name: "horizontal-pod-autoscaler",
    workers: 2,
    wakes: [
      {
        resource: resources.horizontalpodautoscalers,
        // Our own status is no reason to look again before the time.
        keys: (next: Autoscaler, previous: Autoscaler | undefined) =>
          previous && JSON.stringify(previous.spec) === JSON.stringify(next.spec) ? [] : [keyOf(next)],
      },
    ],
    async reconcile(key, call) {
      const { namespace, name } = splitKey(key);
      const autoscaler = autoscalers.get(namespace, name);
      if (!autoscaler) {
        pasts.delete(key);
        return undefined;
      }
      try {
        await work(key, autoscaler, call);
      } catch (error) {
        if (!isFault(error, "conflict", "not-found")) throw error;
      }
      return everyMs;
    },
  };
};
