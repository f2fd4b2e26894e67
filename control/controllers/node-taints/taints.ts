// Which NoSchedule taints a node's conditions and cordon ask for, and what its taints become. Pure.

import type { Node, Taint } from "../../../plugins/kit/kube/objects/types.ts";

interface Rule {
  readonly key: string;
  applies(node: Node): boolean;
}

const statusOf = (node: Node, type: string) =>
  node.status?.conditions?.find((condition) => condition.type === type)?.status;

const rules: readonly Rule[] = [
  { key: "node.kubernetes.io/not-ready", applies: (node) => statusOf(node, "Ready") === "False" },
  { key: "node.kubernetes.io/unreachable", applies: (node) => statusOf(node, "Ready") === "Unknown" },
  { key: "node.kubernetes.io/memory-pressure", applies: (node) => statusOf(node, "MemoryPressure") === "True" },
  { key: "node.kubernetes.io/disk-pressure", applies: (node) => statusOf(node, "DiskPressure") === "True" },
  { key: "node.kubernetes.io/pid-pressure", applies: (node) => statusOf(node, "PIDPressure") === "True" },
  { key: "node.kubernetes.io/network-unavailable", applies: (node) => statusOf(node, "NetworkUnavailable") === "True" },
  { key: "node.kubernetes.io/unschedulable", applies: (node) => node.spec?.unschedulable === true },
];

/** The node's taints as they should be, or undefined when they are so already. A node that never reported keeps what it has. */
export function taintsByCondition(node: Node): Taint[] | undefined {
  if (statusOf(node, "Ready") === undefined) return undefined;
  const current = node.spec?.taints ?? [];
  const isOurs = (taint: Taint) => taint.effect === "NoSchedule" && rules.some(({ key }) => key === taint.key);
  const wanted = rules.filter((rule) => rule.applies(node)).map(({ key }) => key);
  const kept = current.filter((taint) => !isOurs(taint) || wanted.includes(taint.key));
  const missing = wanted.filter((key) => !kept.some((taint) => taint.key === key && taint.effect === "NoSchedule"));
  if (missing.length === 0 && kept.length === current.length) return undefined;
  return [...kept, ...missing.map((key) => ({ key, effect: "NoSchedule" as const }))];
}
