// plan() decides, from what is wanted and what the runtime says, what to do next for one pod. It is pure: no clock, no I/O, no memory.
// The order of the actions is the order of execution; semantics follow upstream's computePodActions.

import { isAnythingRunning, newestOf, type ObservedContainer, type ObservedPod } from "../model/observed.ts";
import type { PodAction } from "./actions.ts";
import { type AgentPod, containersOf, type ContainerRole } from "../model/agent-pod.ts";
import { planInitContainers } from "./plan-init.ts";
import { type Decisions, type PlanContext, resizeOf, whyKilled } from "./plan-running.ts";
import { shouldRestart } from "../containers/restart-policy.ts";
import { sandboxChange } from "../containers/sandbox-change.ts";

/** Where the pod is in its life; it only ever moves down this list. */
export type PodStage = "sync" | "terminating" | "terminated";

export interface DesiredPod {
  readonly pod: AgentPod;
  readonly stage: PodStage;
  /** Overrides the pod's own grace period while terminating. */
  readonly graceSeconds?: number;
  /** The pod is gone from its source or going: its ended containers need not be kept for their logs. */
  readonly isDeleted?: boolean;
}

export function plan(desired: DesiredPod, observed: ObservedPod | undefined, context: PlanContext): PodAction[] {
  if (desired.stage === "terminated") return planRelease(desired, observed);
  if (desired.stage === "terminating") {
    const kill: PodAction = { do: "kill-pod", reason: "the pod is terminating", ...graceOf(desired) };
    // One that was made but never ran has nothing to show, and may hold a process that waits to be started.
    const unborn = (observed?.containers ?? []).filter(({ state }) => state === "created");
    return [
      ...(isAnythingRunning(observed) ? [kill] : []),
      ...unborn.map(({ id, name }): PodAction => ({ do: "remove-container", id, name })),
    ];
  }
  const { pod } = desired;
  const sandbox = sandboxChange(pod, observed);
  if (sandbox.isNeeded) return planNewSandbox(pod, observed, context, sandbox.attempt);

  const decisions: Decisions = { killPod: false, kills: [], starts: [], resizes: [] };
  for (const container of pod.spec.ephemeralContainers ?? []) {
    // Ephemeral containers start even before initialization is complete, and are never restarted.
    if (!newestOf(observed, container.name)) decisions.starts.push({ name: container.name, role: "ephemeral" });
  }
  const isInitialized = planInitContainers(pod, observed, context, decisions);
  if (!decisions.killPod && isInitialized) planRegularContainers(pod, observed, context, decisions);
  return toActions(pod, observed, context, decisions);
}

function graceOf(desired: DesiredPod): { graceSeconds?: number } {
  return desired.graceSeconds === undefined ? {} : { graceSeconds: desired.graceSeconds };
}

/** What outlives the containers goes first, so that the pod's name is free soon; the dead rest follows once nobody can ask for its logs. */
function planRelease(desired: DesiredPod, observed: ObservedPod | undefined): PodAction[] {
  if (!desired.isDeleted) return [{ do: "release" }];
  return [
    { do: "release" },
    ...(observed?.containers ?? []).map(({ id, name }): PodAction => ({ do: "remove-container", id, name })),
    ...(observed?.sandboxes ?? []).map(({ id }): PodAction => ({ do: "remove-sandbox", id })),
  ];
}

function planNewSandbox(
  pod: AgentPod,
  observed: ObservedPod | undefined,
  context: PlanContext,
  attempt: number,
): PodAction[] {
  const killOld: PodAction[] = observed?.sandboxes.length
    ? [{ do: "kill-pod", reason: "Pod sandbox changed, it will be killed and re-created." }]
    : [];
  const hasContainers = (observed?.containers.length ?? 0) > 0;
  // A pod that never restarts and has run containers is done: a new sandbox would only be torn down again.
  if (pod.spec.restartPolicy === "Never" && attempt !== 0 && hasContainers) return killOld;

  const toStart = pod.spec.containers.filter(
    (container) => !(pod.spec.restartPolicy === "OnFailure" && hasSucceeded(newestOf(observed, container.name))),
  );
  const hasInitialized = pod.spec.containers.some((container) => newestOf(observed, container.name));
  if (toStart.length === 0 && hasInitialized) return killOld;

  const first = pod.spec.initContainers?.[0];
  const starts: Decisions["starts"] = first
    ? [{ name: first.name, role: first.restartPolicy === "Always" ? "sidecar" : "init" }]
    : toStart.map(({ name }) => ({ name, role: "regular" as const }));
  // Old init containers would look as if this sandbox were already initialized.
  const initNames = new Set((pod.spec.initContainers ?? []).map((container) => container.name));
  const purge = (observed?.containers ?? [])
    .filter((container) => initNames.has(container.name))
    .map(({ id, name }): PodAction => ({ do: "remove-container", id, name }));
  return [
    ...killOld,
    ...purge,
    { do: "create-sandbox", attempt },
    ...starts.map((start) => startOrHold(pod, observed, context, start)),
  ];
}

function hasSucceeded(container: ObservedContainer | undefined): boolean {
  return container?.state === "exited" && container.exitCode === 0;
}

