// Pods bound to this node, and the node itself, from the API server; from the checkpoint while it does not answer.

import type { Call } from "../../plugins/kit/base/call.ts";
import type { ApiClient } from "../../plugins/kit/kube/client/api-client.ts";
import type { Clock } from "../../plugins/kit/base/clock.ts";
import { WatchingInformer } from "../../plugins/kit/kube/informer.ts";
import type { Log } from "../../plugins/kit/base/log.ts";
import { resources } from "../../plugins/kit/kube/objects/resources.ts";
import type { Node, Pod } from "../../plugins/kit/kube/objects/types.ts";
import { type AgentPod, isMirrorPod } from "../model/agent-pod.ts";
import type { Checkpoint } from "./checkpoint.ts";
import type { MirrorPods } from "./mirror-pods.ts";
import { agentPodOf, type PodSources } from "./pod-sources.ts";

/** How long the API server may stay silent before the checkpoint stands in for it. */
const offlineAfterMs = 5_000;

export interface ApiParts {
  readonly client: ApiClient;
  readonly clock: Clock;
  readonly log: Log;
  readonly nodeName: string;
  readonly sources: PodSources;
  /** Takes note of what the API shows, so that only differences are patched. */
  readonly statuses: { seen(podUid: string, pod: AgentPod): void };
  readonly mirrors: MirrorPods | undefined;
  /** Told of the node's own object. */
  readonly onNode: (node: Node) => void;
  readonly onNodeDeleted: (node: Node) => void;
  readonly remembered: readonly AgentPod[];
  readonly checkpoint: Checkpoint;
}

/** Follows until stopped. */
export async function watchApi(parts: ApiParts, call: Call): Promise<void> {
  const { client, clock, log, nodeName, sources, statuses, mirrors, onNode, onNodeDeleted, checkpoint } = parts;
  const pods = new WatchingInformer<Pod>({
    client,
    ref: resources.pods,
    fieldSelector: `spec.nodeName=${nodeName}`,
    clock,
    log,
  });
  const own = new WatchingInformer<Node>({
    client,
    ref: resources.nodes,
    fieldSelector: `metadata.name=${nodeName}`,
    clock,
    log,
  });
  own.onEvent(({ type, object }) => {
    if (type === "delete") onNodeDeleted(object);
    else onNode(object);
  });
  pods.onEvent(({ type, object }) => {
    const pod = agentPodOf(object);
    if (!pod) return;
    checkpoint.touch();
    if (isMirrorPod(pod)) {
      if (type === "delete") return mirrors?.gone(pod);
      const standsFor = mirrors?.seen(pod);
      if (standsFor) statuses.seen(standsFor.metadata.uid, pod);
      return;
    }
    if (type === "delete") {
      // A forced deletion is only told with the end of the object: its grace is in what is left of it.
      if (pod.metadata.deletionTimestamp) sources.update("api", pod);
      return sources.remove("api", pod.metadata.uid);
    }
    statuses.seen(pod.metadata.uid, pod);
    sources.update("api", pod);
  });
  const running = Promise.all([pods.run(call), own.run(call)]);
  const isSynced = await Promise.race([
    pods.synced.then(() => true),
    clock.sleep(offlineAfterMs, call).then(
      () => false,
      () => false,
    ),
  ]);
  if (!isSynced && !call.signal.aborted && parts.remembered.length > 0) {
    log.warn(
      { pods: parts.remembered.length },
      "the API server does not answer: running the pods that this node remembers",
    );
    for (const pod of parts.remembered) sources.update("api", pod);
  }
  void pods.synced.then(() => {
    const known = pods.list().map(agentPodOf);
    sources.set("api", known.filter((pod) => pod !== undefined && !isMirrorPod(pod)) as AgentPod[]);
  });
  await running;
}
