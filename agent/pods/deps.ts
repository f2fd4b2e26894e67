// The collaborators of pod workers, given once. Small contracts, so that each can be replaced in a test.

import type { Runtime } from "../../cri/api/contract.ts";
import type { Call } from "../../plugins/kit/base/call.ts";
import type { Clock } from "../../plugins/kit/base/clock.ts";
import type { PodHook } from "../../plugins/kit/contracts/hook.ts";
import type { Log } from "../../plugins/kit/base/log.ts";
import type { ReferencedObjects } from "../containers/environment.ts";
import type { ImageManager } from "../images/image-manager.ts";
import type { Pleg } from "../pleg/pleg.ts";
import type { ProbeManager } from "../probes/probe-manager.ts";
import type { AgentMeters } from "../runtime/agent-meters.ts";
import type { StatusManager } from "../status/manager.ts";
import type { VolumeManager } from "../volumes/contract.ts";
import type { AgentPod } from "../model/agent-pod.ts";
import type { NodeFacts } from "../node/contract.ts";
import type { Recorder } from "../model/recorder.ts";
import type { NodeResources } from "../resources/contract.ts";

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
