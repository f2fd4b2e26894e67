// Container statuses: what the runtime says, what the last status said, and why a container waits, merged as upstream merges them.

import type { Container, ContainerState, ContainerStatus, VolumeMount } from "../../plugins/kit/kube/objects/types.ts";
import { isRecursiveReadOnly } from "../containers/recursive-read-only.ts";
import type { ObservedContainer, ObservedPod } from "../model/observed.ts";
import { type AgentPod, isSidecar } from "../model/agent-pod.ts";
import { shouldRestart } from "../containers/restart-policy.ts";
import type { ProbeVerdict } from "../model/probe-verdict.ts";
import { apiTime } from "../model/times.ts";

export interface WaitingReason {
  readonly reason: string;
  readonly message: string;
}

interface ProbeView {
  startup(containerId: string): ProbeVerdict | undefined;
  readiness(containerId: string): ProbeVerdict | undefined;
}

export interface ContainerStatusInput {
  readonly pod: AgentPod;
  readonly observed: ObservedPod | undefined;
  /** Why a container could not be started, by its name. */
  readonly waiting: ReadonlyMap<string, WaitingReason>;
  readonly probes: ProbeView;
  /** Prefix of container ids: the runtime's name. */
  readonly runtimeName: string;
  /** This handler of the runtime can make what lies below a read-only mount read-only, too. */
  readonly hasRecursiveReadOnly: (runtimeHandler: string) => boolean;
  /** Nothing will be started any more: what was never seen to end is taken as lost. */
  readonly isTerminal: boolean;
}

export function containerStatuses(
  input: ContainerStatusInput,
  kind: "init" | "regular" | "ephemeral",
  previous: readonly ContainerStatus[],
): ContainerStatus[] {
  const { spec } = input.pod;
  const containers: readonly Container[] =
    (kind === "init" ? spec.initContainers : kind === "regular" ? spec.containers : spec.ephemeralContainers) ?? [];
  const hasInit = kind === "regular" && (spec.initContainers ?? []).length > 0;
  const defaultReason = hasInit || kind === "init" ? "PodInitializing" : "ContainerCreating";
  const statuses = containers.map((container) => {
    const old = previous.find((status) => status.name === container.name);
    return statusOf(input, container, kind, old, defaultReason);
  });
  // Init containers stay in the order of the spec; the others are sorted by name, which clients rely on.
  return kind === "init" ? statuses : statuses.sort((a, b) => (a.name < b.name ? -1 : 1));
}

function statusOf(
  input: ContainerStatusInput,
  container: Container,
  kind: "init" | "regular" | "ephemeral",
  old: ContainerStatus | undefined,
  defaultReason: string,
): ContainerStatus {
  const generations = (input.observed?.containers ?? []).filter((found) => found.name === container.name);
  const [newest, before] = generations;
  const status: ContainerStatus = newest
    ? fromObserved(input, newest, before, old)
    : fromMemory(input, container, kind, old, defaultReason);
  const volumeMounts = old?.volumeMounts ?? volumeMountsOf(input, container);
  if (volumeMounts.length > 0) status.volumeMounts = volumeMounts;
  if (newest?.state === "running" && container.resources && Object.keys(container.resources).length > 0) {
    // Told once they are in force: the plan brings the container's cgroup in line before anything else.
    status.resources = container.resources;
    if (container.resources.requests) status.allocatedResources = container.resources.requests;
  }
  applyWaiting(input, container, kind, status, newest);
  applyProbes(input, container, kind, status, newest, old);
  return status;
}

/** The runtime knows nothing of names of volumes: told from the spec, and never changed afterwards. */
function volumeMountsOf(
  { observed, hasRecursiveReadOnly }: ContainerStatusInput,
  container: Container,
): NonNullable<ContainerStatus["volumeMounts"]> {
  const isSupported = () => hasRecursiveReadOnly(observed?.sandboxes[0]?.runtimeHandler ?? "");
  return (container.volumeMounts ?? []).map((mount) => ({
    name: mount.name,
    mountPath: mount.mountPath,
    ...(mount.readOnly
      ? { readOnly: true, recursiveReadOnly: isRecursive(mount, isSupported()) ? "Enabled" : "Disabled" }
      : {}),
  }));
}

