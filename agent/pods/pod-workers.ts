// Every pod worker of the node, by uid, and the queue that lets each of them look one step at a time.

import type { Call } from "../../plugins/kit/base/call.ts";
import { WorkQueue } from "../../plugins/kit/base/queue.ts";
import type { ObservedPod } from "../model/observed.ts";
import type { Verdict } from "../model/verdict.ts";
import { type AgentPod, isStaticPod, podName } from "../model/agent-pod.ts";
import { BackOff } from "../model/back-off.ts";
import type { PodDeps } from "./deps.ts";
import { HookRunner } from "./hooks.ts";
import { Killer } from "./killer.ts";
import { PodWorker, type WorkerHost } from "./pod-worker.ts";

// A step may wait for an image or a grace period, so there are more workers than a node has pods.
const workers = 256;

export class PodWorkers {
  readonly #deps: PodDeps;
  readonly #host: WorkerHost;
  readonly #byUid = new Map<string, PodWorker>();
  readonly #queue: WorkQueue<string>;
  /** When pods were first seen that have not started yet. */
  readonly #seenAt = new Map<string, number>();
  #mayClean = false;

  constructor(deps: PodDeps) {
    this.#deps = deps;
    const hooks = new HookRunner(deps.runtime.runtime, deps.clock);
    this.#host = {
      deps,
      killer: new Killer({ ...deps, hooks }),
      backOff: new BackOff(),
      admitted: (except) =>
        [...this.#byUid.values()]
          .filter((worker) => worker.isActive && worker.pod.metadata.uid !== except)
          .map((worker) => worker.pod),
      preempt: (pod) => this.#preempt(pod),
      mayStart: (pod) => this.#mayStart(pod),
    };
    this.#queue = new WorkQueue({
      clock: deps.clock,
      name: "pods",
      baseDelayMs: 500,
      maxDelayMs: 30_000,
      onError: (uid, error, retryInMs) => this.#report(uid, error, retryInMs),
    });
  }

  /** Every pod with the newest status. */
  list(): readonly AgentPod[] {
    return [...this.#byUid.values()].map((worker) => ({ ...worker.pod, status: worker.status }));
  }

  get(podUid: string): PodWorker | undefined {
    return this.#byUid.get(podUid);
  }

  /** It has a worker, or the runtime lists it without telling how it fares: nothing of it may be removed behind its back. */
  isKnown(podUid: string): boolean {
    return this.#byUid.has(podUid) || this.#deps.pleg.isUnread(podUid);
  }

  /** A source has the pod: new, or changed. */
  update(pod: AgentPod): void {
    const worker = this.#byUid.get(pod.metadata.uid);
    if (worker) {
      worker.update(pod);
      this.#deps.volumes.update(pod);
    } else this.#byUid.set(pod.metadata.uid, this.#open(pod));
    this.wake(pod.metadata.uid);
  }

  /** No source has it any more. */
  remove(podUid: string): void {
    const worker = this.#byUid.get(podUid);
    if (!worker) return;
    worker.remove();
    this.wake(podUid);
  }

  /** Ends a pod for a reason of the node's own. */
  end(podUid: string, verdict: Verdict, graceSeconds?: number): void {
    this.#byUid.get(podUid)?.end(verdict, graceSeconds);
    this.wake(podUid);
  }

  /** Every pod is stopped and has given back what it held. */
  get areAllReleased(): boolean {
    return [...this.#byUid.values()].every((worker) => worker.isReleased);
  }

  /** Something of the pod may have changed. Pods that nobody wants are taken down once the sources have told what they want. */
  wake(podUid: string): void {
    if (!this.#byUid.has(podUid)) {
      const observed = this.#deps.pleg.peek(podUid);
      if (!this.#mayClean || !observed) return;
      this.#adopt(observed);
    }
    this.#byUid.get(podUid)?.stirred();
    this.#queue.add(podUid);
  }

  /** Something that any of them may wait for has come, such as an image. */
  wakeAll(): void {
    for (const uid of this.#byUid.keys()) this.#queue.add(uid);
  }

  /** Every source has told all it knows: what runs beyond that is an orphan. */
  cleanOrphans(): void {
    this.#mayClean = true;
    for (const observed of this.#deps.pleg.all()) this.wake(observed.uid);
  }

  async run(call: Call): Promise<void> {
    await this.#queue.run(workers, (uid, inner) => this.#step(uid, inner), call);
  }

  async #step(uid: string, call: Call): Promise<void> {
    const worker = this.#byUid.get(uid);
    if (!worker) return;
    const { clock, meters } = this.#deps;
    const { stage } = worker;
    const startedAt = clock.monotonic();
    const againAtMs = await worker.step(call);
    meters?.workerSeconds.observe({ operation_type: stage }, (clock.monotonic() - startedAt) / 1000);
    this.#tellStarted(worker);
    if (stage !== "terminated" && worker.stage === "terminated") this.#wakeRefused();
    this.#queue.forget(uid);
    if (worker.isGone) {
      this.#byUid.delete(uid);
      this.#seenAt.delete(uid);
      this.#wakeNamesakes(worker.pod);
    } else if (againAtMs !== undefined) this.#queue.addAfter(uid, againAtMs - this.#deps.clock.now());
  }

  /** Once for each pod that was not running when the agent first saw it. */
  #tellStarted({ pod, status }: PodWorker): void {
    const { clock, meters } = this.#deps;
    const seenAt = this.#seenAt.get(pod.metadata.uid);
    if (seenAt === undefined || status?.phase !== "Running") return;
    this.#seenAt.delete(pod.metadata.uid);
    meters?.startedPods.add({});
    meters?.podStartSeconds.observe({}, (clock.monotonic() - seenAt) / 1000);
    const madeAt = Date.parse(String(pod.metadata.creationTimestamp ?? ""));
    if (!Number.isNaN(madeAt)) meters?.podStartSliSeconds.observe({}, Math.max(0, clock.now() - madeAt) / 1000);
  }

  #open(pod: AgentPod): PodWorker {
    if (!pod.status?.startTime && !this.#deps.pleg.peek(pod.metadata.uid))
      this.#seenAt.set(pod.metadata.uid, this.#deps.clock.monotonic());
    // Whatever runs of it already is read before the first plan.
    this.#deps.pleg.touch(pod.metadata.uid);
    return new PodWorker(this.#host, pod);
  }

  /** A pod that runs without being wanted, rebuilt from what its containers say. */
  #adopt(observed: ObservedPod): void {
    const { uid, name, namespace } = observed;
    const names = [...new Set(observed.containers.map((container) => container.name))];
    const grace = observed.containers.find((container) => container.graceSeconds !== undefined)?.graceSeconds;
    const pod: AgentPod = {
      apiVersion: "v1",
      kind: "Pod",
      metadata: { uid, name, namespace },
      spec: {
        containers: names.map((container) => ({ name: container })),
        ...(grace === undefined ? {} : { terminationGracePeriodSeconds: grace }),
      },
    };
    this.#deps.log.info({ pod: `${namespace}/${name}`, uid }, "taking down a pod that nobody wants any more");
    const worker = this.#open(pod);
    worker.adopt();
    this.#byUid.set(uid, worker);
  }

  #preempt({ metadata }: AgentPod): void {
    const worker = this.#byUid.get(metadata.uid);
    if (!worker || isLeaving(worker) || worker.isEnding) return;
    const message = "Preempted in order to admit critical pod";
    const condition = {
      type: "DisruptionTarget",
      status: "True",
      reason: "TerminationByKubelet",
      message: "Pod was preempted by Kubelet to accommodate a critical pod.",
    };
    this.#deps.recorder.event(worker.pod, "Warning", "Preempting", message);
    this.end(metadata.uid, { reason: "Preempting", message, condition });
  }

  /** There is more room than before for those who wait for it. */
  #wakeRefused(): void {
    for (const [uid, worker] of this.#byUid) if (worker.stage === "sync" && !worker.isAdmitted) this.#queue.add(uid);
  }

  /** A static pod that changed is another pod of the same name: it waits until the one before is gone. */
  #mayStart(pod: AgentPod): boolean {
    if (!isStaticPod(pod)) return true;
    return ![...this.#byUid.values()].some(
      (other) =>
        other.pod !== pod &&
        other.pod.metadata.uid !== pod.metadata.uid &&
        podName(other.pod) === podName(pod) &&
        isLeaving(other),
    );
  }

  #wakeNamesakes(pod: AgentPod): void {
    for (const [uid, other] of this.#byUid) if (podName(other.pod) === podName(pod)) this.wake(uid);
  }

  #report(uid: string, error: unknown, retryInMs: number): void {
    const worker = this.#byUid.get(uid);
    if (!worker) return;
    this.#deps.log.warn(
      { pod: podName(worker.pod), retryInMs: Math.round(retryInMs), err: error },
      "cannot bring the pod to what it should be yet",
    );
  }
}

function isLeaving(worker: PodWorker): boolean {
  return worker.stage !== "sync" || worker.isDeleted;
}