function planRegularContainers(
  pod: AgentPod,
  observed: ObservedPod | undefined,
  context: PlanContext,
  decisions: Decisions,
): void {
  let keep = 0;
  const restartsOnFailure = pod.spec.restartPolicy !== "Never";
  let starts = 0;
  for (const container of pod.spec.containers) {
    const newest = newestOf(observed, container.name);
    if (newest?.state !== "running") {
      if (!shouldRestart(pod, newest)) continue;
      starts++;
      decisions.starts.push({ name: container.name, role: "regular" });
      if (newest?.state === "unknown") {
        // It may still run: kill it first so that there are never two.
        const message = `Container is in "${newest.state}" state, try killing it before restart`;
        decisions.kills.push({ id: newest.id, name: container.name, reason: "unknown", message });
      }
      continue;
    }
    const why = whyKilled(container, newest, context, "Container");
    if (!why) {
      keep++;
      const resize = resizeOf(container, newest, context);
      if (resize === "in-place") decisions.resizes.push({ id: newest.id, name: container.name });
      if (resize !== "restart") continue;
      keep--;
    }
    const { reason, message } = why ?? {
      reason: "resize" as const,
      message: `Container ${container.name} resize requires restart`,
    };
    const isRestarted = restartsOnFailure || reason === "definition" || reason === "resize";
    if (isRestarted) {
      starts++;
      decisions.starts.push({ name: container.name, role: "regular" });
    }
    const suffix = isRestarted ? ", will be restarted" : "";
    decisions.kills.push({ id: newest.id, name: container.name, reason, message: message + suffix });
  }
  if (keep === 0 && starts === 0) {
    decisions.killPod = true;
    // Sidecars must not keep a finished pod alive.
    decisions.starts = decisions.starts.filter((start) => start.role === "ephemeral");
  }
}

function toActions(
  pod: AgentPod,
  observed: ObservedPod | undefined,
  context: PlanContext,
  decisions: Decisions,
): PodAction[] {
  if (decisions.killPod) {
    return isAnythingRunning(observed) ? [{ do: "kill-pod", reason: "the pod's containers are done" }] : [];
  }
  const { starts } = decisions;
  return [
    ...decisions.kills.map((kill): PodAction => ({ do: "kill-container", ...kill })),
    ...neverStarted(observed, starts),
    ...deadGenerations(pod, observed),
    ...decisions.resizes.map((resize): PodAction => ({ do: "resize-container", ...resize })),
    ...starts.map((start) => startOrHold(pod, observed, context, start)),
  ];
}

/** Containers that were made but never started, because the agent ended in between: their generation is made anew. */
function neverStarted(observed: ObservedPod | undefined, starts: Decisions["starts"]): PodAction[] {
  return starts
    .map((start) => newestOf(observed, start.name))
    .filter((newest) => newest?.state === "created")
    .map((newest): PodAction => ({ do: "remove-container", id: newest?.id ?? "", name: newest?.name ?? "" }));
}

/** A start, or the wait that its crash-loop back-off demands. */
function startOrHold(
  pod: AgentPod,
  observed: ObservedPod | undefined,
  context: PlanContext,
  start: { name: string; role: ContainerRole },
): PodAction {
  const newest = newestOf(observed, start.name);
  const restartCount =
    newest?.state === "created"
      ? newest.restartCount
      : newest
        ? newest.restartCount + 1
        : previousRestarts(pod, start.name);
  const exited = observed?.containers.find(({ name, state }) => name === start.name && state === "exited");
  if (!exited) return { do: "start-container", ...start, restartCount };
  const container = [...containersOf(pod)].find((found) => found.container.name === start.name)?.container;
  const wait = container ? context.backOff(container, exited.finishedAt) : { remainingMs: 0, delayMs: 0 };
  if (wait.remainingMs > 0) {
    const untilMs = context.nowMs + wait.remainingMs;
    return { do: "hold-back", name: start.name, delayMs: wait.delayMs, untilMs };
  }
  return { do: "start-container", ...start, restartCount, previousFinishedAt: exited.finishedAt };
}

/** The count goes on from the API's status when the runtime has forgotten the container. One that never ran counts for nothing. */
function previousRestarts(pod: AgentPod, name: string): number {
  const { containerStatuses = [], initContainerStatuses = [] } = pod.status ?? {};
  const status = [...containerStatuses, ...initContainerStatuses].find((found) => found.name === name);
  if (!status?.containerID) return 0;
  const { state, lastState, restartCount, containerID } = status;
  const hasRun = state?.running || state?.terminated || lastState?.terminated?.containerID === containerID;
  return hasRun ? restartCount + 1 : restartCount;
}

/** Ended generations older than the newest two of each container: one stays for `lastState` and `logs --previous`. */
function deadGenerations(pod: AgentPod, observed: ObservedPod | undefined): PodAction[] {
  const actions: PodAction[] = [];
  for (const { container } of containersOf(pod)) {
    const generations = (observed?.containers ?? []).filter(({ name }) => name === container.name);
    for (const { id, name, state } of generations.slice(2)) {
      if (state === "exited" || state === "created") actions.push({ do: "remove-container", id, name });
    }
  }
  return actions;
}
