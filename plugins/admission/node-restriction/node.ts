// What a node may write of its own Node object. It connects to no Node at all, not even through its own: the API server would
// dial whatever address the node reports, with the credentials that every kubelet trusts.

import { type AdmissionRequest, refuse } from "../../kit/contracts/admission.ts";
import type { Node } from "../../kit/kube/objects/types.ts";
import { equalJson } from "../../kit/kube/patch/json-tree.ts";
import { forbiddenLabels } from "./labels.ts";

const podCidrs = (node: Node | undefined) => [node?.spec?.podCIDR ?? "", ...(node?.spec?.podCIDRs ?? [])];
const quote = (text: string) => JSON.stringify(text);

export function restrictNode(node: string, request: AdmissionRequest): void {
  const { operation } = request;
  const name = request.name || request.object?.metadata.name || "";
  if (operation === "CONNECT") throw refuse(request, `node ${quote(node)} is not allowed to connect to nodes`);
  if (name !== node) throw refuse(request, `node ${quote(node)} is not allowed to modify node ${quote(name)}`);
  const next = request.object as unknown as Node | undefined;
  const previous = request.oldObject as unknown as Node | undefined;
  if (!next) return;
  const labels = forbiddenLabels(next.metadata.labels, previous?.metadata.labels);
  const configSource = next.spec?.configSource;
  // Other nodes send the traffic of these addresses here, so the control plane gives them. Stricter than upstream.
  if (!equalJson(podCidrs(next), podCidrs(previous)))
    throw refuse(request, `node ${quote(node)} is not allowed to set podCIDRs`);
  // Garbage-collected with an owner that never was (CVE-2025-5187), or that it may delete as its CSINode, a node would register again
  // without its taints. Upstream allows owners at registration.
  if (!equalJson(next.metadata.ownerReferences ?? [], previous?.metadata.ownerReferences ?? []))
    throw refuse(request, `node ${quote(node)} is not allowed to modify ownerReferences`);
  if (operation === "CREATE") {
    if (configSource) throw refuse(request, `node ${quote(node)} is not allowed to set a non-nil configSource`);
    if (labels.length > 0)
      throw refuse(request, `node ${quote(node)} is not allowed to set the following labels: ${labels.join(", ")}`);
  }
  if (operation !== "UPDATE" || !previous) return;
  if (configSource && !equalJson(configSource, previous.spec?.configSource ?? null))
    throw refuse(request, `node ${quote(node)} is not allowed to update configSource to a new non-nil configSource`);
  if (!equalJson(next.spec?.taints ?? [], previous.spec?.taints ?? []))
    throw refuse(request, `node ${quote(node)} is not allowed to modify taints`);
  if (labels.length > 0) throw refuse(request, `is not allowed to modify labels: ${labels.join(", ")}`);
}
