// The only owner of what is observed of pods. Runtime events mark a pod as changed and wake its worker at once; a slow relist is the safety
// net. The worker then asks for the pod's picture, which is read from the runtime only where something may have changed.
//
// Invariants: a picture handed out is never changed; nothing here outlives the process, so a restart begins with a full relist.

import type { Runtime } from "../../cri/api/contract.ts";
import {
  type Container,
  ContainerFilter,
  ContainerState,
  ListContainersRequest,
  ListPodSandboxRequest,
  type PodSandbox,
  PodSandboxFilter,
  PodSandboxState,
} from "../../cri/api/gen/runtime.js";
import type { Call } from "../../plugins/kit/base/call.ts";
import type { Clock } from "../../plugins/kit/base/clock.ts";
import { isFault } from "../../plugins/kit/base/fault.ts";
import type { Log } from "../../plugins/kit/base/log.ts";
import type { AgentMeters } from "../runtime/agent-meters.ts";
import { labels } from "../model/identity.ts";
import { containerOf, sandboxOf, stateOf } from "./from-cri.ts";
import type { ObservedContainer, ObservedPod, ObservedResources, ObservedSandbox } from "../model/observed.ts";
import { terminationMessage } from "./termination-message.ts";

// With events the relist only finds what an event lost; without them it is the only source.
const relistWithEventsMs = 60_000;
const relistWithoutEventsMs = 1_000;
/** As upstream: a node whose pods could not be seen for so long is not ready. */
const healthyMs = 180_000;
const unreadMinMs = 1_000;
const unreadMaxMs = 300_000;

export interface PlegOptions {
  readonly runtime: Runtime;
  /** Where the agent keeps the pods' termination messages. */
  readonly podsDir: string;
  readonly clock: Clock;
  readonly log: Log;
  readonly meters?: AgentMeters;
  /** Called with the uid of every pod that may have changed; must not block. */
  readonly onChange: (podUid: string) => void;
}

export class Pleg {
  readonly #runtime: Runtime;
  readonly #podsDir: string;
  readonly #clock: Clock;
  readonly #log: Log;
  readonly #onChange: (podUid: string) => void;
  readonly #meters: AgentMeters | undefined;
  readonly #pods = new Map<string, ObservedPod>();
  readonly #uidByContainer = new Map<string, string>();
  readonly #dirty = new Set<string>();
  readonly #refused = new Set<string>();
  /** Pods that the runtime lists but cannot be read, by uid: each is tried again after a growing delay. */
  readonly #unread = new Map<string, { delayMs: number; retryAt: number }>();
  /** Resolves when the runtime has been listed once: from then on `all` is complete. */
  readonly listed: Promise<void>;
  #tellListed: () => void = () => {};
  #hasEvents = false;
  #lastRelistAt = -1;
  #relistFailure: string | undefined;
  readonly #openedAt: number;
  /** When last not all of several pods were unread. */
  #lastReadAt: number;
  #readFailure: string | undefined;

