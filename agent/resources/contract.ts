// What pod workers ask of the node's resources: admission, allotments, and the pod's cgroup.

import type { Device } from "../../cri/api/gen/runtime.js";
import type { Call } from "../../plugins/kit/base/call.ts";
import type { Container } from "../../plugins/kit/kube/objects/types.ts";
import type { AgentPod } from "../model/agent-pod.ts";
import type { RefusedResize } from "../model/resize.ts";
import type { Verdict } from "../model/verdict.ts";

/** What a container gets beyond its spec from the node: devices, CPUs of its own. */
export interface Allotment {
  readonly devices: readonly Device[];
  readonly cdiDevices: readonly string[];
  readonly annotations: Readonly<Record<string, string>>;
  readonly environment: ReadonlyMap<string, string>;
  readonly mounts: readonly { containerPath: string; hostPath: string; readOnly: boolean }[];
  readonly cpuset: string;
}

export const nothingAllotted: Allotment = {
  devices: [],
  cdiDevices: [],
  annotations: {},
  environment: new Map(),
  mounts: [],
  cpuset: "",
};

/** Undefined when the pod fits; otherwise why it is refused, or those that must be gone before it fits. */
export type Admission = Verdict | { readonly preempt: readonly AgentPod[] } | undefined;

/** Resources that the node gives out: capacity, devices, CPUs and the pod's cgroup. */
export interface NodeResources {
  /** `others` are the pods that were admitted before. */
  admit(pod: AgentPod, others: readonly AgentPod[]): Admission;
  /** Undefined when there is room for what a running pod asks for now. */
  refuseResize(pod: AgentPod, others: readonly AgentPod[]): RefusedResize | undefined;
  /** Makes the pod's cgroup; idempotent. */
  preparePod(pod: AgentPod, call: Call): Promise<void>;
  allot(pod: AgentPod, container: Container, call: Call): Promise<Allotment>;
  /** Gives everything of the pod back, its cgroup included; works from the uid alone. */
  releasePod(podUid: string, call: Call): Promise<void>;
}
