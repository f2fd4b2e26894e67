// The static CPU policy: containers of guaranteed pods that ask for whole CPUs get CPUs of their own; all others share the rest.

import { availableParallelism } from "node:os";
import type { Container } from "../../plugins/kit/kube/objects/types.ts";
import { parseQuantity, quantityMilli } from "../../plugins/kit/kube/quantity.ts";
import type { AgentPod } from "../model/agent-pod.ts";
import { qosClassOf } from "../model/qos.ts";

/** `0-2,5` and back. */
export function parseCpus(text: string): number[] {
  return text
    .split(",")
    .filter((part) => part !== "")
    .flatMap((part) => {
      const [first = 0, last = first] = part.split("-").map(Number);
      return Array.from({ length: last - first + 1 }, (_, index) => first + index);
    });
}

export function formatCpus(cpus: readonly number[]): string {
  const sorted = [...cpus].sort((a, b) => a - b);
  const parts: string[] = [];
  for (let at = 0; at < sorted.length; at++) {
    const first = sorted[at] as number;
    while (sorted[at + 1] === (sorted[at] as number) + 1) at++;
    const last = sorted[at] as number;
    parts.push(first === last ? String(first) : `${first}-${last}`);
  }
  return parts.join(",");
}

export interface CpuManagerOptions {
  readonly policy: "none" | "static";
  readonly reserved: readonly number[];
  readonly cpus?: readonly number[];
  /** Told the CPUs that everybody shares whenever they change. */
  readonly onShared: (cpuset: string) => void;
}

export class CpuManager {
  readonly #options: CpuManagerOptions;
  readonly #all: readonly number[];
  /** By pod uid and container name. */
  readonly #own = new Map<string, readonly number[]>();

  constructor(options: CpuManagerOptions) {
    this.#options = options;
    this.#all = options.cpus ?? Array.from({ length: availableParallelism() }, (_, index) => index);
  }

  /** The container's cpuset; empty under the `none` policy. */
  allot(pod: AgentPod, container: Container): string {
    if (this.#options.policy === "none") return "";
    const key = `${pod.metadata.uid}/${container.name}`;
    const known = this.#own.get(key);
    if (known) return formatCpus(known);
    const wanted = wholeCpus(pod, container);
    const { reserved } = this.#options;
    const shared = this.shared();
    const inherited = this.#inheritable(pod);
    const free = [...inherited, ...shared.filter((cpu) => !reserved.includes(cpu))];
    // One CPU always stays for everybody else.
    const fromShared = Math.max(0, wanted - inherited.length);
    if (wanted === 0 || free.length < wanted || shared.length - fromShared < 1) return formatCpus(shared);
    const own = free.slice(0, wanted);
    this.#own.set(key, own);
    this.#options.onShared(formatCpus(this.shared()));
    return formatCpus(own);
  }

  /** Takes over what a container had before the agent was restarted. */
  adopt(podUid: string, containerName: string, cpuset: string): void {
    const cpus = parseCpus(cpuset);
    if (this.#options.policy === "static" && cpus.length > 0) this.#own.set(`${podUid}/${containerName}`, cpus);
  }

  isExclusive(podUid: string, containerName: string): boolean {
    return this.#own.has(`${podUid}/${containerName}`);
  }

  release(podUid: string): void {
    let isChanged = false;
    for (const key of this.#own.keys())
      if (key.startsWith(`${podUid}/`)) isChanged = this.#own.delete(key) || isChanged;
    if (isChanged) this.#options.onShared(formatCpus(this.shared()));
  }

  /** CPUs of init containers that have ended by the time another container of the pod starts; sidecars run on. */
  #inheritable(pod: AgentPod): number[] {
    const ending = new Set(
      (pod.spec.initContainers ?? [])
        .filter(({ restartPolicy }) => restartPolicy !== "Always")
        .map(({ name }) => `${pod.metadata.uid}/${name}`),
    );
    const ofPod = [...this.#own].filter(([key]) => key.startsWith(`${pod.metadata.uid}/`));
    const kept = new Set(ofPod.filter(([key]) => !ending.has(key)).flatMap(([, cpus]) => cpus));
    const left = ofPod.filter(([key]) => ending.has(key)).flatMap(([, cpus]) => cpus);
    return [...new Set(left)].filter((cpu) => !kept.has(cpu));
  }

  shared(): number[] {
    const taken = new Set([...this.#own.values()].flat());
    return this.#all.filter((cpu) => !taken.has(cpu));
  }
}

/** How many CPUs of its own the container may have: only whole ones, and only in guaranteed pods. */
function wholeCpus(pod: AgentPod, container: Container): number {
  if (qosClassOf(pod.spec) !== "Guaranteed") return 0;
  const limit = container.resources?.limits?.["cpu"];
  const milli = limit === undefined ? 0n : quantityMilli(parseQuantity(limit));
  return milli > 0n && milli % 1000n === 0n ? Number(milli / 1000n) : 0;
}