  constructor(options: PlegOptions) {
    this.#runtime = options.runtime;
    this.#podsDir = options.podsDir;
    this.#clock = options.clock;
    this.#log = options.log;
    this.#onChange = options.onChange;
    this.#meters = options.meters;
    this.#openedAt = this.#clock.monotonic();
    this.#lastReadAt = this.#openedAt;
    this.listed = new Promise((resolve) => (this.#tellListed = resolve));
  }

  /** The pod as last read; undefined when the runtime holds nothing of it. */
  peek(podUid: string): ObservedPod | undefined {
    return this.#pods.get(podUid);
  }

  all(): readonly ObservedPod[] {
    return [...this.#pods.values()];
  }

  /** The runtime lists the pod, but its status could not be read: it may run, though `peek` and `all` do not show it as it is. */
  isUnread(podUid: string): boolean {
    return this.#unread.has(podUid);
  }

  /** Undefined when the last relist worked, and not too long ago; else what is wrong. */
  unhealthy(): string | undefined {
    if (this.#relistFailure) return `pleg: ${this.#relistFailure}`;
    const age = this.#clock.monotonic() - this.#lastRelistAt;
    if (this.#lastRelistAt < 0) return "pleg has yet to be successful";
    return age > healthyMs ? `pleg was last seen active ${seconds(age)} ago` : undefined;
  }

  /** Why the node is not ready: for three minutes its pods could not be listed, or none of several could be read. */
  trouble(): string | undefined {
    const now = this.#clock.monotonic();
    const age = now - Math.max(this.#lastRelistAt, this.#openedAt);
    if (age > healthyMs) {
      const why = this.#relistFailure ? `: ${this.#relistFailure}` : "";
      return `PLEG is not healthy: pleg was last seen active ${seconds(age)} ago${why}`;
    }
    const unreadMs = now - this.#lastReadAt;
    if (unreadMs <= healthyMs || !this.#readFailure) return undefined;
    return `PLEG is not healthy: no pod's status could be read from the runtime for ${seconds(unreadMs)}: ${this.#readFailure}`;
  }

  /** Says that the pod may have changed, without waking anybody: for a worker that has just acted. */
  touch(podUid: string): void {
    this.#dirty.add(podUid);
  }

  /** The pod as it is now: from memory while nothing has happened to it. */
  async observe(podUid: string, call: Call): Promise<ObservedPod | undefined> {
    if (!this.#dirty.has(podUid)) return this.#pods.get(podUid);
    this.#dirty.delete(podUid);
    try {
      const [sandboxes, containers] = await this.#list(podUid, call);
      return await this.#read(podUid, sandboxes, containers, call);
    } catch (error) {
      this.#dirty.add(podUid);
      throw error;
    }
  }

  /** The runtime was asked to start the container and said why it does not. */
  refused(podUid: string, containerId: string): void {
    this.#refused.add(containerId);
    this.touch(podUid);
  }

  /** A container was resized: not every runtime tells of that afterwards. */
  resized(podUid: string, containerId: string, resources: ObservedResources): void {
    const pod = this.#pods.get(podUid);
    if (!pod) return;
    const containers = pod.containers.map((container) =>
      container.id === containerId ? { ...container, resources } : container,
    );
    this.#pods.set(podUid, { ...pod, containers });
  }

  /** Listens and relists until stopped. */
  async run(call: Call): Promise<void> {
    await Promise.all([this.#listen(call), this.#relistForEver(call)]);
  }

  /** Compares everything the runtime lists with what is known and wakes whoever differs. */
  async relist(call: Call): Promise<void> {
    const startedAt = this.#clock.monotonic();
    try {
      const [sandboxes, containers] = await this.#list(undefined, call);
      const uids = new Set<string>(this.#pods.keys());
      for (const sandbox of sandboxes) uids.add(uidOf(sandbox));
      for (const container of containers) uids.add(uidOf(container));
      for (const uid of uids) {
        const ownSandboxes = sandboxes.filter((sandbox) => uidOf(sandbox) === uid);
        const ownContainers = containers.filter((container) => uidOf(container) === uid);
        if (ownSandboxes.length + ownContainers.length === 0) this.#unread.delete(uid);
        if (!differs(this.#pods.get(uid), ownSandboxes, ownContainers)) continue;
        if ((this.#unread.get(uid)?.retryAt ?? 0) > startedAt) continue;
        // Read here, so that pods nobody wants are known to `all` too.
        if (await this.#readOrBackOff(uid, ownSandboxes, ownContainers, call)) this.#onChange(uid);
      }
      const endedAt = this.#clock.monotonic();
      // One pod that cannot be read is that pod's trouble, also where it is the only one.
      if (this.#unread.size < 2 || [...uids].some((uid) => !this.#unread.has(uid))) this.#lastReadAt = endedAt;
      this.#meters?.relistSeconds.observe({}, (endedAt - startedAt) / 1000);
      if (this.#lastRelistAt >= 0) this.#meters?.relistIntervals.observe({}, (endedAt - this.#lastRelistAt) / 1000);
      this.#lastRelistAt = endedAt;
      this.#relistFailure = undefined;
      this.#tellListed();
    } catch (error) {
      if (call.signal.aborted) return;
      this.#relistFailure = error instanceof Error ? error.message : String(error);
      throw error;
    }
  }

  /** One pod whose status cannot be read must not keep the others from being seen. */
  async #readOrBackOff(
    uid: string,
    sandboxes: readonly PodSandbox[],
    containers: readonly Container[],
    call: Call,
  ): Promise<boolean> {
    try {
      await this.#read(uid, sandboxes, containers, call);
      this.#unread.delete(uid);
      return true;
    } catch (error) {
      if (call.signal.aborted) throw error;
      const delayMs = Math.min((this.#unread.get(uid)?.delayMs ?? unreadMinMs / 2) * 2, unreadMaxMs);
      this.#unread.set(uid, { delayMs, retryAt: this.#clock.monotonic() + delayMs });
      this.#dirty.add(uid);
      this.#meters?.relistPodErrors.add({});
      this.#readFailure = error instanceof Error ? error.message : String(error);
      const pod = `${labelOf(sandboxes, containers, labels.podNamespace)}/${labelOf(sandboxes, containers, labels.podName)}`;
      this.#log.warn(
        { pod, uid, retryInMs: delayMs, err: error },
        "failed to read the status of a pod from the runtime",
      );
      return false;
    }
  }

  async #listen(call: Call): Promise<void> {
    let delayMs = 100;
    while (!call.signal.aborted) {
      try {
        for await (const event of this.#runtime.runtime.getContainerEvents({}, call)) {
          if (!this.#hasEvents) this.#log.debug({}, "runtime events arrive");
          this.#hasEvents = true;
          delayMs = 100;
          const uid = event.podSandboxStatus?.metadata?.uid || this.#uidByContainer.get(event.containerId);
          if (uid) {
            this.#dirty.add(uid);
            this.#onChange(uid);
          } else await this.relist(call);
        }
      } catch (error) {
        if (call.signal.aborted) return;
        this.#hasEvents = false;
        if (isFault(error, "unsupported")) {
          this.#log.info({}, "the runtime has no events: relisting every second");
          return;
        }
        this.#log.warn({ err: error }, "lost the runtime's events");
      }
      // Whatever happened in between is found by a relist.
      await this.#clock.sleep(delayMs, call).catch(() => {});
      delayMs = Math.min(delayMs * 2, 5_000);
      if (!call.signal.aborted) await this.relist(call).catch(() => {});
    }
  }

  async #relistForEver(call: Call): Promise<void> {
    while (!call.signal.aborted) {
      try {
        await this.relist(call);
      } catch (error) {
        this.#log.warn({ err: error }, "cannot list the runtime's pods");
      }
      const isSlow = this.#hasEvents && !this.#relistFailure && this.#unread.size === 0;
      const delayMs = isSlow ? relistWithEventsMs : relistWithoutEventsMs;
      await this.#clock.sleep(delayMs, call).catch(() => {});
    }
  }

  async #list(podUid: string | undefined, call: Call): Promise<[PodSandbox[], Container[]]> {
    const labelSelector = podUid === undefined ? {} : { [labels.podUid]: podUid };
    const [sandboxes, containers] = await Promise.all([
      this.#runtime.runtime.listPodSandbox(
        ListPodSandboxRequest.create({ filter: PodSandboxFilter.create({ labelSelector }) }),
        call,
      ),
      this.#runtime.runtime.listContainers(
        ListContainersRequest.create({ filter: ContainerFilter.create({ labelSelector }) }),
        call,
      ),
    ]);
    return [sandboxes.items.filter(uidOf), containers.containers.filter(uidOf)];
  }

  async #read(
    uid: string,
    listedSandboxes: readonly PodSandbox[],
    listedContainers: readonly Container[],
    call: Call,
  ): Promise<ObservedPod | undefined> {
    const known = this.#pods.get(uid);
    const [sandboxes, containers] = await Promise.all([
      Promise.all(listedSandboxes.map((listed) => this.#readSandbox(listed, known, call))),
      Promise.all(listedContainers.map((listed) => this.#readContainer(uid, listed, known, call))),
    ]);
    const pod: ObservedPod = {
      uid,
      name: labelOf(listedSandboxes, listedContainers, labels.podName),
      namespace: labelOf(listedSandboxes, listedContainers, labels.podNamespace),
      sandboxes: newestFirst(sandboxes.filter((sandbox) => sandbox !== undefined)),
      containers: newestFirst(containers.filter((container) => container !== undefined)),
    };
    for (const old of known?.containers ?? []) {
      if (pod.containers.some(({ id }) => id === old.id)) continue;
      this.#uidByContainer.delete(old.id);
      this.#refused.delete(old.id);
    }
    if (pod.sandboxes.length === 0 && pod.containers.length === 0) {
      this.#pods.delete(uid);
      return undefined;
    }
    this.#pods.set(uid, pod);
    return pod;
  }

  async #readSandbox(
    listed: PodSandbox,
    known: ObservedPod | undefined,
    call: Call,
  ): Promise<ObservedSandbox | undefined> {
    const old = known?.sandboxes.find((sandbox) => sandbox.id === listed.id);
    const isReady = listed.state === PodSandboxState.SANDBOX_READY;
    // The address of a sandbox never changes while it is ready.
    if (old && old.isReady === isReady && (!isReady || old.isHostNetwork || old.ips.length > 0)) return old;
    const answer = await unlessGone(
      this.#runtime.runtime.podSandboxStatus({ podSandboxId: listed.id, verbose: false }, call),
    );
    if (!answer?.status) return undefined;
    const sandbox = sandboxOf(answer.status);
    // Some runtimes forget the addresses of a stopped sandbox; the status of a finished pod still shows them.
    return sandbox.ips.length === 0 && old ? { ...sandbox, ips: old.ips } : sandbox;
  }

  async #readContainer(
    uid: string,
    listed: Container,
    known: ObservedPod | undefined,
    call: Call,
  ): Promise<ObservedContainer | undefined> {
    this.#uidByContainer.set(listed.id, uid);
    const old = known?.containers.find((container) => container.id === listed.id);
    if (old && isSettled(old, listed)) return old;
    const answer = await unlessGone(
      this.#runtime.runtime.containerStatus({ containerId: listed.id, verbose: false }, call),
    );
    if (!answer?.status) return undefined;
    const hasEnded = answer.status.state === ContainerState.CONTAINER_EXITED;
    const message = hasEnded ? await terminationMessage(answer.status, this.#podsDir) : "";
    const wasRefused = this.#refused.has(listed.id);
    return containerOf(answer.status, { sandboxId: listed.podSandboxId, message, wasRefused });
  }
}

/** It may be removed between the list and the question. */
async function unlessGone<T>(answer: Promise<T>): Promise<T | undefined> {
  try {
    return await answer;
  } catch (error) {
    if (isFault(error, "not-found")) return undefined;
    throw error;
  }
}

const seconds = (ms: number) => `${Math.round(ms / 1000)}s`;

function uidOf(listed: PodSandbox | Container): string {
  return listed.labels[labels.podUid] ?? "";
}

function labelOf(sandboxes: readonly PodSandbox[], containers: readonly Container[], label: string): string {
  return (sandboxes[0] ?? containers[0])?.labels[label] ?? "";
}

function newestFirst<T extends { createdAt: number; restartCount?: number; attempt?: number }>(list: T[]): T[] {
  const generation = (item: T) => item.restartCount ?? item.attempt ?? 0;
  return list.sort((a, b) => b.createdAt - a.createdAt || generation(b) - generation(a));
}

/** Nothing new can be learnt of it. An ended container stays as it was read, also where its start was called off. */
function isSettled(old: ObservedContainer, listed: Container): boolean {
  const state = stateOf(listed.state);
  return (old.state === state && state !== "unknown") || (state === "exited" && old.finishedAt > 0);
}

function differs(
  known: ObservedPod | undefined,
  sandboxes: readonly PodSandbox[],
  containers: readonly Container[],
): boolean {
  if (!known) return true;
  if (known.sandboxes.length !== sandboxes.length || known.containers.length !== containers.length) return true;
  const isSameSandbox = (listed: PodSandbox) =>
    known.sandboxes.some(
      (old) => old.id === listed.id && old.isReady === (listed.state === PodSandboxState.SANDBOX_READY),
    );
  const isSameContainer = (listed: Container) =>
    known.containers.some((old) => old.id === listed.id && isSettled(old, listed));
  return !sandboxes.every(isSameSandbox) || !containers.every(isSameContainer);
}
