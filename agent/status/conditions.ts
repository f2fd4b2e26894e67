// The conditions of a pod that the kubelet owns, with upstream's reasons and messages. Times are added where old and new meet.

import type { ContainerStatus, PodCondition } from "../../plugins/kit/kube/objects/types.ts";
import type { ObservedPod } from "../model/observed.ts";
import { type AgentPod, isSidecar } from "../model/agent-pod.ts";
import { sandboxChange } from "../containers/sandbox-change.ts";
import { hasAnyRegularStarted } from "./phase.ts";
import type { PodPhase } from "../model/phase.ts";
import type { BareCondition } from "../model/verdict.ts";

export const ownedConditions: ReadonlySet<string> = new Set([
  "PodScheduled",
  "Initialized",
  "ContainersReady",
  "Ready",
  "PodReadyToStartContainers",
]);

export interface ConditionInput {
  readonly pod: AgentPod;
  readonly observed: ObservedPod | undefined;
  readonly statuses: readonly ContainerStatus[];
  readonly phase: PodPhase;
  /** Conditions of others, which readiness gates look at. */
  readonly foreign: readonly PodCondition[];
}

/** The owned conditions in upstream's order. */
export function conditionsOf(input: ConditionInput): BareCondition[] {
  const byName = new Map(input.statuses.map((status) => [status.name, status]));
  const containersReady = containersReadyOf(input, byName);
  return [
    { type: "PodReadyToStartContainers", status: sandboxChange(input.pod, input.observed).isNeeded ? "False" : "True" },
    initializedOf(input, byName),
    readyOf(input, containersReady),
    containersReady,
    { type: "PodScheduled", status: "True" },
  ];
}

function initializedOf(input: ConditionInput, byName: ReadonlyMap<string, ContainerStatus>): BareCondition {
  const unknown: string[] = [];
  const incomplete: string[] = [];
  for (const container of input.pod.spec.initContainers ?? []) {
    const status = byName.get(container.name);
    if (!status) unknown.push(container.name);
    else if (isSidecar(container) ? !status.started : !status.ready) incomplete.push(container.name);
  }
  if (input.phase === "Succeeded" && unknown.length === 0) {
    return { type: "Initialized", status: "True", reason: "PodCompleted" };
  }
  if (hasAnyRegularStarted(input.pod, byName)) return { type: "Initialized", status: "True" };
  return fromLists("Initialized", "ContainersNotInitialized", { unknown, incomplete });
}

function containersReadyOf(input: ConditionInput, byName: ReadonlyMap<string, ContainerStatus>): BareCondition {
  const unknown: string[] = [];
  const unready: string[] = [];
  const counted = [...(input.pod.spec.initContainers ?? []).filter(isSidecar), ...input.pod.spec.containers];
  for (const container of counted) {
    const status = byName.get(container.name);
    if (!status) unknown.push(container.name);
    else if (!status.ready) unready.push(container.name);
  }
  const type = "ContainersReady";
  if (unknown.length === 0 && input.phase === "Succeeded") return { type, status: "False", reason: "PodCompleted" };
  if (unknown.length === 0 && input.phase === "Failed") return { type, status: "False", reason: "PodFailed" };
  return fromLists(type, "ContainersNotReady", { unknown, unready });
}

function fromLists(type: string, reason: string, lists: Record<string, string[]>): BareCondition {
  const messages = Object.entries(lists)
    .filter(([, names]) => names.length > 0)
    .map(([word, names]) => `containers with ${word} status: [${names.join(" ")}]`);
  if (messages.length === 0) return { type, status: "True" };
  return { type, status: "False", reason, message: messages.join(", ") };
}

function readyOf(input: ConditionInput, containersReady: BareCondition): BareCondition {
  if (containersReady.status !== "True") return { ...containersReady, type: "Ready" };
  const messages: string[] = [];
  for (const gate of input.pod.spec.readinessGates ?? []) {
    const condition = input.foreign.find((found) => found.type === gate.conditionType);
    if (!condition) {
      messages.push(`corresponding condition of pod readiness gate "${gate.conditionType}" does not exist.`);
    } else if (condition.status !== "True") {
      messages.push(`the status of pod readiness gate "${gate.conditionType}" is not "True", but ${condition.status}`);
    }
  }
  if (messages.length === 0) return { type: "Ready", status: "True" };
  return { type: "Ready", status: "False", reason: "ReadinessGatesNotReady", message: messages.join(", ") };
}
