// Nodes without containers: binds pods to simulated nodes, reports the status that a test wants, and lets deleted pods go.

import type { Call } from "../../plugins/kit/base/call.ts";
import type { ApiClient } from "../../plugins/kit/kube/client/api-client.ts";
import { isFault } from "../../plugins/kit/base/fault.ts";
import type { Informer } from "../../plugins/kit/kube/informer.ts";
import { matchesNodeSelection } from "../../plugins/kit/kube/objects/node-affinity.ts";
import { resources } from "../../plugins/kit/kube/objects/resources.ts";
import type { Node, Pod, PodStatus } from "../../plugins/kit/kube/objects/types.ts";
import { untoleratedTaint } from "../../plugins/kit/kube/objects/tolerations.ts";
import { WorkQueue } from "../../plugins/kit/base/queue.ts";
import { systemClock } from "../../plugins/kit/base/clock.ts";

export type Outcome = "ready" | "running" | "pending" | "succeeded" | { exitCode: number } | PodStatus;

export interface SimulatedKubeletOptions {
  readonly client: ApiClient;
  readonly pods: Informer<Pod>;
  readonly nodes: Informer<Node>;
  /** What becomes of a pod once it is bound; ready unless told. */
  readonly outcome?: (pod: Pod) => Outcome;
  /** Whether a pod that is being deleted may go; yes unless told. */
  readonly mayGo?: (pod: Pod) => boolean;
  readonly now?: () => number;
  /** Leave scheduling to a real scheduler. */
  readonly binds?: boolean;
}

export class SimulatedKubelet {
  readonly #options: SimulatedKubeletOptions;
  readonly #queue = new WorkQueue<string>({ clock: systemClock, baseDelayMs: 5, maxDelayMs: 200 });
  #turn = 0;

  constructor(options: SimulatedKubeletOptions) {
    this.#options = options;
  }

  async run(call: Call): Promise<void> {
    const stop = this.#options.pods.onEvent(({ type, object }) => {
      if (type !== "delete") this.#queue.add(`${object.metadata.namespace}/${object.metadata.name}`);
    });
    try {
      await this.#queue.run(4, (key, work) => this.#sync(key, work), call);
    } finally {
      stop();
    }
  }

  /** Looks at every pod again, after a test changed its mind about outcomes. */
  lookAgain(): void {
    for (const pod of this.#options.pods.list()) this.#queue.add(`${pod.metadata.namespace}/${pod.metadata.name}`);
  }

  async #sync(key: string, call: Call): Promise<void> {
    const [namespace = "", name = ""] = key.split("/");
    const pod = this.#options.pods.get(namespace, name);
    if (!pod) return;
    try {
      await this.#step(pod, call);
    } catch (error) {
      if (!isFault(error, "not-found", "conflict")) throw error;
    }
  }

  async #step(pod: Pod, call: Call): Promise<void> {
    const { client, mayGo = () => true, outcome = () => "ready" } = this.#options;
    const { namespace = "", name = "", uid = "" } = pod.metadata;
    if (pod.metadata.deletionTimestamp) {
      if (!mayGo(pod)) return;
      const isDone = pod.status?.phase === "Succeeded" || pod.status?.phase === "Failed";
      if (!isDone && pod.spec?.nodeName) {
        const body = { metadata: { uid }, status: this.#statusOf(pod, { exitCode: 137 }) };
        await client.patch(
          resources.pods,
          { namespace, name, subresource: "status" },
          { type: "strategic", body },
          call,
        );
      }
      if (pod.metadata.deletionGracePeriodSeconds !== 0)
        await client.delete(resources.pods, { namespace, name }, call, {
          gracePeriodSeconds: 0,
          preconditions: { uid },
        });
      return;
    }
    if (!pod.spec?.nodeName) {
      const node = this.#options.binds === false ? undefined : this.#pick(pod);
      if (!node) return;
      const target = { apiVersion: "v1", kind: "Node", name: node.metadata.name };
      const binding = { apiVersion: "v1", kind: "Binding", metadata: { namespace, name }, target };
      await client.create(resources.pods, binding, call, { namespace, name, subresource: "binding" });
      return;
    }
    const status = this.#statusOf(pod, outcome(pod));
    if (!status || pod.status?.phase === "Succeeded" || pod.status?.phase === "Failed") return;
    if (pod.status?.phase === status.phase && pod.status && readyOf(pod.status) === readyOf(status)) return;
    await client.patch(
      resources.pods,
      { namespace, name, subresource: "status" },
      { type: "strategic", body: { metadata: { uid }, status } },
      call,
    );
  }

  #pick(pod: Pod): Node | undefined {
    const fitting = this.#options.nodes
      .list()
      .filter((node) => !node.spec?.unschedulable || pod.spec?.tolerations?.length)
      .filter((node) => matchesNodeSelection(pod, node))
      .filter((node) => !untoleratedTaint(node.spec?.taints, pod.spec?.tolerations, ["NoSchedule", "NoExecute"]));
    return fitting[this.#turn++ % Math.max(1, fitting.length)];
  }

  #statusOf(pod: Pod, outcome: Outcome): PodStatus | undefined {
    if (outcome === "pending") return undefined;
    if (typeof outcome === "object" && !("exitCode" in outcome)) return outcome;
    const at = new Date(this.#options.now?.() ?? Date.now()).toISOString().replace(/\.\d+Z$/, "Z");
    const isDone = outcome === "succeeded" || typeof outcome === "object";
    const exitCode = typeof outcome === "object" ? outcome.exitCode : 0;
    const phase = isDone ? (exitCode === 0 ? "Succeeded" : "Failed") : "Running";
    const isReady = outcome === "ready";
    const state = isDone
      ? { terminated: { exitCode, finishedAt: at, startedAt: at, reason: exitCode === 0 ? "Completed" : "Error" } }
      : { running: { startedAt: at } };
    const conditions = ["ContainersReady", "Ready"].map((type) => ({
      type,
      status: isReady ? "True" : "False",
      lastTransitionTime: at,
    }));
    const ip = podIp(pod.metadata.uid ?? "");
    return {
      phase,
      startTime: at,
      conditions,
      podIP: ip,
      podIPs: [{ ip }],
      hostIP: "192.0.2.1",
      containerStatuses: (pod.spec?.containers ?? []).map(({ name, image }) => ({
        name,
        image: image ?? "",
        imageID: "",
        ready: isReady,
        restartCount: 0,
        started: !isDone,
        state,
      })),
    } as PodStatus;
  }
}

const readyOf = (status: PodStatus) => status.conditions?.find(({ type }) => type === "Ready")?.status;

function podIp(uid: string): string {
  let hash = 7;
  for (const char of uid) hash = (hash * 31 + char.charCodeAt(0)) >>> 0;
  return `10.${(hash >>> 16) & 255}.${(hash >>> 8) & 255}.${hash & 255 || 1}`;
}
