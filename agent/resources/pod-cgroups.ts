// The tree of pods' cgroups: guaranteed pods on top, burstable and best-effort ones each below a group of their own.

import { join } from "node:path";
import type { Call } from "../../plugins/kit/call.ts";
import type { Clock } from "../../plugins/kit/clock.ts";
import { Fault } from "../../plugins/kit/fault.ts";
import { podLimits, sharesOf } from "../containers/resources.ts";
import type { AgentPod } from "../pods/agent-pod.ts";
import { type QosClass, qosClassOf } from "../status/qos.ts";
import type { CgroupFiles } from "./cgroup-files.ts";

const folders: Record<QosClass, string> = { Guaranteed: "", Burstable: "burstable", BestEffort: "besteffort" };
// A process that has been killed leaves its group within moments.
const removeTries = 100;
const removePauseMs = 20;

export interface PodCgroupsOptions {
  readonly files: CgroupFiles;
  /** Everything lies below it; empty leaves cgroups to the runtime. */
  readonly root: string;
  /** With systemd as the driver, groups are slices that it makes itself. */
  readonly driver: "cgroupfs" | "systemd";
  readonly clock: Clock;
  readonly pods: () => readonly AgentPod[];
  /** Processes and threads of a pod; nothing above 0 is no limit. */
  readonly podPids: number;
  /** The kernel holds pods to what is allowed from now on. */
  readonly onEnforced?: () => void;
  /** What pods together may use, in thousandths of a CPU and bytes. */
  readonly allowed: () => { milliCpu: bigint; memoryBytes: bigint };
}

export class PodCgroups {
  readonly #options: PodCgroupsOptions;
  #isMade = false;
  #burstableShares = -1n;

  constructor(options: PodCgroupsOptions) {
    this.#options = options;
  }

  /** As the runtime takes it; empty leaves it to the runtime. */
  parentOf(pod: AgentPod): string {
    const { root, driver } = this.#options;
    if (!root) return "";
    const folder = folders[qosOf(pod)];
    if (driver === "systemd") {
      const name = ["kubepods", ...(folder ? [folder] : []), `pod${pod.metadata.uid.replaceAll("-", "_")}`];
      return `${name.join("-")}.slice`;
    }
    return this.#path(folder, pod.metadata.uid);
  }

  async prepare(pod: AgentPod): Promise<void> {
    const { root, driver, files, podPids } = this.#options;
    if (!root || driver === "systemd") return;
    this.#makeTree();
    const path = this.#path(folders[qosOf(pod)], pod.metadata.uid);
    files.make(path);
    files.limit(path, { ...podLimits(pod), pids: podPids });
    this.#balance(pod);
  }

  /** From the uid alone, whatever class the pod was of. */
  async release(podUid: string, call: Call): Promise<void> {
    const { root, driver, files, clock } = this.#options;
    if (!root || driver === "systemd") return;
    const paths = Object.values(folders).map((folder) => this.#path(folder, podUid));
    for (let left = removeTries; !paths.map((path) => files.remove(path)).every(Boolean); left--) {
      if (left === 0)
        throw new Fault("unavailable", `Cannot remove the cgroup of pod ${podUid}: processes are still in it`);
      await clock.sleep(removePauseMs, call);
    }
    this.#balance(undefined);
  }

  /** Uids of pods that have a cgroup, from the kernel: what an earlier agent left behind. */
  uids(): string[] {
    const { root, driver, files } = this.#options;
    if (!root || driver === "systemd") return [];
    return Object.values(folders)
      .flatMap((folder) => files.children(join(root, "kubepods", folder)))
      .filter((name) => name.startsWith("pod"))
      .map((name) => name.slice("pod".length));
  }

  /** How many processes and threads the pod has; 0 where nobody counts them. */
  processes(podUid: string): number {
    const { root, driver, files } = this.#options;
    if (!root || driver === "systemd") return 0;
    return Math.max(...Object.values(folders).map((folder) => files.processes(this.#path(folder, podUid))));
  }

  /** When no pod is left. What is still in use stays. */
  removeTree(): void {
    const { root, driver, files } = this.#options;
    if (root && driver !== "systemd") files.remove(root);
    this.#isMade = false;
  }

  #path(folder: string, uid: string): string {
    return join("/", this.#options.root, "kubepods", folder, `pod${uid}`);
  }

  #makeTree(): void {
    if (this.#isMade) return;
    const { files, root, allowed } = this.#options;
    const top = join("/", root, "kubepods");
    for (const folder of Object.values(folders)) files.make(join(top, folder));
    const { milliCpu, memoryBytes } = allowed();
    files.limit(top, { cpuShares: sharesOf(milliCpu), memoryBytes });
    files.limit(join(top, "besteffort"), { cpuShares: 2n });
    this.#isMade = true;
    this.#options.onEnforced?.();
  }

  /** Burstable pods share what they asked for together. */
  #balance(coming: AgentPod | undefined): void {
    const { files, root, pods } = this.#options;
    const all = new Map(pods().map((pod) => [pod.metadata.uid, pod]));
    if (coming) all.set(coming.metadata.uid, coming);
    let shares = 0n;
    for (const pod of all.values()) if (qosOf(pod) === "Burstable") shares += podLimits(pod).cpuShares;
    const bounded = shares < 2n ? 2n : shares > 262_144n ? 262_144n : shares;
    if (bounded === this.#burstableShares || !this.#isMade) return;
    this.#burstableShares = bounded;
    files.limit(join("/", root, "kubepods", "burstable"), { cpuShares: bounded });
  }
}

function qosOf(pod: AgentPod): QosClass {
  return pod.status?.qosClass ?? qosClassOf(pod.spec);
}
