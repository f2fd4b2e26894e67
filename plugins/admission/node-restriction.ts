// What a node may write, beyond what its authorizer can see: its own objects, mirror pods, and no labels that others
// decide by. The rules are those of kube-apiserver 1.37.

import { type AdmissionRequest, refuse } from "../kit/contracts/admission.ts";
import type { Call } from "../kit/base/call.ts";
import type { KubeObject } from "../kit/kube/objects/types.ts";
import { equalJson } from "../kit/kube/patch/json-tree.ts";
import { parseSigningRequest } from "../kit/os/x509.ts";
import { restrictNode } from "./node-restriction/node.ts";
import { restrictPod } from "./node-restriction/pod.ts";
import { restrictToken } from "./node-restriction/token.ts";
import { step, type Tools } from "./step.ts";

type Rule = (node: string, request: AdmissionRequest, tools: Tools, call: Call) => void | Promise<void>;

export const nodeRestriction = step("NodeRestriction", (tools) => {
  const check = async (request: AdmissionRequest, call: Call) => {
    const match = /^system:node:(.+)$/.exec(request.user.name);
    if (!match?.[1]) throw refuse(request, `could not determine node from user ${JSON.stringify(request.user.name)}`);
    await rules[`${request.group}/${request.resource}`]?.(match[1], request, tools, call);
  };
  return {
    handles: (request) =>
      request.user.groups.includes("system:nodes") && rules[`${request.group}/${request.resource}`] !== undefined,
    // Before the object is validated, as upstream does, and again once others have changed it.
    mutate: check,
    validate: check,
  };
});

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
  "certificates.k8s.io/certificatesigningrequests": restrictSigningRequest,
};

const nameOf = (request: AdmissionRequest) => request.name || request.object?.metadata.name || "";

const nodeSigners = ["kubernetes.io/kubelet-serving", "kubernetes.io/kube-apiserver-client-kubelet"];

/** Certificates of nodes are asked for by the node itself. */
function restrictSigningRequest(node: string, request: AdmissionRequest): void {
  if (request.operation !== "CREATE") return;
  const spec = request.object?.spec as { signerName?: string; request?: string } | undefined;
  if (!nodeSigners.includes(spec?.signerName ?? "")) return;
  const { commonName } = parseSigningRequest(Buffer.from(spec?.request ?? "", "base64").toString("utf8"));
  if (commonName !== `system:node:${node}`)
    throw refuse(request, `can only create a node CSR with CN=system:node:${node}`);
}

/** Of a claim a node writes how large it is and how far its expansion got. */
function restrictClaim(node: string, request: AdmissionRequest): void {
  if (request.subresource !== "status") throw refuse(request, "may only update PVC status");
  if (request.operation !== "UPDATE")
    throw refuse(request, `unexpected operation ${JSON.stringify(request.operation)}`);
  if (equalJson(claimWithoutReport(request.object), claimWithoutReport(request.oldObject))) return;
  throw refuse(
    request,
    `node ${JSON.stringify(node)} is not allowed to update fields other than status.quantity and status.conditions`,
  );
}

function claimWithoutReport(object: KubeObject | undefined): unknown {
  const { managedFields: _fields, resourceVersion: _version, ...metadata } = object?.metadata ?? {};
  const {
    capacity: _capacity,
    conditions: _conditions,
    allocatedResources: _resources,
    allocatedResourceStatuses: _statuses,
    ...status
  } = (object?.status ?? {}) as Record<string, unknown>;
  return { metadata, spec: object?.spec ?? {}, status };
}
