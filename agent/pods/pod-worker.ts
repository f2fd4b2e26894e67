// One pod's life on the node: sync, then terminating, then terminated; nothing skips a stage, nothing goes back. A worker is told *that* it
// should look, never what changed, and each look does what the plan says.
//
// Invariants: `step` runs at most once at a time (the queue sees to that); `interrupt` may come at any moment and only ever makes the running
// step give up waiting.

import { type Call, uninterrupted } from "../../plugins/kit/base/call.ts";
import type { PodStatus } from "../../plugins/kit/kube/objects/types.ts";
import { comparableResources } from "../containers/resources.ts";
import { isAnythingRunning, type ObservedPod } from "../model/observed.ts";
import type { WaitingReason } from "../status/container-status.ts";
import { isTerminalPhase } from "../model/phase.ts";
import { computeStatus } from "../status/pod-status.ts";
import type { Verdict } from "../model/verdict.ts";
import { type AgentPod, isStaticPod, podName } from "../model/agent-pod.ts";
import type { BackOff } from "../model/back-off.ts";
import { deadlineExceeded, deadlineOf } from "./deadline.ts";
import type { PodDeps } from "./deps.ts";
import { backOffKey, PodRun } from "./executors.ts";
import type { Killer } from "./killer.ts";
import { plan, type PodStage } from "./plan.ts";
import type { PlanContext } from "./plan-running.ts";
import { grantedBefore, grantedOf, resizedBetween, type ResizeRefusal, withGrantedResources } from "../model/resize.ts";

/** Nobody tells a pod that another one has made room. */
const retryResizeMs = 10_000;

export interface WorkerHost {
  readonly deps: PodDeps;
  readonly killer: Killer;
  readonly backOff: BackOff;
  /** Pods admitted so far, without the given one. */
  readonly admitted: (except: string) => readonly AgentPod[];
  /** Ends a pod whose place a critical one takes. */
  readonly preempt: (pod: AgentPod) => void;
  /** False while another pod of the same static name is still being taken down. */
  readonly mayStart: (pod: AgentPod) => boolean;
}

export class PodWorker {
  readonly #host: WorkerHost;
  /** As its source has it. */
  #declared: AgentPod;
  /** The same with the resources that it was granted. */
  #pod: AgentPod;
  #resize: ResizeRefusal | undefined;
  #stage: PodStage = "sync";
  #verdict: Verdict | undefined;
  #isDeleted = false;
  #isOrphan = false;
  #graceSeconds: number | undefined;
  #isAdmitted = false;
  #isReleased = false;
  #isGone = false;
  #isStopping = false;
  #waiting = new Map<string, WaitingReason>();
  #interruption = new AbortController();

  constructor(host: WorkerHost, pod: AgentPod) {
    this.#host = host;
    this.#declared = pod;
    this.#pod = pod;
    // An agent that was restarted meanwhile meets the pod when it is going already.
    this.#isDeleted = pod.metadata.deletionTimestamp !== undefined;
  }

  get pod(): AgentPod {
    return this.#pod;
  }

  get stage(): PodStage {
    return this.#stage;
  }

  /** It is going, or gone from its source. */
  get isDeleted(): boolean {
    return this.#isDeleted;
  }

  /** The node has decided that it must go. */
  get isEnding(): boolean {
    return this.#verdict !== undefined;
  }

  get isAdmitted(): boolean {
    return this.#isAdmitted;
  }

  /** Counts against the node's capacity: admitted, not terminated, and still known to its source. */
  get isActive(): boolean {
    return this.#isAdmitted && this.#stage !== "terminated" && !this.#isOrphan;
  }

  /** Stopped, and everything that outlives its containers is given back. */
  get isReleased(): boolean {
    return this.#isReleased;
  }

  /** Nothing of it is left anywhere: it can be forgotten. */
  get isGone(): boolean {
    return this.#isGone;
  }

  /** The newest status, for those who list pods. */
  get status(): PodStatus {
    return this.#host.deps.statuses.get(this.#pod.metadata.uid) ?? this.#pod.status ?? {};
  }

