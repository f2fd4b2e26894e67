// The agent's composition root: opening starts everything, closing stops it and leaves the containers running. What the parts stand on,
// how they are joined and how they run is in `assemble/agent-*.ts`.

import type { Runtime } from "../../cri/api/contract.ts";
import type { Call } from "../../plugins/kit/base/call.ts";
import type { Fetch } from "../../plugins/kit/kube/client/api-client.ts";
import type { Clock } from "../../plugins/kit/base/clock.ts";
import type { Log } from "../../plugins/kit/base/log.ts";
import type { Node } from "../../plugins/kit/kube/objects/types.ts";
import type { AnyPlugin } from "../../plugins/kit/base/plugin.ts";
import type { OpenedPlugins } from "../../plugins/kit/base/registry.ts";
import { agentView } from "./agent-view.ts";
import type { AgentConfig } from "../config/agent-config.ts";
import type { CredentialSource } from "../images/image-manager.ts";
import type { ProbeCounts } from "../probes/counts.ts";
import type { AgentPod } from "../model/agent-pod.ts";
import { takeDownPods } from "../pods/take-down.ts";
import type { AgentMeters } from "../runtime/agent-meters.ts";
import type { AgentView } from "../server/contract.ts";
import type { NodeObjects } from "../sources/node-objects.ts";
import type { VolumeManager } from "../volumes/contract.ts";
import { openBase } from "./agent-base.ts";
import { openParts } from "./agent-parts.ts";
import { runParts } from "./agent-runs.ts";

export interface AgentOptions {
  readonly config: AgentConfig;
  readonly runtime: Runtime;
  /** How the API server is reached; absent on a node with static pods alone. */
  readonly api?: { readonly fetch: Fetch; readonly server?: string };
  /** Volumes, hooks, daemons and what they need. */
  readonly plugins: readonly AnyPlugin[];
  readonly pluginSettings?: Readonly<Record<string, unknown>>;
  readonly credentialSources?: readonly CredentialSource[];
  /** Told of this node's object whenever the API shows it: its pod addresses may have come. */
  readonly onNode?: (node: Node) => void;
  readonly log: Log;
  readonly clock?: Clock;
}

export interface Agent {
  readonly nodeName: string;
  readonly view: AgentView;
  readonly plugins: OpenedPlugins;
  readonly volumes: VolumeManager;
  readonly objects: NodeObjects;
  /** The pod's cgroup as the runtime is told; empty when that is left to the runtime. */
  cgroupOf(pod: AgentPod): string;
  readonly probeCounts: ProbeCounts;
  /** What it did and how long that took. */
  readonly meters: AgentMeters;
  /** The node's object as the API has it. */
  node(): Node | undefined;
  isReady(): boolean;
  /** Images have come by another way than a pull: pods that wait for one go on. */
  imagesArrived(): void;
  /** Ends every pod, critical ones last, as for a machine that is switched off. */
  shutDown(call: Call): Promise<void>;
  /** The machine stays up after all: pods may come again. */
  cancelShutdown(): void;
  /** Ends every pod and removes what is left of them; those that do not end before the call does are killed. */
  stopPods(call: Call): Promise<void>;
  /** Stops the agent; containers run on. May be called twice. */
  close(): Promise<void>;
}

export async function openAgent(options: AgentOptions): Promise<Agent> {
  const base = await openBase(options);
  const parts = await openParts(base, options);
  const ended = runParts(base, parts, options.onNode);
  const { config, runtime, clock, log, recorder, meters } = base;
  const { pleg, workers, volumes, plugins, objects, nodes, nodeResources, deps, mirrorOf } = parts;
  let closing: Promise<void> | undefined;
  const stopWorking = async () => {
    base.stop.abort(new Error("the agent is closing"));
    deps.probes.close();
    base.closeRecorder();
    await ended();
  };
  const close = async () => {
    await stopWorking();
    await plugins.close();
    nodeResources.close();
  };
  return {
    nodeName: config.nodeName,
    view: agentView({
      config: { ...config, cgroupDriver: nodeResources.cgroupDriver },
      runtime,
      pleg,
      workers,
      events: recorder,
      probes: deps.probes.latest,
      mirrorOf,
      nowMs: () => clock.now(),
    }),
    plugins,
    volumes,
    objects,
    cgroupOf: (pod) => nodeResources.cgroupParent(pod),
    probeCounts: deps.probes.counts,
    meters,
    node: () => nodes.node(),
    isReady: () => nodes.isReady,
    imagesArrived: () => workers.wakeAll(),
    shutDown: (inner) => nodeResources.shutDown(inner),
    cancelShutdown: () => nodeResources.cancelShutdown(),
    stopPods: (inner) =>
      takeDownPods({ workers, runtime: runtime.runtime, volumes, nodeResources, clock, log, stopWorking }, inner),
    close: () => (closing ??= close()),
  };
}
