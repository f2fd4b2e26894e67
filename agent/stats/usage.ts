// What one round of sampling found: the node, its pods and their containers.

import type { CgroupSample } from "../../plugins/kit/contracts/stats-source.ts";
import type { ObservedContainer } from "../model/observed.ts";
import type { AgentPod } from "../model/agent-pod.ts";
import type { InterfaceCounters } from "./net-dev.ts";
import type { NodeSample } from "./node-sample.ts";
import type { TaskStates } from "./task-states.ts";

export interface ContainerUsage {
  readonly container: ObservedContainer;
  /** Empty where only the runtime knows it. */
  readonly cgroup: string;
  readonly sample: CgroupSample;
  /** Billionths of a CPU since the sample before; absent with the first. */
  readonly nanoCores?: number;
  /** What its threads are doing, and the load they make; absent where only the runtime knows its cgroup. */
  readonly tasks?: TaskStates & { readonly load: number };
}

export interface PodUsage {
  readonly pod: AgentPod;
  readonly cgroup: string;
  /** Of the pod's own cgroup, or the sum of its containers where it has none. */
  readonly sample: CgroupSample;
  readonly nanoCores?: number;
  /** Absent on the host's network. */
  readonly network?: readonly InterfaceCounters[];
  readonly containers: readonly ContainerUsage[];
}

export interface Snapshot {
  /** Wall time in milliseconds. */
  readonly at: number;
  readonly node: NodeSample;
  readonly nodeNanoCores?: number;
  readonly pods: readonly PodUsage[];
}
