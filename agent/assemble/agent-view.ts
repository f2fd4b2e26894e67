// What the agent shows of itself to its HTTP API: pods, containers and health, all from memory.

import { mkdirSync } from "node:fs";
import { join } from "node:path";
import type { Runtime } from "../../cri/api/contract.ts";
import type { Call } from "../../plugins/kit/base/call.ts";
import { Fault } from "../../plugins/kit/base/fault.ts";
import type { AgentConfig } from "../config/agent-config.ts";
import { kubeletConfiguration } from "../config/kubelet-configuration.ts";
import type { ObservedPod } from "../model/observed.ts";
import type { Pleg } from "../pleg/pleg.ts";
import type { AgentPod } from "../model/agent-pod.ts";
import type { EventLog } from "../pods/event-log.ts";
import type { PodWorkers } from "../pods/pod-workers.ts";
import type { LatestAnswers } from "../probes/latest.ts";
import type { AgentView, ContainerHandle } from "../server/contract.ts";
import { apiTime } from "../model/times.ts";

export interface AgentViewOptions {
  readonly config: AgentConfig;
  readonly runtime: Runtime;
  readonly pleg: Pleg;
  readonly workers: PodWorkers;
  readonly events: EventLog;
  readonly probes: LatestAnswers;
  readonly mirrorOf: (pod: AgentPod) => AgentPod | undefined;
  readonly nowMs: () => number;
}

export function agentView(options: AgentViewOptions): AgentView {
  const { config, runtime, pleg, workers } = options;
  const pod = (namespace: string, name: string, uid?: string): AgentPod | undefined => {
    const found = workers.list().filter(({ metadata }) => metadata.namespace === namespace && metadata.name === name);
    if (!uid) return found.at(-1);
    return found.find((other) => other.metadata.uid === uid || options.mirrorOf(other)?.metadata.uid === uid);
  };
  const knownPod = (address: { namespace: string; pod: string; uid?: string }): AgentPod => {
    const found = pod(address.namespace, address.pod, address.uid);
    if (!found) throw new Fault("not-found", `pod "${address.pod}" not found`);
    return found;
  };
  const observedOf = (known: AgentPod): ObservedPod | undefined => pleg.peek(known.metadata.uid);
  const container = (address: { namespace: string; pod: string; uid?: string; container: string }): ContainerHandle => {
    const known = knownPod(address);
    const generations = (observedOf(known)?.containers ?? []).filter(({ name }) => name === address.container);
    const [newest, previous] = generations;
    if (newest) return { pod: known, sandboxId: newest.sandboxId, container: newest, previous };
    const { spec } = known;
    const all = [...spec.containers, ...(spec.initContainers ?? []), ...(spec.ephemeralContainers ?? [])];
    if (!all.some(({ name }) => name === address.container)) {
      throw new Fault("not-found", `container "${address.container}" not found in pod "${address.pod}"`);
    }
    const { containerStatuses = [], initContainerStatuses = [], ephemeralContainerStatuses = [] } = known.status ?? {};
    const status = [...containerStatuses, ...initContainerStatuses, ...ephemeralContainerStatuses].find(
      ({ name }) => name === address.container,
    );
    const why = status?.state?.waiting?.reason ?? "ContainerCreating";
    throw new Fault("invalid", `container "${address.container}" in pod "${address.pod}" is waiting to start: ${why}`);
  };
  return {
    nodeName: config.nodeName,
    runtime,
    nodeLogDir: "/var/log",
    pods: () => workers.list(),
    pod,
    observed: () => pleg.all(),
    container,
    sandbox(address) {
      const known = knownPod(address);
      const sandboxId = observedOf(known)?.sandboxes.find(({ isReady }) => isReady)?.id;
      if (!sandboxId) throw new Fault("not-found", `pod "${address.pod}" has no running sandbox`);
      return { pod: known, sandboxId };
    },
    events: (uid) => options.events.of(uid),
    probes: (uid) => options.probes.of(uid),
    unhealthy: () => pleg.unhealthy(),
    configz: () => kubeletConfiguration(config),
    async checkpoint(address, seconds, call: Call) {
      const handle = container(address);
      const stamp = apiTime(options.nowMs()).replaceAll(":", "-");
      const folder = join(config.dataDir, "checkpoints");
      // What is in a container's memory is nobody else's to read.
      mkdirSync(folder, { recursive: true, mode: 0o700 });
      const location = join(folder, `checkpoint-${address.pod}_${address.namespace}-${address.container}-${stamp}.tar`);
      await runtime.runtime.checkpointContainer(
        { containerId: handle.container.id, location, timeout: BigInt(seconds) },
        call,
      );
      return location;
    },
  };
}
