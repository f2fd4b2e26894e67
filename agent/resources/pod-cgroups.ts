// The tree of pods' cgroups: guaranteed pods on top, burstable and best-effort ones each below a group of their own. Whoever makes the
// groups is behind the driver.

import { type Call, within } from "../../plugins/kit/base/call.ts";
import type { Clock } from "../../plugins/kit/base/clock.ts";
import { Fault } from "../../plugins/kit/base/fault.ts";
import { podLimits, sharesOf } from "../containers/resources.ts";
import type { AgentPod } from "../model/agent-pod.ts";
import { type QosClass, qosClassOf } from "../model/qos.ts";
import type { CgroupDriver, GroupName } from "./cgroup-driver.ts";

const classes: Record<QosClass, GroupName> = { Guaranteed: [], Burstable: ["burstable"], BestEffort: ["besteffort"] };
const removePauseMs = 20;
/** A process that has been killed leaves its cgroup within moments. */
const exitTries = 10;
const killTries = 5;
const treeMs = 30_000;

export interface PodCgroupsOptions {
  readonly driver: CgroupDriver;
  /** Everything lies below it; empty leaves cgroups to the runtime. */
  readonly root: string;
  readonly clock: Clock;
  readonly pods: () => readonly AgentPod[];
  /** Processes and threads of a pod; nothing above 0 is no limit. */
  readonly podPids: number;
  /** The kernel holds pods to what is allowed from now on. */
  readonly onEnforced?: () => void;
  /** Processes left in the cgroup after the pod's containers were gone were killed. */
  readonly onKilled?: (podUid: string, processes: number) => void;
  /** What pods together may use, in thousandths of a CPU and bytes. */
  readonly allowed: () => { milliCpu: bigint; memoryBytes: bigint };
}

export class PodCgroups {
  readonly #options: PodCgroupsOptions;
  #made: Promise<void> | undefined;
  #burstableShares = -1n;

  constructor(options: PodCgroupsOptions) {
    this.#options = options;
  }

  /** As the runtime takes it; empty leaves it to the runtime. */
  parentOf(pod: AgentPod): string {
    const { root, driver } = this.#options;
    return root ? driver.parent(this.#group(classes[qosOf(pod)], pod.metadata.uid)) : "";
  }

  async prepare(pod: AgentPod, call: Call): Promise<void> {
    const { root, driver, podPids } = this.#options;
    if (!root) return;
    await this.#makeTree();
    const group = this.#group(classes[qosOf(pod)], pod.metadata.uid);
    await driver.make(group, { ...podLimits(pod), pids: podPids }, call);
    await this.#balance(pod, call);
  }

  /**
   * From the uid alone, whatever class the pod was of. The pod's containers are gone by now: a process that is still there belongs to a
   * container that the runtime lost (containerd 1.6 forgets one whose start was cut off, and leaves its `runc init`), and is killed.
   */
  async release(podUid: string, call: Call): Promise<void> {
    if (!this.#options.root) return;
    // A process takes its time to exit, and is met again by the next attempt.
    const killed = new Set<number>();
    for (let attempt = 0; !(await this.#removeWithin(exitTries, podUid, call)); attempt++) {
      if (attempt === killTries) {
        const left = this.#groups(podUid).reduce((sum, group) => sum + this.#options.driver.processes(group), 0);
        throw new Fault(
          "unavailable",
          `failed to remove the cgroup of pod ${podUid}: ${left} processes left after SIGKILL`,
        );
      }
      for (const group of this.#groups(podUid)) for (const pid of this.#options.driver.kill(group)) killed.add(pid);
    }
    if (killed.size > 0) this.#options.onKilled?.(podUid, killed.size);
    await this.#balance(undefined, call);
  }

  /** Uids of pods that have a cgroup, from the kernel: what an earlier agent left behind. */
  uids(): string[] {
    const { root, driver } = this.#options;
    if (!root) return [];
    return Object.values(classes)
      .flatMap((folder) => driver.children([...this.#top, ...folder]))
      .filter((name) => name.startsWith("pod"))
      .map((name) => name.slice("pod".length));
  }

  /** How many processes and threads the pod has; 0 where nobody counts them. */
  processes(podUid: string): number {
    const { root, driver } = this.#options;
    if (!root) return 0;
    return Math.max(...this.#groups(podUid).map((group) => driver.processes(group)));
  }

  /** When no pod is left. What is still in use stays. */
  async removeTree(call: Call): Promise<void> {
    const { root, driver } = this.#options;
    const own = partsOf(root);
    // The top of all groups is not ours alone.
    if (root) await driver.remove(own.length > 0 ? own : this.#top, call);
    this.#made = undefined;
  }

  get #top(): GroupName {
    return [...partsOf(this.#options.root), "kubepods"];
  }

  #group(folder: GroupName, uid: string): GroupName {
    return [...this.#top, ...folder, `pod${uid}`];
  }

  /** Where the cgroup of a pod may be, by QoS class. */
  #groups(uid: string): GroupName[] {
    return Object.values(classes).map((folder) => this.#group(folder, uid));
  }

  async #removeWithin(tries: number, uid: string, call: Call): Promise<boolean> {
    for (let left = tries; !(await this.#remove(uid, call)); left--) {
      if (left === 0) return false;
      await this.#options.clock.sleep(removePauseMs, call);
    }
    return true;
  }

  async #remove(uid: string, call: Call): Promise<boolean> {
    let isGone = true;
    for (const group of this.#groups(uid)) isGone = (await this.#options.driver.remove(group, call)) && isGone;
    return isGone;
  }

  /** For every pod that comes first: one that is taken back does not spoil it for the others. */
  #makeTree(): Promise<void> {
    this.#made ??= this.#make(within(treeMs)).catch((error: unknown) => {
      this.#made = undefined;
      throw error;
    });
    return this.#made;
  }

  async #make(call: Call): Promise<void> {
    const { driver, allowed, onEnforced } = this.#options;
    const { milliCpu, memoryBytes } = allowed();
    await driver.make(this.#top, { cpuShares: sharesOf(milliCpu), memoryBytes }, call);
    await driver.make([...this.#top, ...classes.Burstable], {}, call);
    await driver.make([...this.#top, ...classes.BestEffort], { cpuShares: 2n }, call);
    onEnforced?.();
  }

  /** Burstable pods share what they asked for together. */
  async #balance(coming: AgentPod | undefined, call: Call): Promise<void> {
    const { driver, pods } = this.#options;
    const all = new Map(pods().map((pod) => [pod.metadata.uid, pod]));
    if (coming) all.set(coming.metadata.uid, coming);
    let shares = 0n;
    for (const pod of all.values()) if (qosOf(pod) === "Burstable") shares += podLimits(pod).cpuShares;
    const bounded = shares < 2n ? 2n : shares > 262_144n ? 262_144n : shares;
    if (bounded === this.#burstableShares || !this.#made) return;
    this.#burstableShares = bounded;
    try {
      await driver.limit([...this.#top, ...classes.Burstable], { cpuShares: bounded }, call);
    } catch (error) {
      // Nobody knows what holds now: the next pod sets it anew.
      this.#burstableShares = -1n;
      throw error;
    }
  }
}

function partsOf(root: string): GroupName {
  return root.split("/").filter((part) => part !== "");
}

function qosOf(pod: AgentPod): QosClass {
  return pod.status?.qosClass ?? qosClassOf(pod.spec);
}
