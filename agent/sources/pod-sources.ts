// Brings the sources together: each tells its whole set or single changes, and what they add up to goes to the pod workers.
// The API's own pods count once the API has told its whole list; until then those of the checkpoint stand in for them.

import type { Pod } from "../../plugins/kit/kube/objects/types.ts";
import type { AgentPod } from "../model/agent-pod.ts";

export interface PodSink {
  update(pod: AgentPod): void;
  remove(podUid: string): void;
}

export type SourceName = "api" | "file" | "http";

export class PodSources {
  readonly #sink: PodSink;
  readonly #bySource = new Map<SourceName, Map<string, AgentPod>>();
  readonly #waiting: Set<SourceName>;
  readonly #onStatics: (pods: readonly AgentPod[]) => void;
  readonly #onAllTold: () => void;

  constructor(options: {
    sink: PodSink;
    sources: readonly SourceName[];
    onStatics: (pods: readonly AgentPod[]) => void;
    /** Every source has told its whole set once. */
    onAllTold: () => void;
  }) {
    this.#sink = options.sink;
    this.#waiting = new Set(options.sources);
    this.#onStatics = options.onStatics;
    this.#onAllTold = options.onAllTold;
  }

  /** The whole set of a source. */
  set(source: SourceName, pods: readonly AgentPod[]): void {
    const known = this.#of(source);
    const next = new Map(pods.map((pod) => [pod.metadata.uid, pod]));
    // Removals first: a static pod that changed waits for the one before it.
    for (const uid of known.keys()) if (!next.has(uid)) this.remove(source, uid);
    for (const pod of pods) if (!isSame(known.get(pod.metadata.uid), pod)) this.update(source, pod);
    this.#told(source);
  }

  update(source: SourceName, pod: AgentPod): void {
    this.#of(source).set(pod.metadata.uid, pod);
    this.#sink.update(pod);
    if (source !== "api") this.#onStatics(this.statics());
  }

  remove(source: SourceName, podUid: string): void {
    if (!this.#of(source).delete(podUid)) return;
    this.#sink.remove(podUid);
    if (source !== "api") this.#onStatics(this.statics());
  }

  statics(): AgentPod[] {
    return [...this.#of("file").values(), ...this.#of("http").values()];
  }

  /** Pods of one source, for the checkpoint. */
  from(source: SourceName): AgentPod[] {
    return [...this.#of(source).values()];
  }

  #of(source: SourceName): Map<string, AgentPod> {
    let pods = this.#bySource.get(source);
    if (!pods) this.#bySource.set(source, (pods = new Map()));
    return pods;
  }

  #told(source: SourceName): void {
    if (!this.#waiting.delete(source) || this.#waiting.size > 0) return;
    this.#onAllTold();
  }
}

/** The API's versions tell; a static pod's uid is its content. */
function isSame(known: AgentPod | undefined, pod: AgentPod): boolean {
  return known !== undefined && known.metadata.resourceVersion === pod.metadata.resourceVersion;
}

/** A pod of the API as the agent keeps it; undefined when it lacks what every stored pod has. */
export function agentPodOf(pod: Pod): AgentPod | undefined {
  const { name, namespace, uid } = pod.metadata;
  if (!name || !namespace || !uid || !pod.spec) return undefined;
  return { ...pod, metadata: { ...pod.metadata, name, namespace, uid }, spec: pod.spec };
}
