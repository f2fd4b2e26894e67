// What a node may do to the resources that are divided between nodes. Decisions per resource, subresource and verb are those of
// kube-apiserver 1.37 with its default feature gates; writes are allowed here where upstream leaves them to NodeRestriction.

import { parseFieldSelector } from "../../../plugins/kit/kube/selector.ts";
import type { Attributes } from "../../machinery/attributes.ts";
import type { NodeGraph } from "./graph.ts";

type Resource = NonNullable<Attributes["resource"]>;

/** True allows; a text is the reason why not. */
type Answer = true | string;
type Check = (node: string, verb: string, resource: Resource, graph: NodeGraph) => Answer;

type Relation = (graph: NodeGraph, node: string, resource: Resource) => boolean;

const objectVerbs = new Set(["get", "create", "update", "patch", "delete"]);

const related: (isRelated: Relation) => Check = (isRelated) => (node, _verb, resource, graph) => {
  if (resource.name === "") return "No Object name found";
  return isRelated(graph, node, resource) ? true : `no relationship found between node '${node}' and this object`;
};

const getOnly = (isRelated: Relation): Check => {
  const check = related(isRelated);
  return (node, verb, resource, graph) => {
    if (verb !== "get") return "can only get individual resources of this type";
    if (resource.subresource !== "") return "cannot get subresource";
    return check(node, verb, resource, graph);
  };
};

const readNamespaced = (isRelated: Relation): Check => {
  const check = related(isRelated);
  return (node, verb, resource, graph) => {
    if (verb !== "get" && verb !== "list" && verb !== "watch") return "can only read resources of this type";
    if (resource.subresource !== "") return "cannot read subresource";
    if (resource.namespace === "") return "can only read namespaced object of this type";
    return check(node, verb, resource, graph);
  };
};

/** True when every object of a list or watch has this value. What cannot be parsed selects nothing. */
function selects({ fieldSelector = "" }: Resource, field: string, value: string): boolean {
  try {
    return parseFieldSelector(fieldSelector).requirements.some(
      (each) => each.field === field && each.op === "=" && each.value === value,
    );
  } catch {
    return false;
  }
}

const byClaim: Relation = (graph, node, { namespace, name }) => graph.usesClaim(node, namespace, name);
const byAccount: Relation = (graph, node, { namespace, name }) => graph.usesServiceAccount(node, namespace, name);
const byPod: Relation = (graph, node, { namespace, name }) => graph.hasPod(node, namespace, name);
const getClaim = getOnly(byClaim);
const readAccount = readNamespaced(byAccount);
const getPod = getOnly(byPod);

/** An object that bears the node's name. On create the name is not known yet: NodeRestriction compares it. */
function ownObject(kind: string, node: string, verb: string, name: string): Answer {
  if (!objectVerbs.has(verb)) return `can only get, create, update, patch, or delete a ${kind}`;
  if (verb !== "create" && name !== node) return `can only access ${kind} with the same name as the requesting node`;
  return true;
}

const checkNode: Check = (node, verb, { subresource, name }) => {
  if (subresource === "status") return verb === "update" || verb === "patch" ? true : "";
  if (subresource !== "") return "";
  if (verb === "create" || verb === "update" || verb === "patch") return true;
  if (verb !== "get" && verb !== "list" && verb !== "watch") return "";
  if (name === node) return true;
  return `node '${node}' cannot read ${name === "" ? "all nodes" : `'${name}'`}, only its own Node object`;
};

const checkPod: Check = (node, verb, resource, graph) => {
  const { subresource, name } = resource;
  if (subresource === "status") return verb === "update" || verb === "patch" ? true : "";
  if (subresource === "eviction") return verb === "create" ? true : "";
  if (subresource !== "") return "";
  if (verb === "create" || verb === "delete") return true;
  if (verb === "get") return getPod(node, verb, resource, graph);
  if (verb !== "list" && verb !== "watch") return "";
  if (selects(resource, "spec.nodeName", node)) return true;
  if (name !== "") return related(byPod)(node, verb, resource, graph);
  return "can only list/watch pods with spec.nodeName field selector";
};

// ResourceSlices and PodCertificateRequests are not served: no existing one is related to a node.
const none: Relation = () => false;

const checkSlice: Check = (node, verb, resource, graph) => {
  if (resource.subresource !== "") return "cannot authorize ResourceSlice subresources";
  if (verb === "create") return true;
  if (objectVerbs.has(verb)) return related(none)(node, verb, resource, graph);
  return selects(resource, "spec.nodeName", node)
    ? true
    : "can only list/watch/deletecollection resourceslices with nodeName field selector";
};

const checkPodCertificate: Check = (node, verb, resource, graph) => {
  if (resource.subresource !== "") return "nodes may not access the status subresource of PodCertificateRequests";
  if (verb === "create") return true;
  if (verb === "get") return related(none)(node, verb, resource, graph);
  if (verb !== "list" && verb !== "watch") return `nodes may not ${verb} podcertificaterequests`;
  return selects(resource, "spec.nodeName", node)
    ? true
    : "can only list/watch podcertificaterequests with nodeName field selector";
};

/** By `group/plural`. A resource that is not here is decided by the rules of the role system:node alone. */
export const checks: Readonly<Record<string, Check>> = {
  "/secrets": readNamespaced((graph, node, { namespace, name }) => graph.usesSecret(node, namespace, name)),
  "/configmaps": readNamespaced((graph, node, { namespace, name }) => graph.usesConfigMap(node, namespace, name)),
  "/persistentvolumeclaims": (node, verb, resource, graph) => {
    if (resource.subresource !== "status") return getClaim(node, verb, resource, graph);
    if (verb !== "update" && verb !== "patch") return "can only get/update/patch this type";
    return related(byClaim)(node, verb, resource, graph);
  },
  "/persistentvolumes": getOnly((graph, node, { name }) => graph.usesVolume(node, name)),
  "resource.k8s.io/resourceclaims": getOnly((graph, node, { namespace, name }) =>
    graph.usesResourceClaim(node, namespace, name),
  ),
  "resource.k8s.io/resourceslices": checkSlice,
  "certificates.k8s.io/podcertificaterequests": checkPodCertificate,
  "storage.k8s.io/volumeattachments": getOnly((graph, node, { name }) => graph.hasAttachment(node, name)),
  "/serviceaccounts": (node, verb, resource, graph) => {
    if (verb === "get" && resource.subresource === "") return readAccount(node, verb, resource, graph);
    if (verb !== "create" || resource.name === "") return "can only create tokens for individual service accounts";
    if (resource.subresource !== "token") return "can only create token subresource of serviceaccount";
    return related(byAccount)(node, verb, resource, graph);
  },
  "coordination.k8s.io/leases": (node, verb, { namespace, name }) =>
    namespace === "kube-node-lease"
      ? ownObject("node lease", node, verb, name)
      : `can only access leases in the "kube-node-lease" system namespace`,
  "storage.k8s.io/csinodes": (node, verb, { subresource, name }) =>
    subresource === "" ? ownObject("CSINode", node, verb, name) : "cannot authorize CSINode subresources",
  "/nodes": checkNode,
  "/pods": checkPod,
};
