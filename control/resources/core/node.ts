// Node: a machine that runs pods. Its kubelet creates it with a status and keeps both fresh.

import type { KubeObject, Node } from "../../../plugins/kit/kube/objects/types.ts";
import { validateCidr } from "../addresses.ts";
import type { ResourceDefinition } from "../definition.ts";
import { duplicate, type FieldErrors, forbidden, invalid, notListed, required } from "../../machinery/field-error.ts";
import { labelValue, qualifiedName } from "../names.ts";
import { age, ageColumn, column, nameColumn, wideColumn } from "../print.ts";
import { validateNodeAmounts, validateNodeStatus } from "./validate-node-status.ts";

const asNode = (object: KubeObject): Node => object as unknown as Node;
/** Of a node that has not told anything of itself. */
const unknownMachine = {
  architecture: "",
  bootID: "",
  containerRuntimeVersion: "",
  kernelVersion: "",
  kubeProxyVersion: "",
  kubeletVersion: "",
  machineID: "",
  operatingSystem: "",
  osImage: "",
  systemUUID: "",
};
const taintEffects = ["NoSchedule", "PreferNoSchedule", "NoExecute"];

export const nodes: ResourceDefinition = {
  group: "",
  version: "v1",
  plural: "nodes",
  singular: "node",
  kind: "Node",
  namespaced: false,
  shortNames: ["no"],
  hasStatus: true,
  keepsStatusOnCreate: true,
  selectable: { "spec.unschedulable": (object) => String(asNode(object).spec?.unschedulable ?? false) },
  columns: [
    nameColumn,
    column("Status", "Whether the node is ready for pods."),
    column("Roles", "What the node's role labels say."),
    ageColumn,
    column("Version", "The version that its kubelet reports."),
    wideColumn("Internal-IP", "The address used inside the cluster."),
    wideColumn("External-IP", "The address used from outside."),
    wideColumn("OS-Image", "The operating system that the node reports."),
    wideColumn("Kernel-Version", "The kernel that the node reports."),
    wideColumn("Container-Runtime", "The container runtime that the node reports."),
  ],
  cells(object, now) {
    const node = asNode(object);
    const info = node.status?.nodeInfo;
    return [
      node.metadata.name,
      statusText(node),
      rolesText(node),
      age(node.metadata.creationTimestamp, now),
      info?.kubeletVersion ?? "",
      addressOf(node, "InternalIP"),
      addressOf(node, "ExternalIP"),
      info?.osImage || "<unknown>",
      info?.kernelVersion || "<unknown>",
      info?.containerRuntimeVersion || "<unknown>",
    ];
  },
  prepareCreate(object) {
    const status = (object.status ??= {}) as NonNullable<Node["status"]>;
    status.daemonEndpoints ??= { kubeletEndpoint: { Port: 0 } };
    status.nodeInfo ??= { ...unknownMachine };
    for (const condition of status.conditions ?? []) {
      const times = condition as { lastHeartbeatTime?: string | null; lastTransitionTime?: string | null };
      times.lastHeartbeatTime ??= null;
      times.lastTransitionTime ??= null;
    }
  },
  warnings(object) {
    const { configSource, externalID } = (object.spec ?? {}) as { configSource?: unknown; externalID?: string };
    return [
      ...(configSource ? ["spec.configSource: the feature is removed"] : []),
      ...(externalID ? ["spec.externalID: this field is deprecated, and is unused by Kubernetes"] : []),
    ];
  },
  validate(object, previous) {
    const node = asNode(object);
    const errors = [...validateTaints(node), ...(previous ? validateNodeStatus(node) : validateNodeAmounts(node))];
    // The one and the many say the same; where they do not, the one counts.
    const { podCIDR, podCIDRs = [] } = node.spec ?? {};
    const cidrs = podCIDR && podCIDR !== podCIDRs[0] ? [podCIDR] : podCIDR ? podCIDRs : podCIDRs.filter(Boolean);
    cidrs.forEach((cidr, index) => errors.push(...validateCidr(cidr, `spec.podCIDRs[${index}]`)));
    if (new Set(cidrs.map((cidr) => cidr.includes(":"))).size < cidrs.length)
      errors.push(invalid("spec.podCIDRs", cidrs, "may specify no more than one CIDR for each IP family"));
    const before = previous && asNode(previous);
    if (before?.spec?.podCIDR && node.spec?.podCIDR !== before.spec.podCIDR)
      errors.push(forbidden("spec.podCIDRs", 'node updates may not change podCIDR except from "" to valid'));
    if (before?.spec?.providerID && node.spec?.providerID !== before.spec.providerID)
      errors.push(forbidden("spec.providerID", 'node updates may not change providerID except from "" to valid'));
    return errors;
  },
  validateStatus: (object) => validateNodeStatus(asNode(object)),
};

function statusText(node: Node): string {
  const ready = node.status?.conditions?.find((condition) => condition.type === "Ready");
  const text = ready === undefined ? "Unknown" : ready.status === "True" ? "Ready" : "NotReady";
  return node.spec?.unschedulable === true ? `${text},SchedulingDisabled` : text;
}

function rolesText(node: Node): string {
  const roles: string[] = [];
  for (const [key, value] of Object.entries(node.metadata.labels ?? {})) {
    if (key.startsWith("node-role.kubernetes.io/") && key.length > 24) roles.push(key.slice(24));
    else if (key === "kubernetes.io/role" && value !== "") roles.push(value);
  }
  return roles.length === 0 ? "<none>" : [...new Set(roles)].sort().join(",");
}

function addressOf(node: Node, type: string): string {
  return node.status?.addresses?.find((address) => address.type === type)?.address ?? "<none>";
}

function validateTaints(node: Node): FieldErrors {
  const errors: FieldErrors = [];
  const seen = new Set<string>();
  (node.spec?.taints ?? []).forEach((taint, index) => {
    // The path is upstream's.
    const field = `metadata.taints[${index}]`;
    for (const problem of qualifiedName(taint.key ?? "")) errors.push(invalid(`${field}.key`, taint.key, problem));
    for (const problem of labelValue(taint.value ?? "")) errors.push(invalid(`${field}.value`, taint.value, problem));
    if (!taint.effect) errors.push(required(`${field}.effect`));
    else if (!taintEffects.includes(taint.effect))
      errors.push(notListed(`${field}.effect`, taint.effect, taintEffects));
    const id = `${taint.key}:${taint.effect}`;
    if (seen.has(id)) errors.push(duplicate(field, taint));
    seen.add(id);
  });
  return errors;
}
