// The scheduler's plugin contracts: filters say where a pod cannot run and why, scores say where it would run best; both are pure
// functions of the snapshot they are handed, and `prepare` computes once per pod what every node needs. Placement steps come
// between the decision and the binding, and a queue sort says who is tried first.

import type { Call } from "../base/call.ts";
import type { ApiClient } from "../kube/client/api-client.ts";
import type { Clock } from "../base/clock.ts";
import type { KubeObject, Node, Pod } from "../kube/objects/types.ts";
import { type Kind, kind } from "../base/plugin.ts";

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

/** Whatever happens. */
export const anyEvent: WakeEvent = "*/*";

/** What a decision takes besides the node: objects as they will be, which every later decision sees until the API shows them newer. */
export interface ReserveView extends Pick<ClusterView, "list" | "get"> {
  /** The object as it will be; it ends by itself when the object changes, or the pod is given up. */
  assume(resource: string, object: KubeObject): void;
}

export interface BindTools {
  readonly client: ApiClient;
  /** As the API shows it, without what was only assumed. */
  readonly cluster: Pick<ClusterView, "list" | "get">;
  /** What this pod's decision assumed of a resource: to be made true. */
  assumed<T>(resource: string): readonly T[];
  readonly clock: Clock;
}

/**
 * What a plugin may do once a node is decided on, in this order; every step is optional. `reserve` belongs to the decision, the
 * others may take their time while decisions for other pods go on. A pod that is given up for whatever reason at any step has
 * `unreserve` called, in reverse order, also on plugins whose `reserve` did not run.
 */
export interface PlacementSteps {
  /** Takes what the next decision must not give out again. A text refuses the node: the pod waits and is tried again. */
  reserve?(pod: Pod, node: Node, cluster: ReserveView): string | undefined;
  unreserve?(pod: Pod, node: Node): void;
  /** Resolves when the pod may go on (undefined) or must not (why); it may wait for other pods, until the call is stopped. */
  permit?(pod: Pod, node: Node, call: Call): Promise<string | undefined> | undefined;
  /** What must be true before the pod is bound, such as its volumes. A throw gives the decision up, and the pod is tried again. */
  beforeBind?(pod: Pod, node: Node, tools: BindTools, call: Call): Promise<void> | undefined;
  /** Binds the pod in place of the API's own way (true), or leaves it to the next (false). */
  bind?(pod: Pod, node: Node, tools: BindTools, call: Call): Promise<boolean>;
  /** The pod is bound. */
  bound?(pod: Pod, node: Node): void;
}

export interface FilterPlugin extends PlacementSteps {
  readonly name: string;
  /** This filter with the arguments of one profile; what is wrong with them is told as Fault `invalid` that begins with `where`. */
  withArguments?(raw: unknown, where: string): FilterPlugin;
  /** Says nothing without arguments: only used where a profile gives some. */
  readonly needsArguments?: boolean;
  readonly retryOn: readonly WakeEvent[];
  /** Called once per pod; what it returns is handed to `filter` for each node, unless it is `skip` or a Rejection. */
  prepare?(pod: Pod, cluster: ClusterView): unknown;
  filter(pod: Pod, node: NodeView, prepared: unknown): FilterResult;
  /** Preemption tries a node without some pods: tells the prepared state that a pod came to or left the node. */
  changed?(prepared: unknown, node: NodeView, pod: Pod, change: "added" | "removed"): void;
  /** A copy of the prepared state that preemption may change; absent when it never changes. */
  copy?(prepared: unknown): unknown;
}

export interface ScorePlugin {
  readonly name: string;
  /** As for filters. */
  withArguments?(raw: unknown, where: string): ScorePlugin;
  readonly needsArguments?: boolean;
  readonly weight: number;
  prepare?(pod: Pod, cluster: ClusterView, feasible: readonly NodeView[]): unknown;
  /** 0 to 100, or any number that `normalize` brings there. */
  score(pod: Pod, node: NodeView, prepared: unknown): number;
  normalize?(scores: number[], prepared: unknown): void;
}

/** Steps between a decision and its binding that no filter has anything to do with. */
export interface PlacementPlugin extends PlacementSteps {
  readonly name: string;
  /** As for filters. */
  withArguments?(raw: unknown, where: string): PlacementPlugin;
  readonly needsArguments?: boolean;
  /** What could make a node that `reserve` or `permit` refused do after all; without it, anything. */
  readonly retryOn?: readonly WakeEvent[];
}

/** Which of two waiting pods is tried first. One order holds for all profiles. */
export interface QueueSortPlugin {
  readonly name: string;
  /** A strict order: never true both ways round. `since` is when the pod first came, in milliseconds. */
  precedes(a: WaitingPod, b: WaitingPod): boolean;
}

export interface WaitingPod {
  readonly pod: Pod;
  readonly since: number;
  readonly attempts: number;
}

export const filterKind: Kind<FilterPlugin> = kind("filter");
export const scoreKind: Kind<ScorePlugin> = kind("score");
export const placementKind: Kind<PlacementPlugin> = kind("placement");
export const queueSortKind: Kind<QueueSortPlugin> = kind("queue-sort");
