// What the kubelet's HTTP API asks of the agent. The server reads; it changes nothing but through the runtime's own streaming calls.

import type { Call } from "../../plugins/kit/base/call.ts";
import type { Runtime } from "../../cri/api/contract.ts";
import type { ObservedContainer, ObservedPod } from "../model/observed.ts";
import type { AgentPod } from "../model/agent-pod.ts";
import type { LoggedEvent } from "../pods/event-log.ts";
import type { LatestAnswer } from "../probes/latest.ts";

export interface ContainerHandle {
  readonly pod: AgentPod;
  readonly sandboxId: string;
  readonly container: ObservedContainer;
  /** The generation before this one, for `previous=true`. */
  readonly previous: ObservedContainer | undefined;
}

export interface AgentView {
  readonly nodeName: string;
  readonly runtime: Runtime;
  /** The folder that `/logs/` serves. */
  readonly nodeLogDir: string;
  /** Every pod the agent was told to run, static ones included, with the newest status computed here. */
  pods(): readonly AgentPod[];
  /** By namespace and name, and uid where one is given; a mirror pod's name or uid finds its static pod. */
  pod(namespace: string, name: string, uid?: string): AgentPod | undefined;
  /** What the runtime holds, whether or not it is still wanted. */
  observed(): readonly ObservedPod[];
  /**
   * The newest generation of a container, ready to be logged, entered or attached to.
   * Fault `not-found` in upstream's words when pod or container are unknown; `invalid` when it has not been started yet.
   */
  container(address: { namespace: string; pod: string; uid?: string; container: string }): ContainerHandle;
  /** The sandbox to forward ports to. Fault `not-found` when the pod has none. */
  sandbox(address: { namespace: string; pod: string; uid?: string }): { pod: AgentPod; sandboxId: string };
  /** The newest events of a pod, the last one last. */
  events(podUid: string): readonly LoggedEvent[];
  /** What each probe of a pod answered last. */
  probes(podUid: string): readonly LatestAnswer[];
  /** Undefined when well, else what is wrong; for `/healthz`. */
  unhealthy(): string | undefined;
  /** The checked configuration as `/configz` shows it, without secrets. */
  configz(): Record<string, unknown>;
  /** Checkpoints a running container into an archive and returns its path; within so many seconds, 0 for the runtime's own limit. */
  checkpoint(
    address: { namespace: string; pod: string; container: string },
    seconds: number,
    call: Call,
  ): Promise<string>;
}
