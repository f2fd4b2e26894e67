// Who makes the groups of pods: the agent itself, by files (`cgroupfs-driver.ts`), or systemd as slices (`systemd-driver.ts`). It must be
// the one that the runtime uses for containers.

import type { Call } from "../../plugins/kit/base/call.ts";
import type { CgroupLimits } from "./cgroup-files.ts";

/** A group by its parts from the top, in no driver's spelling: `skiff`, `kubepods`, `burstable`, `pod1-2`. */
export type GroupName = readonly string[];

export interface CgroupDriver {
  readonly name: "cgroupfs" | "systemd";
  /** The group as a runtime takes it for the parent of containers. */
  parent(group: GroupName): string;
  /** Makes the group where it is missing, and sets what is said of its limits. */
  make(group: GroupName, limits: CgroupLimits, call: Call): Promise<void>;
  /** For a group that is there. */
  limit(group: GroupName, limits: CgroupLimits, call: Call): Promise<void>;
  /** Removes it with everything below. False while processes are still in it: then it stays. One that is not there is gone. */
  remove(group: GroupName, call: Call): Promise<boolean>;
  /** Sends SIGKILL to every process in it and below; returns their ids. */
  kill(group: GroupName): readonly number[];
  /** The last parts of the groups right below, from the kernel. */
  children(group: GroupName): string[];
  /** Processes and threads in it and below; 0 when it is not there or nobody counts. */
  processes(group: GroupName): number;
  /** Lets go of connections; groups stay. May be called twice. */
  close(): void;
}
