// Admission by capacity: whether a pod fits beside those that run here, by count, by what it asks for, by labels and by host ports. Pure.

import { matchesNodeSelection } from "../../plugins/kit/kube/objects/node-affinity.ts";
import { safeSysctls } from "../../plugins/kit/kube/objects/safe-sysctls.ts";
import { untoleratedTaint } from "../../plugins/kit/kube/objects/tolerations.ts";
import type { Taint } from "../../plugins/kit/kube/objects/types.ts";
import { parseQuantity, quantityMilli } from "../../plugins/kit/kube/quantity.ts";
import { isExtended } from "../model/capacity.ts";
import { type AgentPod, isCriticalPod, isStaticPod } from "../model/agent-pod.ts";
import type { Admission } from "./contract.ts";
import type { RefusedResize } from "../model/resize.ts";
import type { Verdict } from "../model/verdict.ts";
import { podsToPreempt } from "./preemption.ts";

export interface AdmissionFacts {
  readonly allocatable: Readonly<Record<string, string>>;
  readonly nodeName: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly taints: readonly Taint[];
  /** Sysctls beyond the safe ones that the node's owner allows; `net.core.*` stands for all below. */
  readonly allowedSysctls: readonly string[];
}

/** Why the pod cannot run here, in upstream's words, or who has to go for it; undefined when it can. */
export function admissionOf(pod: AgentPod, others: readonly AgentPod[], facts: AdmissionFacts): Admission {
  const sysctl = forbiddenSysctl(pod, facts.allowedSysctls);
  if (sysctl) return { reason: "SysctlForbidden", message: `forbidden sysctl: ${sysctl}` };
  if (pod.spec.os?.name && pod.spec.os.name !== "linux")
    return { reason: "PodOSNotSupported", message: "Failed to admit pod as the OS field doesn't match node OS" };
  const missing = shortages(pod, others, facts.allocatable);
  const [short] = missing;
  // Others make room for a critical pod, but not where it could not run all the same.
  if (short && !isCriticalPod(pod)) return refused(short);
  const failed = failedPredicate(pod, others, facts);
  if (failed) return failed;
  return short ? preemption(pod, others, missing) : undefined;
}

function failedPredicate(pod: AgentPod, others: readonly AgentPod[], facts: AdmissionFacts): Verdict | undefined {
  const failed = (name: string, why: string) => ({ reason: name, message: `Predicate ${name} failed: ${why}` });
  const node = {
    apiVersion: "v1",
    kind: "Node",
    metadata: { name: facts.nodeName, labels: { ...facts.labels } },
  } as const;
  if (!matchesNodeSelection(pod, node))
    return failed("NodeAffinity", "node(s) didn't match Pod's node affinity/selector");
  const taken = new Set(others.flatMap(hostPortsOf));
  if (hostPortsOf(pod).some((port) => taken.has(port)))
    return failed("NodePorts", "node(s) didn't have free ports for the requested pod ports");
  if (!isStaticPod(pod) && untoleratedTaint(facts.taints, pod.spec.tolerations, ["NoExecute"]))
    return failed("TaintToleration", "node(s) had taints that the pod didn't tolerate");
  return undefined;
}

function preemption(pod: AgentPod, others: readonly AgentPod[], missing: readonly Shortage[]): Admission {
  const amounts = new Map(missing.map(({ name, amount, used, capacity }) => [name, used + amount - capacity]));
  const preempt = podsToPreempt(pod, others, amounts, requestsOf);
  if (preempt) return { preempt };
  const list = [...amounts].map(([name, amount]) => `(res: ${name}, q: ${told(name, amount)}), `).join("");
  const why = `preemption: error finding a set of pods to preempt: no set of running pods found to reclaim resources: [${list}]`;
  return {
    reason: "UnexpectedAdmissionError",
    message: `Unexpected error while attempting to recover from admission failure: ${why}`,
  };
}

/** Why a running pod cannot have the resources that it asks for now; undefined when it can. */
export function resizeRefusal(
  pod: AgentPod,
  others: readonly AgentPod[],
  allocatable: AdmissionFacts["allocatable"],
): RefusedResize | undefined {
  const [never] = shortages(pod, [], allocatable);
  if (never) {
    const { name, amount, capacity } = never;
    const amounts = `requested: ${told(name, amount)}, capacity: ${told(name, capacity)}`;
    return { resize: "Infeasible", message: `Node didn't have enough capacity: ${name}, ${amounts}` };
  }
  const [short] = shortages(pod, others, allocatable);
  return short && { resize: "Deferred", message: refused(short).message };
}

/** In thousandths. */
interface Shortage {
  readonly name: string;
  readonly amount: bigint;
  readonly used: bigint;
  readonly capacity: bigint;
}

/** Everything of which too little is left beside the others. */
function shortages(pod: AgentPod, others: readonly AgentPod[], allocatable: AdmissionFacts["allocatable"]): Shortage[] {
  return [...requestsOf(pod)].flatMap(([name, amount]) => {
    // What the node has never heard of is counted elsewhere, by a scheduler of its own for example.
    if (amount === 0n || (allocatable[name] === undefined && isExtended(name))) return [];
    const capacity = allocatable[name] === undefined ? 0n : quantityMilli(parseQuantity(allocatable[name]));
    const used = others.reduce((sum, other) => sum + (requestsOf(other).get(name) ?? 0n), 0n);
    return used + amount > capacity ? [{ name, amount, used, capacity }] : [];
  });
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

function refused({ name, amount, used, capacity }: Shortage): Verdict {
  const [requested, inUse, all] = [amount, used, capacity].map((milli) => told(name, milli));
  const message = `Node didn't have enough resource: ${name}, requested: ${requested}, used: ${inUse}, capacity: ${all}`;
  return { reason: `OutOf${name}`, message };
}

/** CPUs are told in thousandths, everything else whole. */
function told(name: string, milli: bigint): bigint {
  return name === "cpu" ? milli : milli / 1000n;
}

/** In thousandths, the pod itself among them; init containers count by their peak, sidecars beside the regular ones. */
function requestsOf(pod: AgentPod): Map<string, bigint> {
  const sum = new Map([["pods", 1000n]]);
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
