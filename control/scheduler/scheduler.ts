// The scheduler: keeps the snapshot and the queue up to date from informers, and decides for one waiting pod after another.
// Decisions are made one at a time on the snapshot with every earlier decision assumed; bindings travel side by side.

import type { Call } from "../../plugins/kit/call.ts";
import type { Clock } from "../../plugins/kit/clock.ts";
import type { Log } from "../../plugins/kit/log.ts";
import { resources } from "../../plugins/kit/objects/resources.ts";
import type { Node, Pod } from "../../plugins/kit/objects/types.ts";
import type { WakeEvent } from "../../plugins/kit/scheduling.ts";
import type { ControllerContext } from "../manager/contract.ts";
import { decide } from "./decide.ts";
import { describeFit, describePreemption, type FitError } from "./fit-error.ts";
import { Nominations } from "./nominations.ts";
import { PodWrites } from "./pod-writes.ts";
import { type DisruptionBudget, mayPreempt, planPreemption, type Preemption } from "./preemption.ts";
import type { Profile } from "./profile.ts";
import { SchedulerMeters } from "./scheduler-meters.ts";
import { isGated, podKey, type QueuedPod, SchedulingQueue } from "./scheduling-queue.ts";
import { Snapshot } from "./snapshot.ts";
import { clusterListers, wakingResources } from "./wakes.ts";

export interface SchedulerOptions {
  readonly context: ControllerContext;
  readonly profiles: readonly Profile[];
  readonly random?: () => number;
  readonly initialBackoffMs?: number;
  readonly maxBackoffMs?: number;
  /** Where it is told what was done. */
  readonly meters?: SchedulerMeters;
}

/** Why nobody has to go for a pod. */
interface NoPreemption {
  readonly why?: string;
  /** Where the pod was promised room, it still is. */
  readonly keepsPromise?: boolean;
}

/** How long decisions may follow each other before other work of the process gets its turn. */
const turnMs = 5;

export class Scheduler {
  readonly #context: ControllerContext;
  readonly #profiles: ReadonlyMap<string, Profile>;
  readonly #clock: Clock;
  readonly #log: Log;
  readonly #queue: SchedulingQueue;
  readonly #snapshot: Snapshot;
  readonly #random: () => number;
  readonly #meters: SchedulerMeters;
  readonly #nominations: Nominations;
  readonly #writes: PodWrites;
  #startAt = 0;

