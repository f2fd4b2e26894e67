// What a node may write, beyond what its authorizer can see: its own objects, mirror pods, and no labels that others
// decide by.

import { type AdmissionRequest, refuse } from "../kit/admission.ts";
import type { KubeObject, Node, Pod } from "../kit/objects/types.ts";
import { equalJson } from "../kit/patch/json-tree.ts";
import { checkMirrorPod } from "./node-restriction/mirror-pod.ts";
import { forbiddenLabels } from "./node-restriction/labels.ts";
import { step, type Tools } from "./step.ts";

type Rule = (node: string, request: AdmissionRequest, tools: Tools) => void;

export const nodeRestriction = step("NodeRestriction", (tools) => ({
  handles: (request) =>
    request.user.groups.includes("system:nodes") && rules[`${request.group}/${request.resource}`] !== undefined,
  validate(request) {
    const match = /^system:node:(.+)$/.exec(request.user.name);
    if (!match?.[1]) throw refuse(request, `could not determine node from user ${JSON.stringify(request.user.name)}`);
    rules[`${request.group}/${request.resource}`]?.(match[1], request, tools);
  },
}));

const rules: Readonly<Record<string, Rule>> = {
  "/pods": restrictPod,
  "/nodes": restrictNode,
  "/serviceaccounts": restrictToken,
  "/persistentvolumeclaims": restrictClaim,
  "coordination.k8s.io/leases": (node, request) => {
    if (request.namespace !== "kube-node-lease")
      throw refuse(request, 'can only access leases in the "kube-node-lease" system namespace');
    if (nameOf(request) !== node)
      throw refuse(request, "can only access node lease with the same name as the requesting node");
  },
  "storage.k8s.io/csinodes": (node, request) => {
    if (nameOf(request) !== node)
      throw refuse(request, "can only access CSINode with the same name as the requesting node");
  },
};

const nameOf = (request: AdmissionRequest) => request.object?.metadata.name || request.name;
const quote = (text: string) => JSON.stringify(text);

function restrictPod(node: string, request: AdmissionRequest, tools: Tools): void {
  const { operation, subresource } = request;
  const nodeOf = (object: KubeObject | undefined) => (object as unknown as Pod | undefined)?.spec?.nodeName;
  const stored =
    request.oldObject ?? tools.view.informer({ group: "", plural: "pods" }).get(request.namespace, request.name);
  if (subresource === "" && operation === "CREATE") return checkMirrorPod(node, request, tools);
  if (subresource === "" && operation === "DELETE") {
    if (nodeOf(stored) === node) return;
    throw refuse(request, `node ${quote(node)} can only delete pods with spec.nodeName set to itself`);
  }
  if (subresource === "") {
    throw refuse(
      request,
      `unexpected operation ${quote(operation)}, node ${quote(node)} can only create and delete mirror pods`,
    );
  }
  if (subresource === "status" && operation === "UPDATE") {
    if (nodeOf(stored) !== node) {
      throw refuse(request, `node ${quote(node)} can only update pod status for pods with spec.nodeName set to itself`);
    }
    if (!equalJson(stored?.metadata.labels ?? {}, request.object?.metadata.labels ?? {})) {
      throw refuse(request, `node ${quote(node)} cannot update labels through pod status`);
    }
    return;
  }
  if (subresource === "eviction" && operation === "CREATE") {
    if (nodeOf(stored) === node) return;
    throw refuse(request, `node ${quote(node)} can only evict pods with spec.nodeName set to itself`);
  }
  throw refuse(request, `unexpected pod subresource ${quote(subresource)}, only 'status' and 'eviction' are allowed`);
}

function restrictNode(node: string, request: AdmissionRequest): void {
  if (nameOf(request) !== node)
    throw refuse(request, `node ${quote(node)} is not allowed to modify node ${quote(nameOf(request))}`);
  const next = request.object as unknown as Node | undefined;
  if (!next) return;
  const previous = request.oldObject as unknown as Node | undefined;
  const labels = forbiddenLabels(next.metadata.labels, previous?.metadata.labels);
  if (request.operation === "CREATE") {
    if (labels.length > 0)
      throw refuse(request, `node ${quote(node)} is not allowed to set the following labels: ${labels.join(", ")}`);
    return;
  }
  if (request.operation !== "UPDATE") return;
  if (!equalJson(next.spec?.taints ?? [], previous?.spec?.taints ?? [])) {
    throw refuse(request, `node ${quote(node)} is not allowed to modify taints`);
  }
  if (labels.length > 0) throw refuse(request, `is not allowed to modify labels: ${labels.join(", ")}`);
}

/** A node asks for tokens only on behalf of a pod that runs on it. */
function restrictToken(node: string, request: AdmissionRequest, { view }: Tools): void {
  if (request.operation !== "CREATE" || request.subresource !== "token") return;
  const spec = request.object?.spec as { boundObjectRef?: { kind?: string; name?: string; uid?: string } } | undefined;
  const ref = spec?.boundObjectRef;
  if (ref?.kind !== "Pod" || !ref.name) throw refuse(request, "node requested token not bound to a pod");
  if (!ref.uid) throw refuse(request, "node requested token with a pod binding without a uid");
  const pod = view.informer<Pod>({ group: "", plural: "pods" }).get(request.namespace, ref.name);
  if (!pod) throw refuse(request, `pod ${quote(ref.name)} not found`);
  if (pod.metadata.uid !== ref.uid) {
    throw refuse(
      request,
      `the UID in the bound object reference (${ref.uid}) does not match the UID in record. The object might have been deleted and then recreated`,
    );
  }
  if (pod.spec?.nodeName !== node)
    throw refuse(request, "node requested token bound to a pod scheduled on a different node");
}

function restrictClaim(node: string, request: AdmissionRequest): void {
  if (request.operation !== "UPDATE" || request.subresource !== "status") {
    throw refuse(request, `may only update PVC status`);
  }
  const rest = (object: KubeObject | undefined) => {
    const { managedFields: _fields, resourceVersion: _version, ...metadata } = object?.metadata ?? {};
    return [object?.spec, metadata];
  };
  if (equalJson(rest(request.object), rest(request.oldObject))) return;
  throw refuse(request, `node ${quote(node)} is not allowed to update fields other than status`);
}
