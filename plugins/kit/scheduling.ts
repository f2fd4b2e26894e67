// The scheduler's plugin contracts: filters say where a pod cannot run and why, scores say where it would run best.
// Both are pure functions of the snapshot they are handed (but for a filter's work before a binding); `prepare` computes once per pod what every node needs.

import type { Call } from "./call.ts";
import type { ApiClient } from "./client/api-client.ts";
import type { Clock } from "./clock.ts";
import type { Node, Pod } from "./objects/types.ts";
import { type Kind, kind } from "./plugin.ts";

/** Amounts by resource name: CPU in thousandths of a core, everything else in whole units; `pods` counts pods. */
export type Amounts = ReadonlyMap<string, number>;

/** One node of the snapshot with the pods bound or assumed to it, and what they ask for, already summed. */
export interface NodeView {
  readonly name: string;
  readonly node: Node;
  readonly pods: readonly Pod[];
  readonly requested: Amounts;
  /** The same, with what containers count for that ask for no CPU or memory: for comparing nodes, never for what fits. */
  readonly weight: Amounts;
  readonly allocatable: Amounts;
  /** The pods among `pods` that have inter-pod affinity, or anti-affinity, of their own. */
  readonly podsWithAffinity: readonly Pod[];
  readonly podsWithRequiredAntiAffinity: readonly Pod[];
  /** `protocol/hostIP/port` of each host port in use. */
  readonly hostPorts: ReadonlySet<string>;
  /** Bytes of each image the node holds, by every name it has. */
  readonly images: ReadonlyMap<string, number>;
}

/** Pods alike in namespace, labels, affinity and being on their way out; any of them speaks for all. */
export interface PodGroup {
  readonly pod: Pod;
  readonly countByNode: ReadonlyMap<string, number>;
}

/** The listers a plugin may ask; each answers from memory. */
export interface ClusterView {
  /** Another list as soon as any node changed, though not when only its pods did. */
  readonly nodes: readonly NodeView[];
  /** Every pod on a node, by groups: asking each group once is far cheaper than asking each pod. */
  readonly groups: Iterable<PodGroup>;
  /** Undefined for a node that is not there, though pods may say that they run on it. */
  nodeNamed(name: string): NodeView | undefined;
  list<T>(resource: string, namespace?: string): readonly T[];
  get<T>(resource: string, namespace: string, name: string): T | undefined;
}

/** Fits (undefined), or the reasons in upstream's words; `final` when no preemption on this node could help. */
export type FilterResult = undefined | { readonly reasons: readonly string[]; readonly final: boolean };

/** What `prepare` returns when the plugin has nothing to say about this pod: it is then not asked for any node. */
export const skip: unique symbol = Symbol("skip");

/** What `prepare` returns when no node at all will do. */
export class Rejection {
  readonly reason: string;
  constructor(reason: string) {
    this.reason = reason;
  }
}

/** What happening could turn a no into a yes: `Node/Update`, `Pod/Delete`, `PersistentVolumeClaim/Add` and so on. */
export type WakeEvent = `${string}/${"Add" | "Update" | "Delete" | "*"}`;

export interface BindTools {
  readonly client: ApiClient;
  readonly cluster: Pick<ClusterView, "list" | "get">;
  readonly clock: Clock;
}

export interface FilterPlugin {
  readonly name: string;
  /** This filter with the arguments of one profile; one that has this is only used where a profile gives some. Fault `invalid`. */
  withArguments?(raw: unknown, where: string): FilterPlugin;
  readonly retryOn: readonly WakeEvent[];
  /** Called once per pod; what it returns is handed to `filter` for each node, unless it is `skip` or a Rejection. */
  prepare?(pod: Pod, cluster: ClusterView): unknown;
  filter(pod: Pod, node: NodeView, prepared: unknown): FilterResult;
  /** Preemption tries a node without some pods: tells the prepared state that a pod came to or left the node. */
  changed?(prepared: unknown, node: NodeView, pod: Pod, change: "added" | "removed"): void;
  /** A copy of the prepared state that preemption may change; absent when it never changes. */
  copy?(prepared: unknown): unknown;
  /**
   * The pod goes to this node: what must be true before it is bound, such as its volumes. Undefined when there is nothing to
   * do; a throw gives the decision up, and the pod is tried again.
   */
  beforeBind?(pod: Pod, node: Node, tools: BindTools, call: Call): Promise<void> | undefined;
}

export interface ScorePlugin {
  readonly name: string;
  /** As for filters. */
  withArguments?(raw: unknown, where: string): ScorePlugin;
  readonly weight: number;
  prepare?(pod: Pod, cluster: ClusterView, feasible: readonly NodeView[]): unknown;
  /** 0 to 100, or any number that `normalize` brings there. */
  score(pod: Pod, node: NodeView, prepared: unknown): number;
  normalize?(scores: number[], prepared: unknown): void;
}

export const filterKind: Kind<FilterPlugin> = kind("filter");
export const scoreKind: Kind<ScorePlugin> = kind("score");
