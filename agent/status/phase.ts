// The phase of a pod from the states of its containers, case by case as upstream decides it.

import type { ContainerStatus } from "../../plugins/kit/kube/objects/types.ts";
import { type AgentPod, isSidecar, isStaticPod } from "../model/agent-pod.ts";
import type { PodPhase } from "../model/phase.ts";

interface Tally {
  pendingInit: number;
  pendingSidecars: number;
  failedInit: number;
  unknown: number;
  running: number;
  waiting: number;
  stopped: number;
  succeeded: number;
}

/** `isTerminal` says that no container will be started again, whatever the restart policy. */
export function phaseOf(pod: AgentPod, statuses: readonly ContainerStatus[], isTerminal: boolean): PodPhase {
  const byName = new Map(statuses.map((status) => [status.name, status]));
  const tally: Tally = {
    pendingInit: 0,
    pendingSidecars: 0,
    failedInit: 0,
    unknown: 0,
    running: 0,
    waiting: 0,
    stopped: 0,
    succeeded: 0,
  };
  for (const container of pod.spec.initContainers ?? []) {
    const status = byName.get(container.name);
    if (isSidecar(container)) countSidecar(tally, status);
    else countInit(tally, status);
  }
  for (const container of pod.spec.containers) countRegular(tally, byName.get(container.name));

  const { restartPolicy } = pod.spec;
  if (tally.failedInit > 0 && restartPolicy === "Never") return "Failed";
  // Sidecars that restart do not put a pod back to Pending whose regular containers have run.
  const hasStarted = hasAnyRegularStarted(pod, byName);
  if (tally.pendingInit > 0 || (tally.pendingSidecars > 0 && !hasStarted) || tally.waiting > 0) return "Pending";
  if (tally.running > 0 && tally.unknown === 0) return "Running";
  if (tally.running > 0 || tally.stopped === 0 || tally.unknown > 0) return "Pending";
  const allSucceeded = tally.stopped === tally.succeeded;
  if (isTerminal && !isStaticPod(pod)) return allSucceeded ? "Succeeded" : "Failed";
  if (restartPolicy !== "Never" && restartPolicy !== "OnFailure") return "Running";
  if (allSucceeded) return "Succeeded";
  return restartPolicy === "Never" ? "Failed" : "Running";
}

export function hasAnyRegularStarted(pod: AgentPod, byName: ReadonlyMap<string, ContainerStatus>): boolean {
  return pod.spec.containers.some((container) => {
    const status = byName.get(container.name);
    return Boolean(status?.lastState?.terminated || status?.state?.running || status?.state?.terminated);
  });
}

function countInit(tally: Tally, status: ContainerStatus | undefined): void {
  const ended = status?.state?.terminated ?? (status?.state?.waiting ? status.lastState?.terminated : undefined);
  if (!ended) tally.pendingInit++;
  else if (ended.exitCode !== 0) tally.failedInit++;
}

function countSidecar(tally: Tally, status: ContainerStatus | undefined): void {
  if (!status) tally.unknown++;
  else if (status.state?.running) {
    if (!status.started) tally.pendingSidecars++;
    tally.running++;
  } else if (status.state?.waiting) {
    if (status.lastState?.terminated) return;
    tally.pendingSidecars++;
    tally.waiting++;
  } else if (!status.state?.terminated) {
    tally.pendingSidecars++;
    tally.unknown++;
  }
}

function countRegular(tally: Tally, status: ContainerStatus | undefined): void {
  if (status?.state?.running) tally.running++;
  else if (status?.state?.terminated) {
    tally.stopped++;
    if (status.state.terminated.exitCode === 0) tally.succeeded++;
  } else if (status?.state?.waiting) {
    if (status.lastState?.terminated) tally.stopped++;
    else tally.waiting++;
  } else tally.unknown++;
}
