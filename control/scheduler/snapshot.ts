// What the scheduler believes of the cluster: nodes, the pods bound to them, and the pods it has assumed there.
// An assumed pod counts from the moment of the decision until the watch shows it bound, or the binding is given up.

import type { Node, Pod } from "../../plugins/kit/kube/objects/types.ts";
import { isTerminal } from "../../plugins/kit/kube/pod-requests.ts";
import type { ClusterView, ReserveView } from "../../plugins/kit/contracts/scheduling.ts";
import { AssumedObjects } from "./assumed-objects.ts";
import { NodeInfo } from "./node-info.ts";
import { PodGroups } from "./pod-groups.ts";

type Listers = Pick<ClusterView, "list" | "get">;

export class Snapshot implements ClusterView {
  readonly #nodesByName = new Map<string, NodeInfo>();
  readonly #placeByUid = new Map<string, { readonly pod: Pod; readonly nodeName: string }>();
  readonly #assumed = new Set<string>();
  readonly #objects: AssumedObjects;
  /** What the API shows, without what is only assumed. */
  readonly shown: Listers;
  readonly groups = new PodGroups();
  #nodes: NodeInfo[] | undefined;

  constructor(listers: Listers) {
    this.shown = listers;
    this.#objects = new AssumedObjects(listers);
  }

  get nodes(): readonly NodeInfo[] {
    this.#nodes ??= [...this.#nodesByName.values()].filter((info) => info.isKnown);
    return this.#nodes;
  }

  list<T>(resource: string, namespace?: string): readonly T[] {
    return this.#objects.list(resource, namespace);
  }

  get<T>(resource: string, namespace: string, name: string): T | undefined {
    return this.#objects.get(resource, namespace, name);
  }

  /** What a decision for this pod takes besides its node. */
  reserveFor(pod: Pod): ReserveView {
    const uid = pod.metadata.uid ?? "";
    return {
      list: (resource, namespace) => this.list(resource, namespace),
      get: (resource, namespace, name) => this.get(resource, namespace, name),
      assume: (resource, object) => this.#objects.add(uid, resource, object),
    };
  }

  assumedFor<T>(uid: string, resource: string): T[] {
    return this.#objects.of<T>(uid, resource);
  }

  node(name: string): NodeInfo | undefined {
    return this.#nodesByName.get(name);
  }

  nodeNamed(name: string): NodeInfo | undefined {
    const info = this.#nodesByName.get(name);
    return info?.isKnown ? info : undefined;
  }

  setNode(node: Node): void {
    this.#info(node.metadata.name ?? "").setNode(node);
    this.#nodes = undefined;
  }

  removeNode(name: string): void {
    const info = this.#nodesByName.get(name);
    if (!info) return;
    info.setNode(undefined);
    if (info.isEmpty) this.#nodesByName.delete(name);
    this.#nodes = undefined;
  }

  /** The API server shows the pod bound: the truth replaces an assumption. */
  setPod(pod: Pod): void {
    const uid = pod.metadata.uid ?? "";
    this.#assumed.delete(uid);
    if (!pod.spec?.nodeName || isTerminal(pod)) return this.removePod(uid);
    this.#place(pod, pod.spec.nodeName);
  }

  removePod(uid: string): void {
    this.#assumed.delete(uid);
    const place = this.#placeByUid.get(uid);
    if (!place) return;
    this.#placeByUid.delete(uid);
    this.groups.remove(place.pod, place.nodeName);
    const info = this.#nodesByName.get(place.nodeName);
    info?.removePod(uid);
    if (info?.isEmpty) this.#nodesByName.delete(place.nodeName);
  }

  assume(pod: Pod, nodeName: string): void {
    this.#assumed.add(pod.metadata.uid ?? "");
    this.#place(pod, nodeName);
  }

  /** The binding failed: forget the assumption, unless the watch has confirmed it meanwhile. */
  forget(uid: string): void {
    this.#objects.forget(uid);
    if (this.#assumed.has(uid)) this.removePod(uid);
  }

  isAssumed(uid: string): boolean {
    return this.#assumed.has(uid);
  }

  #place(pod: Pod, nodeName: string): void {
    const uid = pod.metadata.uid ?? "";
    const before = this.#placeByUid.get(uid);
    if (before) this.groups.remove(before.pod, before.nodeName);
    if (before && before.nodeName !== nodeName) this.#nodesByName.get(before.nodeName)?.removePod(uid);
    this.#placeByUid.set(uid, { pod, nodeName });
    this.groups.add(pod, nodeName);
    this.#info(nodeName).addPod(pod);
  }

  #info(name: string): NodeInfo {
    let info = this.#nodesByName.get(name);
    if (!info) {
      info = new NodeInfo(name);
      this.#nodesByName.set(name, info);
    }
    return info;
  }
}
