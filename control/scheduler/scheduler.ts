// The scheduler: keeps the snapshot and the queue up to date from informers, and decides for one waiting pod after another.
// Decisions are made one at a time on the snapshot with every earlier decision assumed; bindings travel side by side.

import { type Call, unlessStopped } from "../../plugins/kit/base/call.ts";
import type { Clock } from "../../plugins/kit/base/clock.ts";
import { toFault } from "../../plugins/kit/base/fault.ts";
import type { Log } from "../../plugins/kit/base/log.ts";
import { resources } from "../../plugins/kit/kube/objects/resources.ts";
import type { Node, Pod } from "../../plugins/kit/kube/objects/types.ts";
import { isTerminal } from "../../plugins/kit/kube/pod-requests.ts";
import type { NodeView, QueueSortPlugin } from "../../plugins/kit/contracts/scheduling.ts";
import type { ControllerContext } from "../manager/contract.ts";
import { type AskOptions, candidatesFromExtenders, filterByExtenders, pointsFromExtenders } from "./ask-extenders.ts";
import { chooseNode, type Decision, decide, enoughNodes, findFeasible } from "./decide.ts";
import type { Extender } from "./extender.ts";
import { describeFit, describePreemption, type FitError, Refusals } from "./fit-error.ts";
import { Nominations } from "./nominations.ts";
import { Placing, type Refused } from "./placing.ts";
import { PodWrites } from "./pod-writes.ts";
import {
  type Candidate,
  type DisruptionBudget,
  findCandidates,
  leastDamage,
  mayPreempt,
  type Preemption,
} from "./preemption.ts";
import type { Profile } from "./profile.ts";
import { SchedulerMeters } from "./scheduler-meters.ts";
import { retryEvents } from "./retry-events.ts";
import { isGated, podKey, type QueuedPod, SchedulingQueue } from "./scheduling-queue.ts";
import { Snapshot } from "./snapshot.ts";
import { clusterListers, wakingResources } from "./wakes.ts";

export interface SchedulerOptions {
  readonly context: ControllerContext;
  readonly profiles: readonly Profile[];
  readonly extenders?: readonly Extender[];
  readonly queueSort?: QueueSortPlugin;
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

type Plan = Preemption | NoPreemption;

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
  readonly #extenders: readonly Extender[];
  readonly #placing: Placing;
  #startAt = 0;