function isRecursive(mount: VolumeMount, isSupported: boolean): boolean {
  try {
    return isRecursiveReadOnly(mount, isSupported);
  } catch {
    // The container is never started for that reason, which its state tells.
    return false;
  }
}

function fromObserved(
  input: ContainerStatusInput,
  newest: ObservedContainer,
  before: ObservedContainer | undefined,
  old: ContainerStatus | undefined,
): ContainerStatus {
  const lastState = before ? stateOf(input, before, old) : keptLastState(newest, old, input);
  return {
    name: newest.name,
    state: stateOf(input, newest, old),
    lastState: lastState ?? {},
    ready: false,
    restartCount: newest.restartCount,
    image: newest.image,
    imageID: newest.imageId,
    containerID: containerIdOf(input, newest),
    ...(newest.user
      ? { user: { linux: { ...newest.user, supplementalGroups: [...newest.user.supplementalGroups] } } }
      : {}),
  };
}

/** The generation before may have been collected: what the last status said of it still holds. */
function keptLastState(
  newest: ObservedContainer,
  old: ContainerStatus | undefined,
  input: ContainerStatusInput,
): ContainerState | undefined {
  if (!old || newest.restartCount === 0) return undefined;
  const isSame = old.containerID === containerIdOf(input, newest);
  if (!isSame && old.state?.terminated) return { terminated: old.state.terminated };
  return old.lastState;
}

function containerIdOf(input: ContainerStatusInput, container: ObservedContainer): string {
  return `${input.runtimeName}://${container.id}`;
}

function stateOf(
  input: ContainerStatusInput,
  container: ObservedContainer,
  old: ContainerStatus | undefined,
): ContainerState {
  const containerID = containerIdOf(input, container);
  if (container.state === "running") return { running: { startedAt: apiTime(container.startedAt) } };
  if (container.state === "exited") {
    return {
      terminated: {
        exitCode: container.exitCode,
        ...(container.reason ? { reason: container.reason } : {}),
        ...(container.message ? { message: container.message } : {}),
        startedAt: apiTime(container.startedAt),
        finishedAt: apiTime(container.finishedAt),
        containerID,
      },
    };
  }
  if (container.state === "unknown" && old?.state?.running) {
    return { terminated: { ...lost("The container could not be located when the pod was terminated"), containerID } };
  }
  return { waiting: {} };
}

function lost(message: string): { exitCode: number; reason: string; message: string } {
  return { exitCode: 137, reason: "ContainerStatusUnknown", message };
}

/** The runtime knows nothing of it: not made yet, or removed. */
function fromMemory(
  input: ContainerStatusInput,
  container: Container,
  kind: "init" | "regular" | "ephemeral",
  old: ContainerStatus | undefined,
  defaultReason: string,
): ContainerStatus {
  if (old?.state?.terminated) return { ...old, ready: false };
  const status: ContainerStatus = {
    name: container.name,
    state: { waiting: { reason: defaultReason } },
    lastState: old?.lastState ?? {},
    ready: false,
    restartCount: old?.restartCount ?? 0,
    image: container.image ?? "",
    imageID: "",
  };
  if (kind === "init" && !isSidecar(container) && hasRegularRun(input)) {
    const message =
      "Unable to get init container status from container runtime and pod has been initialized, treat it as exited normally";
    status.state = { terminated: { exitCode: 0, reason: "Completed", message } };
    return status;
  }
  if (!old?.state?.running) return status;
  // It ran and is gone without a trace: it ended somehow, and a pod that lives on counts that as a restart.
  const used = "The container could not be located when the pod was deleted.  The container used to be Running";
  status.lastState = { terminated: lost(used) };
  if (!input.pod.metadata.deletionTimestamp && !input.isTerminal) status.restartCount += 1;
  return status;
}

