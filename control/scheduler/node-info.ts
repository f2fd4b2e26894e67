// One node of the scheduler's snapshot: its pods and their sums, kept up to date pod by pod.

import { type HostPort, hostPortsOf } from "../../plugins/kit/kube/host-ports.ts";
import type { Node, Pod } from "../../plugins/kit/kube/objects/types.ts";
import { amountsOf, podRequests, podWeight } from "../../plugins/kit/kube/pod-requests.ts";
import type { Amounts, NodeView } from "../../plugins/kit/contracts/scheduling.ts";

const cpuAndMemory = ["cpu", "memory"];

const onePod: Amounts = new Map([["pods", 1]]);

function change(amounts: Map<string, number>, by: Amounts, sign: 1 | -1): void {
  for (const [resource, amount] of by) amounts.set(resource, (amounts.get(resource) ?? 0) + sign * amount);
}

const portKey = ({ protocol, address, port }: HostPort): string => `${protocol}/${address}/${port}`;

export class NodeInfo implements NodeView {
  readonly name: string;
  #node: Node | undefined;
  #podsByUid = new Map<string, Pod>();
  #pods: Pod[] | undefined;
  #affine: Pod[] | undefined;
  #antiAffine: Pod[] | undefined;
  #requested = new Map<string, number>();
  #weight = new Map<string, number>();
  #allocatable: Amounts = new Map();
  #hostPorts: Set<string> | undefined;
  #images: ReadonlyMap<string, number> = new Map();

  constructor(name: string) {
    this.name = name;
  }

  /** False while only pods of it were seen: such a node is not offered. */
  get isKnown(): boolean {
    return this.#node !== undefined;
  }

  get isEmpty(): boolean {
    return this.#node === undefined && this.#podsByUid.size === 0;
  }

  get node(): Node {
    if (!this.#node) throw new Error(`node "${this.name}" is not known`);
    return this.#node;
  }

  get pods(): readonly Pod[] {
    this.#pods ??= [...this.#podsByUid.values()];
    return this.#pods;
  }

  get podsWithAffinity(): readonly Pod[] {
    this.#affine ??= this.pods.filter((pod) => pod.spec?.affinity?.podAffinity || pod.spec?.affinity?.podAntiAffinity);
    return this.#affine;
  }

  get podsWithRequiredAntiAffinity(): readonly Pod[] {
    this.#antiAffine ??= this.pods.filter(
      (pod) => (pod.spec?.affinity?.podAntiAffinity?.requiredDuringSchedulingIgnoredDuringExecution?.length ?? 0) > 0,
    );
    return this.#antiAffine;
  }

  get requested(): Amounts {
    return this.#requested;
  }

  get weight(): Amounts {
    return this.#weight;
  }

  get allocatable(): Amounts {
    return this.#allocatable;
  }

  get images(): ReadonlyMap<string, number> {
    return this.#images;
  }

  get hostPorts(): ReadonlySet<string> {
    this.#hostPorts ??= new Set(this.pods.flatMap(hostPortsOf).map(portKey));
    return this.#hostPorts;
  }

  setNode(node: Node | undefined): void {
    this.#node = node;
    this.#allocatable = amountsOf(node?.status?.allocatable as Record<string, string> | undefined);
    const images = new Map<string, number>();
    for (const image of node?.status?.images ?? [])
      for (const name of image.names ?? []) images.set(name, image.sizeBytes ?? 0);
    this.#images = images;
  }

  has(uid: string): boolean {
    return this.#podsByUid.has(uid);
  }

  /** Adds the pod, or takes the newer version of one that is here. */
  addPod(pod: Pod): void {
    const uid = pod.metadata.uid ?? "";
    const known = this.#podsByUid.get(uid);
    if (known) this.#count(known, -1);
    this.#podsByUid.set(uid, pod);
    this.#count(pod, 1);
    this.#forgetDerived();
  }

  removePod(uid: string): void {
    const pod = this.#podsByUid.get(uid);
    if (!pod) return;
    this.#podsByUid.delete(uid);
    this.#count(pod, -1);
    this.#forgetDerived();
  }

  /** A copy that preemption may take pods from without anyone noticing. */
  clone(): NodeInfo {
    const copy = new NodeInfo(this.name);
    copy.#node = this.#node;
    copy.#allocatable = this.#allocatable;
    copy.#images = this.#images;
    copy.#podsByUid = new Map(this.#podsByUid);
    copy.#requested = new Map(this.#requested);
    copy.#weight = new Map(this.#weight);
    return copy;
  }

  #count(pod: Pod, sign: 1 | -1): void {
    change(this.#requested, podRequests(pod), sign);
    change(this.#requested, onePod, sign);
    change(this.#weight, podWeight(pod), sign);
    for (const resource of cpuAndMemory) if (!this.#requested.has(resource)) this.#requested.set(resource, 0);
  }

  #forgetDerived(): void {
    this.#pods = undefined;
    this.#affine = undefined;
    this.#antiAffine = undefined;
    this.#hostPorts = undefined;
  }
}
