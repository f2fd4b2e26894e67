// computeStatus() puts a PodStatus together from the pod, what the runtime says, the probes and the status before. Pure.

import type { PodCondition, PodStatus } from "../../plugins/kit/kube/objects/types.ts";
import { conditionsOf, ownedConditions } from "./conditions.ts";
import type { BareCondition, Verdict } from "../model/verdict.ts";
import { type ContainerStatusInput, containerStatuses, endStatuses } from "./container-status.ts";
import { boundMessages } from "./message-bounds.ts";
import { isStaticPod } from "../model/agent-pod.ts";
import type { ResizeRefusal } from "../model/resize.ts";
import { phaseOf } from "./phase.ts";
import { isTerminalPhase } from "../model/phase.ts";
import { qosClassOf } from "../model/qos.ts";
import { apiTime } from "../model/times.ts";

export interface StatusInput extends ContainerStatusInput {
  /** The last status computed here, or else the one the API has. */
  readonly previous: PodStatus | undefined;
  /** The node's addresses, the primary first. */
  readonly hostIps: readonly string[];
  readonly nowMs: number;
  /** Someone on the node ended the pod: deadline, eviction, admission, shutdown. */
  readonly verdict?: Verdict;
  /** The pod asks for other resources than it has: it does not get them, or not yet. */
  readonly resize?: ResizeRefusal | "InProgress";
}

export function computeStatus(input: StatusInput): PodStatus {
  const previous = input.previous ?? {};
  const isRejected = wasRejected(input);
  const init = isRejected ? [] : containerStatuses(input, "init", previous.initContainerStatuses ?? []);
  const regular = isRejected ? [] : containerStatuses(input, "regular", previous.containerStatuses ?? []);
  const ephemeral = isRejected ? [] : containerStatuses(input, "ephemeral", previous.ephemeralContainerStatuses ?? []);
  if (input.isTerminal) endStatuses(input.pod, init, regular);
  boundMessages([...init, ...regular, ...ephemeral]);
  const { phase, reason, message } = phaseAndReason(input, previous, [...regular, ...init]);

  const foreign = (input.pod.status?.conditions ?? []).filter((condition) => !ownedConditions.has(condition.type));
  const bare = conditionsOf({
    pod: input.pod,
    observed: input.observed,
    statuses: [...init, ...regular],
    phase,
    foreign,
  });
  if (input.verdict?.condition) bare.push(input.verdict.condition);
  const generation = input.pod.metadata.generation;

  return {
    phase,
    ...(reason ? { reason } : {}),
    ...(message ? { message } : {}),
    conditions: bare.map((condition) => stamp(condition, previous.conditions ?? [], input.nowMs, generation)),
    ...addressesOf(input, previous),
    startTime: previous.startTime ?? apiTime(input.nowMs),
    ...(init.length > 0 ? { initContainerStatuses: init } : {}),
    ...(isRejected ? {} : { containerStatuses: regular }),
    ...(ephemeral.length > 0 ? { ephemeralContainerStatuses: ephemeral } : {}),
    ...(input.resize ? { resize: input.resize } : {}),
    qosClass: input.pod.status?.qosClass ?? qosClassOf(input.pod.spec),
    ...(generation === undefined ? {} : { observedGeneration: generation }),
  };
}

/** Now, or by an agent before this one: it ended without any container. */
function wasRejected({ verdict, pod, observed }: StatusInput): boolean {
  if (verdict?.isRejection) return true;
  const { phase, containerStatuses: told = [] } = pod.status ?? {};
  return phase === "Failed" && told.length === 0 && (observed?.containers ?? []).length === 0;
}

function phaseAndReason(
  input: StatusInput,
  previous: PodStatus,
  statuses: Parameters<typeof phaseOf>[1],
): Pick<PodStatus, "phase" | "reason" | "message"> & { phase: NonNullable<PodStatus["phase"]> } {
  if (input.verdict) return { phase: "Failed", reason: input.verdict.reason, message: input.verdict.message };
  let phase = phaseOf(input.pod, statuses, input.isTerminal);
  // A pod never leaves a terminal phase, not for the other one either: who ended it may be forgotten, and its containers may have ended well.
  const settled = [previous.phase, input.pod.status?.phase].find(isTerminalPhase);
  if (settled) phase = settled;
  // Taken down before it came to anything.
  if (input.isTerminal && !isTerminalPhase(phase) && !isStaticPod(input.pod)) phase = "Failed";
  if (phase !== (previous.phase ?? input.pod.status?.phase)) return { phase };
  const reason = previous.reason ?? input.pod.status?.reason;
  const message = previous.message ?? input.pod.status?.message;
  return { phase, ...(reason ? { reason } : {}), ...(message ? { message } : {}) };
}

/** The transition time stays while the status does. */
function stamp(
  bare: BareCondition,
  previous: readonly PodCondition[],
  nowMs: number,
  generation: number | undefined,
): PodCondition {
  const old = previous.find((condition) => condition.type === bare.type);
  const lastTransitionTime = old?.status === bare.status ? (old.lastTransitionTime ?? apiTime(nowMs)) : apiTime(nowMs);
  return { ...bare, lastTransitionTime, ...(generation === undefined ? {} : { observedGeneration: generation }) };
}

function addressesOf(input: StatusInput, previous: PodStatus): Partial<PodStatus> {
  const hostIPs = onePerFamily(input.hostIps).map((ip) => ({ ip }));
  const host: Partial<PodStatus> = hostIPs[0] ? { hostIP: hostIPs[0].ip, hostIPs } : {};
  const own = input.pod.spec.hostNetwork ? input.hostIps : (input.observed?.sandboxes[0]?.ips ?? []);
  // A pod that is over keeps showing the address it had.
  const ips = own.length > 0 || !isOver(input) ? own : (previous.podIPs ?? []).map(({ ip }) => ip);
  const first = ips[0];
  return first ? { ...host, podIP: first, podIPs: onePerFamily(ips).map((ip) => ({ ip })) } : host;
}

/** The API takes no more, and the first of a family is the one that is meant. */
function onePerFamily(ips: readonly string[]): string[] {
  const families = ips.map((ip) => ip.includes(":"));
  return ips.filter((_, index) => families.indexOf(families[index] === true) === index);
}

function isOver(input: StatusInput): boolean {
  return input.isTerminal || isTerminalPhase(input.pod.status?.phase) || isTerminalPhase(input.previous?.phase);
}
