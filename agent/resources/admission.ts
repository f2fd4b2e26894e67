// Admission by capacity: whether a pod fits beside those that run here, by count, by what it asks for, by labels and by host ports. Pure.

import { matchesNodeSelection } from "../../plugins/kit/objects/node-affinity.ts";
import { safeSysctls } from "../../plugins/kit/objects/safe-sysctls.ts";
import { parseQuantity, quantityMilli } from "../../plugins/kit/quantity.ts";
import { isExtended } from "../node/capacity.ts";
import { type AgentPod, isCriticalPod } from "../pods/agent-pod.ts";
import type { ResizeRefusal } from "../pods/resize.ts";
import type { Verdict } from "../status/pod-status.ts";

export interface AdmissionFacts {
  readonly allocatable: Readonly<Record<string, string>>;
  readonly nodeName: string;
  readonly labels: Readonly<Record<string, string>>;
  /** Sysctls beyond the safe ones that the node's owner allows; `net.core.*` stands for all below. */
  readonly allowedSysctls: readonly string[];
}

/** Why the pod cannot run here, in upstream's words; undefined when it can. */
export function admissionVerdict(
  pod: AgentPod,
  others: readonly AgentPod[],
  facts: AdmissionFacts,
): Verdict | undefined {
  const { allocatable } = facts;
  const mostPods = Number(allocatable["pods"] ?? "110");
  if (others.length + 1 > mostPods) {
    return refused("pods", 1n, BigInt(others.length), BigInt(mostPods));
  }
  const short = isCriticalPod(pod) ? undefined : shortage(pod, others, allocatable);
  if (short) {
    const { name, amount, used, capacity } = short;
    // CPUs are told in thousandths, everything else whole.
    const told = (milli: bigint) => (name === "cpu" ? milli : milli / 1000n);
    return refused(name, told(amount), told(used), told(capacity));
  }
  const node = {
    apiVersion: "v1",
    kind: "Node",
    metadata: { name: facts.nodeName, labels: { ...facts.labels } },
  } as const;
  if (!matchesNodeSelection(pod, node)) {
    return {
      reason: "NodeAffinity",
      message: "Pod was rejected: Predicate NodeAffinity failed: node(s) didn't match Pod's node affinity/selector",
    };
  }
  const sysctl = forbiddenSysctl(pod, facts.allowedSysctls);
  if (sysctl) return { reason: "SysctlForbidden", message: `forbidden sysctl: ${sysctl}` };
  const taken = new Set(others.flatMap(hostPortsOf));
  if (hostPortsOf(pod).some((port) => taken.has(port))) {
    return {
      reason: "NodePorts",
      message:
        "Pod was rejected: Predicate NodePorts failed: node(s) didn't have free ports for the requested pod ports",
    };
  }
  if (pod.spec.os?.name && pod.spec.os.name !== "linux") {
    return { reason: "PodOSNotSupported", message: "Failed to admit pod as the OS field doesn't match node OS" };
  }
  return undefined;
}

/** Why a running pod cannot have the resources that it asks for now; undefined when it can. */
export function resizeRefusal(
  pod: AgentPod,
  others: readonly AgentPod[],
  allocatable: AdmissionFacts["allocatable"],
): ResizeRefusal | undefined {
  if (shortage(pod, [], allocatable)) return "Infeasible";
  return shortage(pod, others, allocatable) ? "Deferred" : undefined;
}

/** The first thing, in thousandths, of which too little is left beside the others. */
function shortage(pod: AgentPod, others: readonly AgentPod[], allocatable: AdmissionFacts["allocatable"]) {
  for (const [name, amount] of requestsOf(pod)) {
    // What the node has never heard of is counted elsewhere, by a scheduler of its own for example.
    if (amount === 0n || (allocatable[name] === undefined && isExtended(name))) continue;
    const capacity = allocatable[name] === undefined ? 0n : quantityMilli(parseQuantity(allocatable[name]));
    const used = others.reduce((sum, other) => sum + (requestsOf(other).get(name) ?? 0n), 0n);
    if (used + amount > capacity) return { name, amount, used, capacity };
  }
  return undefined;
}

function forbiddenSysctl(pod: AgentPod, allowed: readonly string[]): string | undefined {
  for (const { name } of pod.spec.securityContext?.sysctls ?? []) {
    const dotted = name.replaceAll("/", ".");
    const isAllowed = allowed.some((pattern) =>
      pattern.endsWith("*") ? dotted.startsWith(pattern.slice(0, -1)) : dotted === pattern,
    );
    if (!safeSysctls.has(dotted) && !isAllowed) return `"${name}" not allowlisted`;
    if (dotted.startsWith("net.") && pod.spec.hostNetwork) return `"${name}" not allowed with host net enabled`;
    if (dotted.startsWith("kernel.shm") && pod.spec.hostIPC) return `"${name}" not allowed with host ipc enabled`;
  }
  return undefined;
}

function refused(resource: string, requested: bigint, used: bigint, capacity: bigint): Verdict {
  const message = `Pod was rejected: Node didn't have enough resource: ${resource}, requested: ${requested}, used: ${used}, capacity: ${capacity}`;
  return { reason: `OutOf${resource}`, message };
}

/** In thousandths; init containers count by their peak, sidecars beside the regular ones. */
function requestsOf(pod: AgentPod): Map<string, bigint> {
  const sum = new Map<string, bigint>();
  const add = (into: Map<string, bigint>, list: Readonly<Record<string, string | number>> | undefined) => {
    for (const [name, text] of Object.entries(list ?? {})) {
      into.set(name, (into.get(name) ?? 0n) + quantityMilli(parseQuantity(text)));
    }
  };
  for (const { resources } of pod.spec.containers) add(sum, { ...resources?.limits, ...resources?.requests });
  const sidecars = new Map<string, bigint>();
  const peak = new Map<string, bigint>();
  for (const { restartPolicy, resources } of pod.spec.initContainers ?? []) {
    const own = new Map(sidecars);
    add(own, { ...resources?.limits, ...resources?.requests });
    if (restartPolicy === "Always") for (const [name, amount] of own) sidecars.set(name, amount);
    for (const [name, amount] of own) if (amount > (peak.get(name) ?? 0n)) peak.set(name, amount);
  }
  for (const [name, amount] of sidecars) sum.set(name, (sum.get(name) ?? 0n) + amount);
  for (const [name, amount] of peak) if (amount > (sum.get(name) ?? 0n)) sum.set(name, amount);
  add(sum, pod.spec.overhead);
  return sum;
}

function hostPortsOf(pod: AgentPod): string[] {
  const containers = [...pod.spec.containers, ...(pod.spec.initContainers ?? [])];
  return containers.flatMap((container) =>
    (container.ports ?? [])
      .map((port) => ({ ...port, host: pod.spec.hostNetwork ? port.containerPort : port.hostPort }))
      .filter((port) => port.host !== undefined && port.host > 0)
      .map((port) => `${port.protocol ?? "TCP"}/${port.hostIP || "0.0.0.0"}/${port.host}`),
  );
}
