// The only writer of pod status to the API. Keeps the newest status of each pod, writes it at once when it changed, coalesces what piles up
// behind a write, and removes the API object of a pod that has been taken down completely.

import type { Call } from "../../plugins/kit/base/call.ts";
import type { ApiClient } from "../../plugins/kit/kube/client/api-client.ts";
import type { Clock } from "../../plugins/kit/base/clock.ts";
import { isFault } from "../../plugins/kit/base/fault.ts";
import type { Log } from "../../plugins/kit/base/log.ts";
import { resources } from "../../plugins/kit/kube/objects/resources.ts";
import type { Pod, PodStatus } from "../../plugins/kit/kube/objects/types.ts";
import { WorkQueue } from "../../plugins/kit/base/queue.ts";
import { type AgentPod, isStaticPod, podName } from "../model/agent-pod.ts";
import { statusPatch } from "./status-patch.ts";

interface Entry {
  pod: AgentPod;
  status: PodStatus;
  /** What the API has, as far as we know: what it sent, or what we last wrote. */
  written: PodStatus;
  /** The version that `written` was at: a watch may still bring older news. */
  version: bigint;
  /** The version at which somebody asked for other resources: a status of before that knows nothing of it. */
  proposedAt?: bigint;
  /** Everything of the pod is gone from the node: its object may go too. */
  isReleased: boolean;
}

export interface StatusManagerOptions {
  /** Absent on a node that runs static pods alone: statuses are kept and never written. */
  readonly client: ApiClient | undefined;
  readonly clock: Clock;
  readonly log: Log;
  /** The API object that stands for a static pod. */
  readonly mirrorOf: (pod: AgentPod) => AgentPod | undefined;
}

const writers = 8;
// Most pods are ready sooner than this: then the first status is never written, which spares the store a write and the next one a wait.
const firstDelayMs = 250;

export class StatusManager {
  readonly #options: StatusManagerOptions;
  readonly #entries = new Map<string, Entry>();
  readonly #queue: WorkQueue<string>;

  constructor(options: StatusManagerOptions) {
    this.#options = options;
    this.#queue = new WorkQueue({
      clock: options.clock,
      name: "status",
      baseDelayMs: 100,
      maxDelayMs: 10_000,
      onError: (uid, error) => this.#options.log.debug({ uid, err: error }, "cannot write a pod's status yet"),
    });
  }

  /** The newest status computed here. */
  get(podUid: string): PodStatus | undefined {
    return this.#entries.get(podUid)?.status;
  }

  /** Takes a status; writes it soon if it differs from what the API has. */
  set(pod: AgentPod, status: PodStatus): void {
    const { uid } = pod.metadata;
    const entry = this.#entries.get(uid) ?? { pod, status, written: pod.status ?? {}, version: 0n, isReleased: false };
    entry.pod = pod;
    entry.status = status;
    this.#entries.set(uid, entry);
    if (isBeginning(entry)) this.#queue.addAfter(uid, firstDelayMs);
    else this.#queue.add(uid);
  }

  /** The API told of the pod: that is what it has now. A mirror pod counts for its static pod. */
  seen(podUid: string, pod: Pod): void {
    const entry = this.#entries.get(podUid);
    const version = versionOf(pod);
    if (!entry || version < entry.version) return;
    if (isProposed(pod.status) && !isProposed(entry.written)) entry.proposedAt = version;
    entry.written = pod.status ?? {};
    entry.version = version;
    this.#queue.add(podUid);
  }

  /** Nothing of the pod is left on the node; when it was deleted, its object goes after the last status. */
  release(pod: AgentPod): void {
    const entry = this.#entries.get(pod.metadata.uid);
    if (!entry) return;
    entry.pod = pod;
    entry.isReleased = true;
    this.#queue.add(pod.metadata.uid);
  }

  forget(podUid: string): void {
    this.#entries.delete(podUid);
    this.#queue.forget(podUid);
  }

  async run(call: Call): Promise<void> {
    const { client } = this.#options;
    if (!client) return;
    await this.#queue.run(writers, (uid, inner) => this.#write(client, uid, inner), call);
  }

  async #write(client: ApiClient, uid: string, call: Call): Promise<void> {
    const entry = this.#entries.get(uid);
    if (!entry) return;
    const isStatic = isStaticPod(entry.pod);
    const target = isStatic ? this.#options.mirrorOf(entry.pod) : entry.pod;
    // No mirror yet: its arrival is told by `seen`.
    if (!target) return;
    const { namespace, name } = target.metadata;
    try {
      // As of now: a pod that ends while this is on its way has one more status to tell before its object goes.
      const { status, isReleased } = entry;
      const patch = statusPatch(entry.written, answerTo(entry));
      if (patch) {
        const body = { metadata: { uid: target.metadata.uid }, status: patch };
        const at = { namespace, name, subresource: "status" };
        const answer = await client.patch<Pod>(resources.pods, at, { type: "strategic", body }, call);
        entry.written = answer.status ?? status;
        entry.version = versionOf(answer);
      }
      if (isReleased && !isStatic && entry.pod.metadata.deletionTimestamp) {
        const options = { gracePeriodSeconds: 0, preconditions: { uid } };
        await client.delete(resources.pods, { namespace, name }, call, options);
      }
    } catch (error) {
      const isGone =
        isFault(error, "not-found") || (isFault(error, "conflict") && (await this.#isReplaced(client, target, call)));
      if (!isGone) throw error;
      this.#options.log.debug({ pod: podName(entry.pod) }, "the pod's object is gone: nothing to write its status to");
    }
  }

  /** Another pod has the name by now. */
  async #isReplaced(client: ApiClient, target: AgentPod, call: Call): Promise<boolean> {
    const { namespace, name, uid } = target.metadata;
    try {
      return (await client.get<Pod>(resources.pods, { namespace, name }, call)).metadata.uid !== uid;
    } catch (error) {
      if (isFault(error, "not-found")) return true;
      throw error;
    }
  }
}

/** The pod is being made and the API has not been told anything else: no news that anybody waits for. */
function isBeginning({ status, written }: Entry): boolean {
  if ((written.containerStatuses ?? []).length > 0 || status.phase !== "Pending") return false;
  const states = [...(status.containerStatuses ?? []), ...(status.initContainerStatuses ?? [])].map(
    ({ state }) => state,
  );
  const isMaking = (reason: string | undefined) =>
    !reason || reason === "ContainerCreating" || reason === "PodInitializing";
  return states.every((state) => state?.waiting !== undefined && isMaking(state.waiting.reason));
}

const isProposed = (status: PodStatus | undefined) => status?.resize === "Proposed";

/** A proposal stands until a status is told that was made knowing it. */
function answerTo({ pod, status, written, proposedAt }: Entry): PodStatus {
  const isUnheard = proposedAt !== undefined && isProposed(written) && versionOf(pod) < proposedAt;
  return isUnheard ? { ...status, resize: "Proposed" } : status;
}

/** Servers count versions upwards; one that does not is taken at its word each time. */
function versionOf(pod: Pod): bigint {
  const text = pod.metadata.resourceVersion ?? "";
  return /^\d+$/.test(text) ? BigInt(text) : 0n;
}
