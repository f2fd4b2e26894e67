// Pods of this node that have their addresses while the API's copy does not tell them yet. Nothing runs in such a pod until the rules
// for it are in the kernel: policies hold from its first packet on.

import type { Pod } from "../../kit/kube/objects/types.ts";

interface Arrival {
  readonly pod: Pod;
  readonly ips: readonly string[];
  readonly admitted: () => void;
}

const keyOf = ({ metadata }: Pod) => `${metadata.namespace}/${metadata.name}`;

export class Arrivals {
  readonly #byKey = new Map<string, Arrival>();
  #isNew = false;

  /** Whether somebody came since the last look. */
  get isNew(): boolean {
    return this.#isNew;
  }

  /** Resolves when rules that know of the pod hold. */
  add(pod: Pod, ips: readonly string[]): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#byKey.get(keyOf(pod))?.admitted();
    this.#byKey.set(keyOf(pod), { pod, ips, admitted: resolve });
    this.#isNew = true;
    return promise;
  }

  /** All pods, with those that are arriving as if their status told where; and what to call when rules made of them hold. */
  merge(stored: readonly Pod[], nodeName: string): { pods: readonly Pod[]; admit: () => void } {
    this.#isNew = false;
    if (this.#byKey.size === 0) return { pods: stored, admit: () => {} };
    const pods = new Map(stored.map((pod) => [keyOf(pod), pod]));
    const admitted: (() => void)[] = [];
    for (const [key, { pod, ips, admitted: one }] of this.#byKey) {
      const known = pods.get(key);
      admitted.push(one);
      if (known && tells(known, ips)) this.#byKey.delete(key);
      else pods.set(key, arrived(known ?? pod, ips, nodeName));
    }
    const admit = () => {
      for (const one of admitted) one();
    };
    return { pods: [...pods.values()], admit };
  }

  forget(pod: Pod): void {
    this.#byKey.get(keyOf(pod))?.admitted();
    this.#byKey.delete(keyOf(pod));
  }

  /** Nobody looks any more: whoever waits may go on. */
  close(): void {
    for (const { admitted } of this.#byKey.values()) admitted();
    this.#byKey.clear();
  }
}

function tells({ status }: Pod, ips: readonly string[]): boolean {
  const told = new Set([status?.podIP, ...(status?.podIPs ?? []).map(({ ip }) => ip)]);
  return ips.every((ip) => told.has(ip));
}

function arrived(pod: Pod, ips: readonly string[], nodeName: string): Pod {
  return {
    ...pod,
    spec: { ...pod.spec, nodeName } as NonNullable<Pod["spec"]>,
    status: { ...pod.status, phase: "Pending", podIPs: ips.map((ip) => ({ ip })) },
  };
}
