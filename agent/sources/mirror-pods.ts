// Mirror pods: the API objects that stand for static pods. Made when missing, made anew when the static pod changed, removed with it.
// Deleting one never stops the static pod.

import type { Call } from "../../plugins/kit/base/call.ts";
import type { ApiClient } from "../../plugins/kit/kube/client/api-client.ts";
import type { Clock } from "../../plugins/kit/base/clock.ts";
import { isFault } from "../../plugins/kit/base/fault.ts";
import type { Log } from "../../plugins/kit/base/log.ts";
import { resources } from "../../plugins/kit/kube/objects/resources.ts";
import type { Node } from "../../plugins/kit/kube/objects/types.ts";
import { WorkQueue } from "../../plugins/kit/base/queue.ts";
import { type AgentPod, configAnnotations, podName } from "../model/agent-pod.ts";

export interface MirrorPodsOptions {
  readonly client: ApiClient;
  readonly clock: Clock;
  readonly log: Log;
  /** The node's object: mirror pods are owned by it. */
  readonly node: () => Node | undefined;
}

export class MirrorPods {
  readonly #options: MirrorPodsOptions;
  readonly #statics = new Map<string, AgentPod>();
  readonly #mirrors = new Map<string, AgentPod>();
  readonly #queue: WorkQueue<string>;
  #areAllTold = false;

  constructor(options: MirrorPodsOptions) {
    this.#options = options;
    const onError = (name: string, error: unknown) =>
      options.log.debug({ pod: name, err: error }, "cannot mirror the pod yet");
    this.#queue = new WorkQueue({
      clock: options.clock,
      name: "mirrors",
      baseDelayMs: 500,
      maxDelayMs: 30_000,
      onError,
    });
  }

  /** The whole set of static pods. */
  setStatics(pods: readonly AgentPod[]): void {
    const before = new Set(this.#statics.keys());
    this.#statics.clear();
    for (const pod of pods) this.#statics.set(podName(pod), pod);
    for (const name of new Set([...before, ...this.#statics.keys()])) this.#queue.add(name);
  }

  /** Every source has told its static pods: only now is a mirror without one left over. */
  allTold(): void {
    this.#areAllTold = true;
    for (const name of this.#mirrors.keys()) this.#queue.add(name);
  }

  /** The API has this mirror pod now. Returns the static pod it stands for. */
  seen(mirror: AgentPod): AgentPod | undefined {
    this.#mirrors.set(podName(mirror), mirror);
    this.#queue.add(podName(mirror));
    const pod = this.#statics.get(podName(mirror));
    return pod && isMirrorOf(mirror, pod) ? pod : undefined;
  }

  gone(mirror: AgentPod): void {
    this.#mirrors.delete(podName(mirror));
    this.#queue.add(podName(mirror));
  }

  mirrorOf(pod: AgentPod): AgentPod | undefined {
    const mirror = this.#mirrors.get(podName(pod));
    return mirror && isMirrorOf(mirror, pod) ? mirror : undefined;
  }

  async run(call: Call): Promise<void> {
    await this.#queue.run(2, (name, inner) => this.#reconcile(name, inner), call);
  }

  async #reconcile(key: string, call: Call): Promise<void> {
    const pod = this.#statics.get(key);
    const mirror = this.#mirrors.get(key);
    const { client } = this.#options;
    if (mirror && !pod && !this.#areAllTold) return;
    if (mirror && (!pod || !isMirrorOf(mirror, pod) || mirror.metadata.deletionTimestamp)) {
      const { namespace, name, uid } = mirror.metadata;
      const options = { gracePeriodSeconds: 0, preconditions: { uid } };
      await client.delete(resources.pods, { namespace, name }, call, options).catch((error: unknown) => {
        if (!isFault(error, "not-found", "conflict")) throw error;
      });
      // Its going is told by the watch; the new one is made then.
      return;
    }
    if (!pod || mirror) return;
    try {
      await client.create(resources.pods, this.#mirrorFor(pod), call, { namespace: pod.metadata.namespace });
    } catch (error) {
      // It is there already, and the watch will tell.
      if (!isFault(error, "already-exists")) throw error;
    }
  }

  #mirrorFor(pod: AgentPod): object {
    const { name, namespace, labels, annotations = {} } = pod.metadata;
    const node = this.#options.node();
    const owner = node?.metadata.uid
      ? [{ apiVersion: "v1", kind: "Node", name: node.metadata.name, uid: node.metadata.uid, controller: true }]
      : [];
    return {
      apiVersion: "v1",
      kind: "Pod",
      metadata: {
        name,
        namespace,
        ...(labels ? { labels } : {}),
        annotations: { ...annotations, [configAnnotations.mirror]: annotations[configAnnotations.hash] ?? "" },
        ...(owner.length > 0 ? { ownerReferences: owner } : {}),
      },
      spec: pod.spec,
    };
  }
}

function isMirrorOf(mirror: AgentPod, pod: AgentPod): boolean {
  return mirror.metadata.annotations?.[configAnnotations.mirror] === pod.metadata.annotations?.[configAnnotations.hash];
}
