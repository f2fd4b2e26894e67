// The collaborators of pod workers, given once. Small contracts, so that each can be replaced in a test.

import type { Runtime } from "../../cri/api/contract.ts";
import type { Device } from "../../cri/api/gen/runtime.js";
import type { Call } from "../../plugins/kit/call.ts";
import type { Clock } from "../../plugins/kit/clock.ts";
import type { PodHook } from "../../plugins/kit/hook.ts";
import type { Log } from "../../plugins/kit/log.ts";
import type { Container } from "../../plugins/kit/objects/types.ts";
import type { ReferencedObjects } from "../containers/environment.ts";
import type { ImageManager } from "../images/image-manager.ts";
import type { Pleg } from "../pleg/pleg.ts";
import type { ProbeManager } from "../probes/probe-manager.ts";
import type { AgentMeters } from "../stats/agent-meters.ts";
import type { StatusManager } from "../status/manager.ts";
import type { Verdict } from "../status/pod-status.ts";
import type { VolumeManager } from "../volumes/contract.ts";
import type { AgentPod } from "./agent-pod.ts";
import type { NodeFacts } from "./node-facts.ts";
import type { Recorder } from "./recorder.ts";
import type { RefusedResize } from "./resize.ts";

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

export interface PodDeps {
  readonly runtime: Runtime;
  readonly meters?: AgentMeters;
  /** The prefix of container ids, as the runtime calls itself. */
  readonly runtimeName: string;
  readonly pleg: Pleg;
  readonly images: ImageManager;
  readonly volumes: VolumeManager;
  readonly probes: ProbeManager;
  readonly statuses: StatusManager;
  readonly objects: ReferencedObjects;
  /** The handler behind the pod's runtime class; empty for the default one. */
  readonly runtimeHandler: (pod: AgentPod, call: Call) => Promise<string>;
  readonly hooks: readonly PodHook[];
  readonly resources: NodeResources;
  readonly node: NodeFacts;
  readonly recorder: Recorder;
  readonly clock: Clock;
  readonly log: Log;
}