  constructor(options: SchedulerOptions) {
    this.#context = options.context;
    this.#clock = options.context.clock;
    this.#log = options.context.log;
    this.#profiles = new Map(options.profiles.map((profile) => [profile.schedulerName, profile]));
    const { initialBackoffMs, maxBackoffMs } = options;
    this.#queue = new SchedulingQueue({
      clock: this.#clock,
      ...(initialBackoffMs === undefined ? {} : { initialBackoffMs }),
      ...(maxBackoffMs === undefined ? {} : { maxBackoffMs }),
    });
    this.#snapshot = new Snapshot(clusterListers(options.context.informers));
    this.#nominations = new Nominations(this.#snapshot);
    this.#writes = new PodWrites(options.context);
    this.#random = options.random ?? Math.random;
    this.#meters = options.meters ?? new SchedulerMeters();
  }

  get queueCounts(): SchedulingQueue["counts"] {
    return this.#queue.counts;
  }

  /** Schedules until the call is stopped. */
  async run(call: Call): Promise<void> {
    const stopWatching = await this.#watch();
    try {
      const stopped = new Promise<void>((resolve) =>
        call.signal.addEventListener("abort", () => resolve(), { once: true }),
      );
      while (!call.signal.aborted) {
        await Promise.race([this.#queue.whenActive(), stopped]);
        const turnEnds = this.#clock.monotonic() + turnMs;
        while (!call.signal.aborted && this.#clock.monotonic() < turnEnds) {
          const entry = this.#queue.pop();
          if (!entry) break;
          this.#scheduleOne(entry, call);
        }
        await new Promise((resolve) => setImmediate(resolve));
      }
    } finally {
      stopWatching();
      this.#queue.clear();
    }
  }

  #scheduleOne(entry: QueuedPod, call: Call): void {
    const { pod } = entry;
    const profile = this.#profiles.get(pod.spec?.schedulerName ?? "");
    if (!profile || pod.metadata.deletionTimestamp || this.#snapshot.isAssumed(pod.metadata.uid ?? ""))
      return this.#queue.done(entry);
    const startedAt = this.#clock.monotonic();
    const decision = this.#decide(pod, profile);
    this.#meters.decided((this.#clock.monotonic() - startedAt) / 1000);
    this.#startAt = (this.#startAt + decision.lookedAt) % Math.max(1, this.#snapshot.nodes.length);
    if ("fitError" in decision) return void this.#refuse(entry, profile, decision.fitError, call);
    this.#snapshot.assume(pod, decision.node.name);
    this.#nominations.delete(pod.metadata.uid ?? "");
    void this.#bind(entry, profile, decision.node.node, call);
  }

  async #bind(entry: QueuedPod, profile: Profile, node: Node, call: Call): Promise<void> {
    const { pod } = entry;
    const nodeName = node.metadata.name ?? "";
    const { namespace = "", name = "", uid = "" } = pod.metadata;
    const binding = {
      apiVersion: "v1",
      kind: "Binding",
      metadata: { namespace, name, uid },
      target: { apiVersion: "v1", kind: "Node", name: nodeName },
    };
    try {
      const tools = { client: this.#context.client, cluster: this.#snapshot, clock: this.#clock };
      for (const filter of profile.filters) {
        const work = filter.beforeBind?.(pod, node, tools, call);
        if (work) await work;
      }
      // A node may have pulled and started before the answer is here: its events are not to come before this one.
      const at = this.#clock.now();
      await this.#context.client.create(resources.pods, binding, call, { namespace, name, subresource: "binding" });
      this.#queue.done(entry);
      this.#count(entry, profile, "scheduled");
      this.#meters.scheduled(entry.attempts, Math.max(0, this.#clock.now() - entry.since) / 1000);
      this.#context.events.event(
        pod,
        "Normal",
        "Scheduled",
        `Successfully assigned ${namespace}/${name} to ${nodeName}`,
        { at },
      );
    } catch (error) {
      this.#snapshot.forget(uid);
      if (call.signal.aborted) return;
      this.#count(entry, profile, "error");
      this.#log.warn({ err: error, pod: `${namespace}/${name}`, node: nodeName }, "binding failed, trying again");
      this.#queue.retry(entry);
    }
  }

  #count(entry: QueuedPod, profile: Profile, result: "scheduled" | "unschedulable" | "error"): void {
    this.#meters.attempt(profile.schedulerName, result, (this.#clock.monotonic() - entry.triedAt) / 1000);
  }

  async #refuse(entry: QueuedPod, profile: Profile, fitError: FitError, call: Call): Promise<void> {
    this.#count(entry, profile, "unschedulable");
    const { pod } = entry;
    const wakesOn = new Set<WakeEvent>(
      profile.filters.filter((filter) => fitError.plugins.has(filter.name)).flatMap((filter) => filter.retryOn),
    );
    if (fitError.nodeCount === 0) wakesOn.add("Node/Add");
    try {
      const plan = this.#planPreemption(pod, profile, fitError);
      const preemption = "victims" in plan ? plan : undefined;
      const tail = "why" in plan && plan.why && fitError.nodeCount > 0 ? ` preemption: ${plan.why}` : "";
      const message = `${describeFit(fitError)}${tail}`;
      this.#context.events.event(pod, "Warning", "FailedScheduling", message);
      await this.#writes.unschedulable(pod, message, preemption?.nodeName ?? this.#takenBack(pod, plan), call);
      if (preemption) {
        wakesOn.add("Pod/Delete");
        this.#meters.preempted(preemption.victims.length);
        await this.#writes.evict(pod, preemption, call);
        for (const other of this.#nominations.lowerOn(preemption.nodeName, pod)) {
          this.#nominations.delete(other.metadata.uid ?? "");
          await this.#writes.takeBackPromise(other, call);
        }
      }
    } catch (error) {
      // Whatever did not work is tried again with the pod's next attempt.
      if (!call.signal.aborted) this.#log.debug({ err: error, pod: entry.key }, "could not finish refusing a pod");
    } finally {
      this.#queue.failed(entry, wakesOn);
    }
  }

  #planPreemption(pod: Pod, profile: Profile, fitError: FitError): Preemption | NoPreemption {
    if (profile.preempts === false) return { keepsPromise: true };
    if (!mayPreempt(pod)) return { why: "not eligible due to preemptionPolicy=Never.", keepsPromise: true };
    const promised = this.#nominations.nodeFor(pod);
    // Let victims of an earlier attempt go before others are asked to, unless that node will never do.
    if (promised !== undefined && !fitError.finalNodes.has(promised) && this.#nominations.hasLeavingVictims(pod))
      return { why: "not eligible due to a terminating pod on the nominated node.", keepsPromise: true };
    const budgets = this.#snapshot.list<DisruptionBudget>("poddisruptionbudgets");
    // Room that others are promised is not promised twice.
    const preemption = this.#nominations.inPlace(pod, () =>
      planPreemption(pod, this.#snapshot, profile, fitError, budgets, this.#startAt),
    );
    if (!preemption) return { why: describePreemption(fitError) };
    this.#nominations.set(pod, preemption.nodeName);
    return preemption;
  }

  /** Null when the pod had a promise that nothing will come of: its room is for others again. */
  #takenBack(pod: Pod, plan: Preemption | NoPreemption): null | undefined {
    if ("victims" in plan || plan.keepsPromise || !this.#nominations.delete(pod.metadata.uid ?? "")) return undefined;
    this.#queue.wake("Pod/Delete");
    return null;
  }

  #decide(pod: Pod, profile: Profile): ReturnType<typeof decide> {
    const promised = this.#nominations.nodeFor(pod);
    const options = { startAt: this.#startAt, random: this.#random, ...(promised ? { first: promised } : {}) };
    return this.#nominations.inPlace(pod, () => decide(pod, this.#snapshot, profile, options));
  }

  /** Subscribes to everything that matters, and resolves when the first picture is complete. */
  async #watch(): Promise<() => void> {
    const { informers } = this.#context;
    const pods = informers.for<Pod>(resources.pods);
    const nodes = informers.for<Node>(resources.nodes);
    const stops = [
      nodes.onEvent(({ type, object }) => {
        if (type === "delete") this.#snapshot.removeNode(object.metadata.name ?? "");
        else this.#snapshot.setNode(object);
        this.#queue.wake(type === "add" ? "Node/Add" : type === "update" ? "Node/Update" : "Node/Delete");
      }),
      pods.onEvent(({ type, object }) => this.#onPod(type, object)),
      ...wakingResources.map((ref) =>
        informers.for(ref).onEvent(({ type }) => {
          this.#queue.wake(`${ref.kind}/${type === "add" ? "Add" : type === "update" ? "Update" : "Delete"}`);
        }),
      ),
    ];
    await Promise.all([pods.synced, nodes.synced, ...wakingResources.map((ref) => informers.for(ref).synced)]);
    return () => {
      for (const stop of stops) stop();
    };
  }

  #onPod(type: "add" | "update" | "delete", pod: Pod): void {
    const uid = pod.metadata.uid ?? "";
    if (type === "delete") {
      this.#snapshot.removePod(uid);
      this.#nominations.delete(uid);
      this.#queue.remove(podKey(pod));
      this.#queue.wake("Pod/Delete");
    } else if (pod.spec?.nodeName) {
      const wasWaiting = !this.#snapshot.isAssumed(uid);
      this.#snapshot.setPod(pod);
      if (wasWaiting) this.#queue.remove(podKey(pod));
      this.#queue.wake(type === "add" ? "Pod/Add" : "Pod/Update");
    } else if (pod.metadata.deletionTimestamp || pod.status?.phase === "Failed") {
      this.#queue.remove(podKey(pod));
    } else if (this.#profiles.has(pod.spec?.schedulerName ?? "")) {
      this.#nominations.learn(pod);
      this.#queue.add(pod);
      if (isGated(pod)) this.#log.debug({ pod: podKey(pod) }, "pod is held by scheduling gates");
    }
  }
}
