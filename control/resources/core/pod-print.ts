// How a pod looks in a list: readiness, the one word for its state, restarts.

import type { Container, ContainerStatus, Pod } from "../../../plugins/kit/kube/objects/types.ts";
import type { Column } from "../definition.ts";
import { age, ageColumn, column, nameColumn, since, wideColumn } from "../print.ts";

export const podColumns: readonly Column[] = [
  nameColumn,
  column("Ready", "How many containers are ready, of how many."),
  column("Status", "The state of the pod in one word."),
  column("Restarts", "How often its containers were restarted, and when last."),
  ageColumn,
  wideColumn("IP", "The pod's address."),
  wideColumn("Node", "The node it is assigned to."),
  wideColumn("Nominated Node", "The node where room is being made for it."),
  wideColumn("Readiness Gates", "How many of its extra readiness conditions hold."),
];

interface Summary {
  reason: string;
  ready: number;
  restarts: number;
  restartedAt: number;
}

export function podCells(pod: Pod, now: number): unknown[] {
  const inits = pod.spec?.initContainers ?? [];
  const total = (pod.spec?.containers.length ?? 0) + inits.filter(isSidecar).length;
  const summary = summarize(pod, inits);
  const { restarts, restartedAt } = summary;
  return [
    pod.metadata.name,
    `${summary.ready}/${total}`,
    summary.reason,
    restarts !== 0 && restartedAt > 0 ? `${restarts} (${since(restartedAt, now)} ago)` : String(restarts),
    age(pod.metadata.creationTimestamp, now),
    pod.status?.podIP || "<none>",
    pod.spec?.nodeName || "<none>",
    pod.status?.nominatedNodeName || "<none>",
    gatesText(pod),
  ];
}

function isSidecar(container: Container): boolean {
  return container.restartPolicy === "Always";
}

function summarize(pod: Pod, inits: Container[]): Summary {
  const status = pod.status ?? {};
  const conditions = status.conditions ?? [];
  let reason = status.reason || status.phase || "";
  if (conditions.some((one) => one.type === "PodScheduled" && one.reason === "SchedulingGated"))
    reason = "SchedulingGated";
  const beginning = initSummary(status.initContainerStatuses ?? [], inits);
  const isInitialized = conditions.some((one) => one.type === "Initialized" && one.status === "True");
  let summary: Summary = { reason: beginning.reason ?? reason, ...beginning.counts };
  if (beginning.reason === undefined || isInitialized) {
    const isReady = conditions.some((one) => one.type === "Ready" && one.status === "True");
    const base = { ...beginning.sidecars, ready: beginning.counts.ready };
    summary = runningSummary(status.containerStatuses ?? [], beginning.reason ?? reason, base, isReady);
  }
  const isOver = status.phase === "Failed" || status.phase === "Succeeded";
  if (pod.metadata.deletionTimestamp !== undefined) {
    if (status.reason === "NodeLost") summary.reason = "Unknown";
    else if (!isOver) summary.reason = "Terminating";
  }
  return summary;
}

function initSummary(statuses: ContainerStatus[], inits: Container[]) {
  const counts = { ready: 0, restarts: 0, restartedAt: 0 };
  const sidecars = { restarts: 0, restartedAt: 0 };
  let reason: string | undefined;
  for (const [index, status] of statuses.entries()) {
    const sidecar = inits.some((container) => container.name === status.name && isSidecar(container));
    counts.restarts += status.restartCount;
    counts.restartedAt = Math.max(counts.restartedAt, finishedAt(status));
    if (sidecar) {
      sidecars.restarts += status.restartCount;
      sidecars.restartedAt = Math.max(sidecars.restartedAt, finishedAt(status));
    }
    const { terminated, waiting } = status.state ?? {};
    if (terminated?.exitCode === 0) continue;
    if (sidecar && status.started === true) {
      if (status.ready) counts.ready++;
      continue;
    }
    if (terminated) reason = `Init:${terminated.reason || exitText(terminated)}`;
    else if (waiting?.reason && waiting.reason !== "PodInitializing") reason = `Init:${waiting.reason}`;
    else reason = `Init:${index}/${inits.length}`;
    break;
  }
  return { counts, sidecars, reason };
}

function runningSummary(
  statuses: ContainerStatus[],
  before: string,
  base: Omit<Summary, "reason">,
  isReady: boolean,
): Summary {
  const summary: Summary = { reason: before, ...base };
  let hasRunning = false;
  for (const status of [...statuses].reverse()) {
    summary.restarts += status.restartCount;
    summary.restartedAt = Math.max(summary.restartedAt, finishedAt(status));
    const { waiting, terminated, running } = status.state ?? {};
    if (waiting?.reason) summary.reason = waiting.reason;
    else if (terminated) summary.reason = terminated.reason || exitText(terminated);
    else if (status.ready && running) {
      hasRunning = true;
      summary.ready++;
    }
  }
  if (summary.reason === "Completed" && hasRunning) summary.reason = isReady ? "Running" : "NotReady";
  return summary;
}

function exitText(terminated: { signal?: number; exitCode: number }): string {
  return terminated.signal ? `Signal:${terminated.signal}` : `ExitCode:${terminated.exitCode}`;
}

function finishedAt(status: ContainerStatus): number {
  const at = Date.parse((status.lastState?.terminated?.finishedAt as string | undefined) ?? "");
  return Number.isNaN(at) ? 0 : at;
}

function gatesText(pod: Pod): string {
  const gates = pod.spec?.readinessGates ?? [];
  if (gates.length === 0) return "<none>";
  const held = gates.filter((gate) =>
    pod.status?.conditions?.some((one) => one.type === gate.conditionType && one.status === "True"),
  );
  return `${held.length}/${gates.length}`;
}