  /** The source told of the pod again. */
  update(pod: AgentPod): void {
    const hadGrace = this.#pod.metadata.deletionGracePeriodSeconds;
    this.#declared = pod;
    this.#pod = this.#isAdmitted ? withGrantedResources(pod, grantedOf(this.#pod)) : pod;
    if (!pod.metadata.deletionTimestamp) return;
    this.#isDeleted = true;
    const grace = pod.metadata.deletionGracePeriodSeconds;
    // Deletion stops waiting for images and hooks; less grace than before ends the wait for the old one.
    if (this.#stage === "sync" || (grace !== undefined && (hadGrace === undefined || grace < hadGrace)))
      this.interrupt();
  }

  /** The source has it no more. */
  remove(): void {
    // An object of the API goes before its containers only when somebody would not wait for them.
    const isForced = !isStaticPod(this.#pod) && !this.#isOrphan && this.#stage !== "terminated";
    if (isForced) this.#graceSeconds = 0;
    if (isForced || (!this.#isDeleted && this.#stage === "sync")) this.interrupt();
    this.#isDeleted = true;
    this.#isOrphan = true;
  }

  /** Nobody knows it but the runtime. */
  adopt(): void {
    this.#isDeleted = true;
    this.#isOrphan = true;
  }

  /** Ends the pod for a reason of the node's own: eviction, shutdown. A grace period of its own may be given. */
  end(verdict: Verdict, graceSeconds?: number): void {
    if (this.#verdict || this.#stage === "terminated") return;
    this.#verdict = verdict;
    this.#graceSeconds = graceSeconds;
    this.interrupt();
  }

  /** Something of it changed. While it waits for its containers to end nobody looks, so how they fare is told here. */
  stirred(): void {
    if (this.#isStopping) this.#tell(this.#host.deps.pleg.peek(this.#pod.metadata.uid), false);
  }

  interrupt(): void {
    this.#interruption.abort(new Error("the pod is no longer wanted as it was"));
  }

  /** Looks and acts once. Resolves with the wall time to look again at; throws what should be retried. */
  async step(call: Call): Promise<number | undefined> {
    if (this.#interruption.signal.aborted) this.#interruption = new AbortController();
    const interruption = this.#interruption.signal;
    try {
      return await this.#steps({ signal: AbortSignal.any([call.signal, interruption]) });
    } catch (error) {
      if (!interruption.aborted || call.signal.aborted) throw error;
      return this.#host.deps.clock.now();
    }
  }

  async #steps(call: Call): Promise<number | undefined> {
    if (this.#stage === "sync") {
      const again = await this.#sync(call);
      const resizeAgain = this.#resize === "Deferred" ? this.#host.deps.clock.now() + retryResizeMs : undefined;
      if ((this.#stage as PodStage) === "sync") return earliest(again, resizeAgain);
    }
    if (this.#stage === "terminating") await this.#terminate(call);
    if (this.#stage === "terminated") await this.#finish(call);
    return undefined;
  }

  async #sync(call: Call): Promise<number | undefined> {
    const { deps } = this.#host;
    const { uid } = this.#pod.metadata;
    let observed = await deps.pleg.observe(uid, call);
    if (this.#isDeleted || this.#verdict || isTerminalPhase(this.#pod.status?.phase)) {
      this.#stage = "terminating";
      return undefined;
    }
    if ((this.#pod.spec.schedulingGates ?? []).length > 0 || !this.#host.mayStart(this.#pod)) return undefined;
    // Whoever makes room wakes the pods that wait for it.
    if (!this.#isAdmitted && !this.#admit(observed)) return undefined;
    this.#grantResources();
    const deadline = deadlineOf(this.#pod, this.status);
    if (deadline !== undefined && deadline <= deps.clock.now()) {
      deps.recorder.event(this.#pod, "Normal", "DeadlineExceeded", deadlineExceeded.message);
      this.#verdict = deadlineExceeded;
      this.#stage = "terminating";
      return undefined;
    }
    let status = this.#tell(observed, false);
    if (isTerminalPhase(status.phase)) {
      this.#stage = "terminating";
      return undefined;
    }
    const actions = plan({ pod: this.#pod, stage: "sync" }, observed, this.#context());
    if (actions.length === 0) {
      this.#observeProbes();
      return deadline;
    }
    const run = new PodRun(deps, this.#host.killer, this.#host.backOff, this.#pod, observed);
    const outcome = await run.run(actions, call);
    for (const [name, reason] of outcome.waiting) {
      if (reason) this.#waiting.set(name, reason);
      else this.#waiting.delete(name);
    }
    // What was done is told at once, also when the pod is to go meanwhile: the picture is read without interruption.
    observed = await deps.pleg.observe(uid, uninterrupted);
    status = this.#tell(observed, false);
    this.#observeProbes();
    if (call.signal.aborted) return deps.clock.now();
    const failure = outcome.failures.find((error) => error !== undefined);
    if (failure !== undefined) throw failure;
    // A finished init container or a sidecar that runs makes the next step due at once.
    const isMoreDue = plan({ pod: this.#pod, stage: "sync" }, observed, this.#context()).some(
      (action) => action.do !== "hold-back",
    );
    if (isMoreDue && outcome.retryAtMs === undefined) return deps.clock.now();
    return earliest(outcome.retryAtMs, deadline);
  }

  /** Pods that already run were admitted before the agent was restarted. */
  #admit(observed: ObservedPod | undefined): boolean {
    const { deps, admitted } = this.#host;
    const verdict = isAnythingRunning(observed)
      ? undefined
      : deps.resources.admit(this.#pod, admitted(this.#pod.metadata.uid));
    if (!verdict) {
      this.#isAdmitted = true;
      if (isAnythingRunning(observed)) {
        this.#pod = withGrantedResources(this.#declared, grantedBefore(this.#declared.status));
        deps.volumes.adopt(this.#pod);
      }
      return true;
    }
    if ("preempt" in verdict) {
      for (const victim of verdict.preempt) this.#host.preempt(victim);
      return false;
    }
    deps.recorder.event(this.#pod, "Warning", verdict.reason, verdict.message);
    this.#verdict = { ...verdict, message: `Pod was rejected: ${verdict.message}`, isRejection: true };
    this.#stage = "terminating";
    return false;
  }

  /** What the pod asks for since it was admitted comes into force when there is room. */
  #grantResources(): void {
    const { deps, admitted, backOff } = this.#host;
    const isAsking = this.#pod !== this.#declared;
    const refused = isAsking
      ? deps.resources.refuseResize(this.#declared, admitted(this.#pod.metadata.uid))
      : undefined;
    if (refused && refused.resize !== this.#resize)
      deps.recorder.event(this.#declared, "Warning", `Resize${refused.resize}`, refused.message);
    this.#resize = refused?.resize;
    if (refused || !isAsking) return;
    // One that crashed for want of them need not wait for what it did with less.
    for (const name of resizedBetween(this.#pod, this.#declared)) backOff.reset(backOffKey(this.#declared, name));
    this.#pod = this.#declared;
  }

  async #terminate(call: Call): Promise<void> {
    const { deps, killer, backOff } = this.#host;
    const { uid } = this.#pod.metadata;
    deps.probes.stopLivenessAndStartup(uid);
    const observed = await deps.pleg.observe(uid, call);
    this.#tell(observed, false);
    const desired = {
      pod: this.#pod,
      stage: "terminating",
      ...(this.#graceSeconds === undefined ? {} : { graceSeconds: this.#graceSeconds }),
    } as const;
    const actions = plan(desired, observed, this.#context());
    this.#isStopping = true;
    try {
      const { failures } = await new PodRun(deps, killer, backOff, this.#pod, observed).run(actions, call);
      if (failures[0] !== undefined) throw failures[0];
    } catch (error) {
      if (!call.signal.aborted) {
        const message = `error killing pod: ${error instanceof Error ? error.message : String(error)}`;
        deps.recorder.event(this.#pod, "Warning", "FailedKillPod", message);
      }
      throw error;
    } finally {
      this.#isStopping = false;
    }
    const after = await deps.pleg.observe(uid, call);
    if (isAnythingRunning(after)) throw new Error(`pod "${podName(this.#pod)}" still runs after it was stopped`);
    deps.probes.remove(uid);
    this.#tell(after, true);
    this.#stage = "terminated";
  }

  async #finish(call: Call): Promise<void> {
    const { deps, killer, backOff } = this.#host;
    const { uid } = this.#pod.metadata;
    const observed = await deps.pleg.observe(uid, call);
    const run = new PodRun(deps, killer, backOff, this.#pod, observed);
    // As planned for: a deletion that comes while the pod is released wakes the worker again, and the next plan removes the rest.
    const isDeleted = this.#isDeleted;
    const actions = plan({ pod: this.#pod, stage: "terminated", isDeleted }, observed, this.#context());
    if (!this.#isReleased) {
      const { failures } = await run.run(
        actions.filter((action) => action.do === "release"),
        call,
      );
      if (failures[0] !== undefined) throw failures[0];
      this.#isReleased = true;
    }
    if (!isDeleted) return;
    // The object may go now; the dead rest is nobody's concern but ours.
    deps.statuses.release(this.#pod);
    const { failures } = await run.run(
      actions.filter((action) => action.do !== "release"),
      call,
    );
    if (failures[0] !== undefined) throw failures[0];
    await run.removeLogs();
    backOff.forget(`${uid}_`);
    if (!this.#isOrphan) return;
    deps.statuses.forget(uid);
    this.#isGone = true;
  }

  #tell(observed: ObservedPod | undefined, isTerminal: boolean): PodStatus {
    const { deps } = this.#host;
    const { results } = deps.probes;
    const status = computeStatus({
      pod: this.#pod,
      observed,
      previous: deps.statuses.get(this.#pod.metadata.uid) ?? this.#pod.status,
      waiting: this.#waiting,
      probes: { startup: (id) => results.get("startup", id), readiness: (id) => results.get("readiness", id) },
      runtimeName: deps.runtimeName,
      hasRecursiveReadOnly: (handler) => deps.node.hasRecursiveReadOnly(handler),
      isTerminal,
      hostIps: deps.node.hostIps(),
      nowMs: deps.clock.now(),
      ...this.#resizeTold(observed),
      // While containers still run, the pod is not over yet: the verdict is told with their end.
      ...(this.#verdict && (isTerminal || !isAnythingRunning(observed)) ? { verdict: this.#verdict } : {}),
    });
    deps.statuses.set(this.#pod, isTerminal ? status : withoutTerminalPhase(status, this.status));
    return status;
  }

  /** Refused, or under way where somebody waits to hear of it. */
  #resizeTold(observed: ObservedPod | undefined): { resize?: ResizeRefusal | "InProgress" } {
    if (this.#resize) return { resize: this.#resize };
    if (!this.#declared.status?.resize || this.#stage !== "sync") return {};
    const actions = plan({ pod: this.#pod, stage: "sync" }, observed, this.#context());
    return actions.some((action) => action.do === "resize-container") ? { resize: "InProgress" } : {};
  }

  #observeProbes(): void {
    const { deps } = this.#host;
    deps.probes.update(this.#pod, this.status, deps.runtimeName);
  }

  #context(): PlanContext {
    const { deps, backOff } = this.#host;
    const { results } = deps.probes;
    const nowMs = deps.clock.now();
    return {
      nowMs,
      liveness: (id) => results.get("liveness", id),
      startup: (id) => results.get("startup", id),
      backOff: (container, finishedAt) => {
        const key = backOffKey(this.#pod, container.name);
        return { remainingMs: backOff.remaining(key, finishedAt, nowMs), delayMs: backOff.delay(key) };
      },
      resources: (container) => comparableResources(this.#pod, container, deps.node),
    };
  }
}

/**
 * A pod becomes Succeeded or Failed for others only when it has terminated here: until then it holds what it was admitted with, and
 * whoever sees it ended would give that away.
 */
function withoutTerminalPhase(status: PodStatus, previous: PodStatus): PodStatus {
  if (!isTerminalPhase(status.phase) || isTerminalPhase(previous.phase)) return status;
  const { reason: _reason, message: _message, ...rest } = status;
  return { ...rest, phase: previous.phase ?? "Pending" };
}

function earliest(...times: (number | undefined)[]): number | undefined {
  const known = times.filter((time) => time !== undefined);
  return known.length > 0 ? Math.min(...known) : undefined;
}