  constructor(options: SchedulerOptions) {
    this.#context = options.context;
    this.#clock = options.context.clock;
    this.#log = options.context.log;
    this.#profiles = new Map(options.profiles.map((profile) => [profile.schedulerName, profile]));
    const { initialBackoffMs, maxBackoffMs, queueSort } = options;
    this.#queue = new SchedulingQueue({
      clock: this.#clock,
      ...(queueSort ? { sort: queueSort } : {}),
      ...(initialBackoffMs === undefined ? {} : { initialBackoffMs }),
      ...(maxBackoffMs === undefined ? {} : { maxBackoffMs }),
    });
    this.#snapshot = new Snapshot(clusterListers(options.context.informers));
    this.#nominations = new Nominations(this.#snapshot);
    this.#writes = new PodWrites(options.context);
    this.#extenders = options.extenders ?? [];
    this.#placing = new Placing(options.context, this.#snapshot, this.#extenders);
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
      while (!call.signal.aborted) {
        await unlessStopped(this.#queue.whenActive(), call);
        const turnEnds = this.#clock.monotonic() + turnMs;
        while (!call.signal.aborted && this.#clock.monotonic() < turnEnds) {
          const entry = this.#queue.pop();
          if (!entry) break;
          const asking = this.#scheduleOne(entry, call);
          if (asking) await asking;
        }
        await new Promise((resolve) => setImmediate(resolve));
      }
    } finally {
      stopWatching();
      this.#queue.clear();
    }
  }

  /** A promise only where others are asked: decisions still come one after another. */
  #scheduleOne(entry: QueuedPod, call: Call): Promise<void> | undefined {
    const { pod } = entry;
    const profile = this.#profiles.get(pod.spec?.schedulerName ?? "");
    if (!profile || pod.metadata.deletionTimestamp || this.#snapshot.isAssumed(pod.metadata.uid ?? "")) {
      this.#queue.done(entry);
      return undefined;
    }
    const startedAt = this.#clock.monotonic();
    const interested = this.#extenders.filter((extender) => extender.isInterested(pod));
    if (interested.length > 0) {
      const asked = { pod, extenders: interested, log: this.#log };
      return this.#decideWithExtenders(profile, asked, call).then(
        (decision) => this.#conclude(entry, profile, decision, startedAt, call),
        (error) => this.#broke(entry, profile, error, call),
      );
    }
    void this.#conclude(entry, profile, this.#decide(pod, profile), startedAt, call);
    return undefined;
  }

  /** Resolves when the next decision may be made; a binding that was begun goes on. */
  #conclude(
    entry: QueuedPod,
    profile: Profile,
    decision: Decision & { readonly lookedAt: number },
    startedAt: number,
    call: Call,
  ): Promise<void> | undefined {
    const { pod } = entry;
    this.#meters.decided((this.#clock.monotonic() - startedAt) / 1000);
    this.#startAt = (this.#startAt + decision.lookedAt) % Math.max(1, this.#snapshot.nodes.length);
    if ("fitError" in decision) {
      const fitError = decision.fitError;
      return this.#refuse(entry, profile, fitError, () => this.#planPreemption(pod, profile, fitError, call), call);
    }
    const { node } = decision.node;
    const refused = this.#placing.reserve(pod, node, profile);
    if (refused) return this.#turnedAway(entry, profile, node, refused, call);
    this.#nominations.delete(pod.metadata.uid ?? "");
    void this.#bind(entry, profile, node, call);
    return undefined;
  }

  async #bind(entry: QueuedPod, profile: Profile, node: Node, call: Call): Promise<void> {
    const { pod } = entry;
    const { namespace = "", name = "" } = pod.metadata;
    try {
      // A node may have pulled and started before the answer is here: its events are not to come before this one.
      let at = this.#clock.now();
      const refused = await this.#placing.bind(pod, node, profile, call, () => (at = this.#clock.now()));
      if (refused) return await this.#turnedAway(entry, profile, node, refused, call);
      this.#queue.done(entry);
      this.#count(entry, profile, "scheduled");
      this.#meters.scheduled(entry.attempts, Math.max(0, this.#clock.now() - entry.since) / 1000);
      this.#context.events.event(
        pod,
        "Normal",
        "Scheduled",
        `Successfully assigned ${namespace}/${name} to ${node.metadata.name}`,
        { at },
      );
    } catch (error) {
      this.#placing.giveUp(pod, node, profile);
      await this.#broke(entry, profile, error, call);
    }
  }

  /** A plugin would not have the pod on the node that was decided on. */
  async #turnedAway(entry: QueuedPod, profile: Profile, node: Node, refused: Refused, call: Call): Promise<void> {
    const { plugin, reason } = refused;
    this.#placing.giveUp(entry.pod, node, profile);
    const refusals = new Refusals(1);
    refusals.add(node.metadata.name ?? "", { plugin, reasons: [reason], final: false });
    await this.#refuse(entry, profile, refusals, () => ({ keepsPromise: true }), call);
  }

  /** Something did not work that has nothing to do with where the pod fits: it is tried again after a while. */
  async #broke(entry: QueuedPod, profile: Profile, error: unknown, call: Call): Promise<void> {
    if (call.signal.aborted) return;
    const { pod } = entry;
    const { namespace = "", name = "", uid } = pod.metadata;
    const now = this.#snapshot.shown.get<Pod>("pods", namespace, name);
    // An extender may have bound it though its answer was lost; and who is gone is told nothing.
    if (now?.metadata.uid !== uid || now?.spec?.nodeName) return this.#queue.done(entry);
    this.#count(entry, profile, "error");
    this.#log.warn({ err: error, pod: `${namespace}/${name}` }, "could not schedule a pod, trying again");
    const { message } = toFault(error, "scheduling");
    this.#context.events.event(pod, "Warning", "FailedScheduling", message);
    try {
      await this.#writes.waits(pod, { reason: "SchedulerError", message }, call);
    } catch (failure) {
      // It is told with the next attempt.
      if (!call.signal.aborted) this.#log.debug({ err: failure, pod: entry.key }, "could not tell why a pod waits");
    } finally {
      this.#queue.retry(entry);
    }
  }

  #count(entry: QueuedPod, profile: Profile, result: "scheduled" | "unschedulable" | "error"): void {
    this.#meters.attempt(profile.schedulerName, result, (this.#clock.monotonic() - entry.triedAt) / 1000);
  }

  async #refuse(
    entry: QueuedPod,
    profile: Profile,
    fitError: FitError,
    planPreemption: () => Plan | Promise<Plan>,
    call: Call,
  ): Promise<void> {
    this.#count(entry, profile, "unschedulable");
    const { pod } = entry;
    const wakesOn = retryEvents(profile, fitError);
    try {
      const planned = planPreemption();
      const plan = planned instanceof Promise ? await planned : planned;
      const preemption = "victims" in plan ? plan : undefined;
      const tail = "why" in plan && plan.why && fitError.nodeCount > 0 ? ` preemption: ${plan.why}` : "";
      const message = `${describeFit(fitError)}${tail}`;
      this.#context.events.event(pod, "Warning", "FailedScheduling", message);
      const nominated = preemption?.nodeName ?? this.#takenBack(pod, plan);
      await this.#writes.waits(pod, { reason: "Unschedulable", message, nominated }, call);
      if (preemption) {
        wakesOn.add("Pod/Delete");
        await this.#evict(pod, preemption, call);
      }
    } catch (error) {
      // Whatever did not work is tried again with the pod's next attempt.
      if (!call.signal.aborted) this.#log.debug({ err: error, pod: entry.key }, "could not finish refusing a pod");
    } finally {
      this.#queue.failed(entry, wakesOn);
    }
  }

  async #evict(pod: Pod, { nodeName, victims: chosen }: Preemption, call: Call): Promise<void> {
    this.#meters.preempted(chosen.length);
    // Who only waits for its binding is sent back to the queue; the others have to go.
    const victims = chosen.filter(({ metadata }) => !this.#placing.release(metadata.uid ?? "", "preempted"));
    await this.#writes.evict(pod, { nodeName, victims }, call);
    for (const other of this.#nominations.lowerOn(nodeName, pod)) {
      this.#nominations.delete(other.metadata.uid ?? "");
      await this.#writes.takeBackPromise(other, call);
    }
  }

  #planPreemption(pod: Pod, profile: Profile, fitError: FitError, call: Call): Plan | Promise<Plan> {
    if (profile.preempts === false) return { keepsPromise: true };
    if (!mayPreempt(pod)) return { why: "not eligible due to preemptionPolicy=Never.", keepsPromise: true };
    const promised = this.#nominations.nodeFor(pod);
    // Let victims of an earlier attempt go before others are asked to, unless that node will never do.
    if (promised !== undefined && !fitError.finalNodes.has(promised) && this.#nominations.hasLeavingVictims(pod))
      return { why: "not eligible due to a terminating pod on the nominated node.", keepsPromise: true };
    const budgets = this.#snapshot.list<DisruptionBudget>("poddisruptionbudgets");
    // Room that others are promised is not promised twice.
    const candidates = this.#nominations.inPlace(pod, () =>
      findCandidates(pod, this.#snapshot, profile, fitError, { budgets, startAt: this.#startAt }),
    );
    const select = (left: readonly Candidate[]): Plan => {
      const best = leastDamage(left);
      if (!best) return { why: describePreemption(fitError) };
      this.#nominations.set(pod, best.nodeName);
      return best;
    };
    const extenders = this.#extenders.filter((one) => one.does("preempt") && one.isInterested(pod));
    if (extenders.length === 0 || candidates.length === 0) return select(candidates);
    const podsOn = (nodeName: string) => this.#snapshot.nodeNamed(nodeName)?.pods;
    return candidatesFromExtenders(candidates, podsOn, { pod, extenders, log: this.#log }, call).then(select);
  }

  /** Null when the pod had a promise that nothing will come of: its room is for others again. */
  #takenBack(pod: Pod, plan: Plan): null | undefined {
    if ("victims" in plan || plan.keepsPromise || !this.#nominations.delete(pod.metadata.uid ?? "")) return undefined;
    this.#queue.wake("Pod/Delete");
    return null;
  }

  #decide(pod: Pod, profile: Profile): ReturnType<typeof decide> {
    const promised = this.#nominations.nodeFor(pod);
    const options = { startAt: this.#startAt, random: this.#random, ...(promised ? { first: promised } : {}) };
    return this.#nominations.inPlace(pod, () => decide(pod, this.#snapshot, profile, options));
  }

  /** The same, with others asked after the filters and beside the scores. */
  async #decideWithExtenders(
    profile: Profile,
    asked: AskOptions,
    call: Call,
  ): Promise<Decision & { readonly lookedAt: number }> {
    const { pod } = asked;
    const startAt = this.#startAt;
    const enough = enoughNodes(this.#snapshot.nodes.length, profile.percentageOfNodesToScore);
    const look = (first?: string) =>
      this.#nominations.inPlace(pod, () =>
        findFeasible(pod, this.#snapshot, profile, { startAt, enough, ...(first ? { first } : {}) }),
      );
    const promised = this.#nominations.nodeFor(pod);
    let found = look(promised);
    let nodes: NodeView[] = await filterByExtenders(found, asked, call);
    // The node that was promised may not do for them, and another might.
    if (nodes.length === 0 && promised !== undefined && found.nodes.length > 0) {
      found = look();
      nodes = await filterByExtenders(found, asked, call);
    }
    const { lookedAt, refusals } = found;
    if (nodes.length === 0) return { lookedAt, fitError: refusals };
    const extra = nodes.length > 1 ? await pointsFromExtenders(nodes, asked, call) : undefined;
    const node = this.#nominations.inPlace(pod, () =>
      chooseNode(pod, this.#snapshot, profile, nodes, { random: this.#random, ...(extra ? { extra } : {}) }),
    );
    return { lookedAt, node, feasible: nodes.length };
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
      this.#placing.release(uid, "the pod is gone");
      this.#snapshot.removePod(uid);
      this.#nominations.delete(uid);
      this.#queue.remove(podKey(pod));
      this.#queue.wake("Pod/Delete");
    } else if (pod.spec?.nodeName) {
      const wasWaiting = !this.#snapshot.isAssumed(uid);
      this.#snapshot.setPod(pod);
      if (wasWaiting) this.#queue.remove(podKey(pod));
      // A pod that ended holds nothing any more, as if it were gone.
      this.#queue.wake(isTerminal(pod) ? "Pod/Delete" : type === "add" ? "Pod/Add" : "Pod/Update");
    } else if (pod.metadata.deletionTimestamp || pod.status?.phase === "Failed") {
      this.#queue.remove(podKey(pod));
    } else if (this.#profiles.has(pod.spec?.schedulerName ?? "")) {
      this.#nominations.learn(pod);
      this.#queue.add(pod);
      if (isGated(pod)) this.#log.debug({ pod: podKey(pod) }, "pod is held by scheduling gates");
    }
  }
}