function hasRegularRun(input: ContainerStatusInput): boolean {
  const names = new Set(input.pod.spec.containers.map((container) => container.name));
  return (input.observed?.containers ?? []).some((found) => names.has(found.name) && found.state !== "created");
}

/** A container that is to be restarted and cannot yet is waiting, and what it did before is its last state. */
function applyWaiting(
  input: ContainerStatusInput,
  container: Container,
  kind: "init" | "regular" | "ephemeral",
  status: ContainerStatus,
  newest: ObservedContainer | undefined,
): void {
  if (kind === "init" && newest?.state === "exited" && newest.exitCode === 0 && !isSidecar(container)) return;
  if (kind === "ephemeral" ? newest !== undefined : !willRestart(input.pod, container, newest)) return;
  const why = input.waiting.get(container.name);
  if (!why) return;
  if (status.state?.terminated) status.lastState = { terminated: status.state.terminated };
  status.state = { waiting: { reason: why.reason, ...(why.message ? { message: why.message } : {}) } };
}

function willRestart(pod: AgentPod, container: Container, newest: ObservedContainer | undefined): boolean {
  if (isSidecar(container)) return !pod.metadata.deletionTimestamp && newest?.state !== "running";
  return shouldRestart(pod, newest);
}

/**
 * In a pod that is over no container runs, and none waits that could have run: what was never seen to end is taken as lost. Containers that the
 * pod never came to, because an init container before them failed, stay waiting. Changes the statuses it is given.
 */
export function endStatuses(pod: AgentPod, init: ContainerStatus[], regular: ContainerStatus[]): void {
  if (hasInitialized(pod, init, regular)) for (const status of regular) endStatus(status);
  const reached = init.findLastIndex(({ state, lastState }) => !state?.waiting || lastState?.terminated);
  for (const status of init.slice(0, Math.max(reached + 1, 1))) endStatus(status);
}

function hasInitialized(pod: AgentPod, init: readonly ContainerStatus[], regular: readonly ContainerStatus[]): boolean {
  if ((pod.spec.initContainers ?? []).length === 0) return true;
  if (regular.some(({ state, lastState }) => !state?.waiting || lastState?.terminated)) return true;
  const last = init.at(-1);
  const isLastSidecar = isSidecar(pod.spec.initContainers?.at(-1) ?? { name: "" });
  if (isLastSidecar) return last?.started ?? false;
  return [last?.state, last?.lastState].some((state) => state?.terminated?.exitCode === 0);
}

function endStatus(status: ContainerStatus): void {
  if (status.state?.terminated) return;
  const before = status.state?.waiting ? status.lastState?.terminated : undefined;
  status.state = { terminated: before ?? lost("The container could not be located when the pod was terminated") };
  status.ready = false;
  status.started = false;
}

function applyProbes(
  input: ContainerStatusInput,
  container: Container,
  kind: "init" | "regular" | "ephemeral",
  status: ContainerStatus,
  newest: ObservedContainer | undefined,
  old: ContainerStatus | undefined,
): void {
  if (kind === "ephemeral") return;
  const isRunning = status.state?.running !== undefined && newest !== undefined;
  // A restarted agent has no results yet: what the last status said of this very container holds until it has.
  const known = old?.containerID === status.containerID ? old : undefined;
  const startup = newest ? input.probes.startup(newest.id) : undefined;
  const started =
    isRunning && (!container.startupProbe || (startup ? startup === "success" : (known?.started ?? false)));
  status.started = started;
  if (kind === "init" && !isSidecar(container)) {
    status.ready = status.state?.terminated?.exitCode === 0;
    return;
  }
  if (!started || !newest) return;
  const readiness = input.probes.readiness(newest.id);
  status.ready = !container.readinessProbe || (readiness ? readiness === "success" : (known?.ready ?? false));
}
