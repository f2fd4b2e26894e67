// What one object counts against resource quotas, by the names quotas use. Pure; admission charges by it and the quota
// controller sums by it, so that the two can never disagree.

import type { GroupResource } from "../kube/cluster-view.ts";
import type { KubeObject, PersistentVolumeClaim, Pod, Service } from "../kube/objects/types.ts";
import { podQuantities } from "../kube/pod-quantities.ts";
import { isTerminal } from "../kube/pod-requests.ts";
import { parseQuantity, type Quantity, quantityOf } from "../kube/quantity.ts";
import { heldQuantities } from "../kube/resized-pod.ts";

export type Usage = Map<string, Quantity>;

const one = quantityOf(1);
const alsoByPlainName = new Set([
  "configmaps",
  "persistentvolumeclaims",
  "replicationcontrollers",
  "resourcequotas",
  "secrets",
  "services",
]);

/** `count/deployments.apps`; without the group in the core group. */
const countName = ({ group, plural }: GroupResource): string => `count/${group === "" ? plural : `${plural}.${group}`}`;

/** `now`, in milliseconds, leaves out pods that should be gone by then. */
export function usageOf(of: GroupResource, object: KubeObject, now = Number.NEGATIVE_INFINITY): Usage {
  const usage: Usage = new Map([[countName(of), one]]);
  if (of.group !== "") return usage;
  if (alsoByPlainName.has(of.plural)) usage.set(of.plural, one);
  if (of.plural === "pods") addPod(usage, object as unknown as Pod, now);
  if (of.plural === "services") addService(usage, object as unknown as Service);
  if (of.plural === "persistentvolumeclaims") addClaim(usage, object as unknown as PersistentVolumeClaim);
  return usage;
}

/**
 * When a pod that is on its way out stops being charged, in milliseconds: its node may be lost, and nobody is to be kept from replacing
 * it. Undefined for one that stays.
 */
export function chargedUntil({ metadata }: KubeObject): number | undefined {
  const { deletionTimestamp, deletionGracePeriodSeconds } = metadata;
  if (!deletionTimestamp || deletionGracePeriodSeconds === undefined || deletionGracePeriodSeconds === null)
    return undefined;
  return Date.parse(deletionTimestamp) + deletionGracePeriodSeconds * 1000;
}

function addPod(usage: Usage, pod: Pod, now: number): void {
  // A pod that is done holds nothing, though its object still counts as one.
  if (isTerminal(pod) || !pod.spec || now > (chargedUntil(pod as unknown as KubeObject) ?? now)) return;
  usage.set("pods", one);
  for (const [name, amount] of heldQuantities({ ...pod, spec: pod.spec })) {
    usage.set(`requests.${name}`, amount);
    if (isPlain(name)) usage.set(name, amount);
  }
  for (const [name, amount] of podQuantities(pod.spec, "limits")) usage.set(`limits.${name}`, amount);
}

const isPlain = (name: string) =>
  ["cpu", "memory", "ephemeral-storage"].includes(name) || name.startsWith("hugepages-");

function addService(usage: Usage, service: Service): void {
  const ports = service.spec?.ports ?? [];
  const isBalancer = service.spec?.type === "LoadBalancer";
  const withNodePorts =
    isBalancer && service.spec?.allocateLoadBalancerNodePorts === false
      ? ports.filter(({ nodePort }) => nodePort).length
      : ports.length;
  if (service.spec?.type === "NodePort" || isBalancer) usage.set("services.nodeports", quantityOf(withNodePorts));
  if (isBalancer) usage.set("services.loadbalancers", one);
}

function addClaim(usage: Usage, claim: PersistentVolumeClaim): void {
  const storageClass =
    claim.metadata.annotations?.["volume.beta.kubernetes.io/storage-class"] ?? claim.spec?.storageClassName ?? "";
  const prefix = `${storageClass}.storageclass.storage.k8s.io/`;
  if (storageClass !== "") usage.set(`${prefix}persistentvolumeclaims`, one);
  const asked = claim.spec?.resources?.requests?.storage;
  if (asked === undefined) return;
  const amount = parseQuantity(asked);
  usage.set("requests.storage", amount);
  if (storageClass !== "") usage.set(`${prefix}requests.storage`, amount);
}

/** Which of the quota's compute resources the pod's containers leave open: `cpu for: a,b`. */
export function missingRequirements(pod: Pod, hard: readonly string[]): string[] {
  const containers = [...(pod.spec?.initContainers ?? []), ...(pod.spec?.containers ?? [])];
  const needed = hard.filter((name) => /^((requests|limits)\.)?(cpu|memory|ephemeral-storage)$/.test(name));
  return needed.sort().flatMap((name) => {
    const [field, resource] = name.includes(".")
      ? (name.split(".") as ["requests" | "limits", string])
      : (["requests", name] as const);
    // Storage on the node is counted when it is asked for, never demanded.
    if (resource === "ephemeral-storage") return [];
    const open = containers.filter(
      (each) => (each.resources?.[field] as Record<string, unknown> | undefined)?.[resource] === undefined,
    );
    return open.length === 0 ? [] : [`${name} for: ${open.map((each) => each.name).join(",")}`];
  });
}
