// Which certificate requests are approved without a person: nodes' own, when the asker may have them.

import type { UserInfo } from "../../../plugins/kit/admission.ts";
import type { Node } from "../../../plugins/kit/objects/types.ts";
import type { SigningRequest } from "../../../plugins/kit/x509.ts";
import { type CertificateSigningRequest, problemWith, signers } from "./signing.ts";

export interface ApprovalViews {
  node(name: string): Node | undefined;
  /** Wall time in milliseconds when the node last renewed its lease. */
  lastRenewal(nodeName: string): number | undefined;
  now: number;
}

export type Judgement =
  /** Ask whether the requester may create this subresource of certificatesigningrequests; if so, approve with the message. */
  | { readonly answer: "approve-if-may"; readonly subresource: string; readonly message: string }
  | { readonly answer: "approve"; readonly message: string }
  | { readonly answer: "deny"; readonly reason: string; readonly message: string }
  /** What is needed is not there yet. */
  | { readonly answer: "wait" }
  | { readonly answer: "not-mine" };

const aliveWithinMs = 40_000;

export function judge(csr: CertificateSigningRequest, wanted: SigningRequest, views: ApprovalViews): Judgement {
  if (problemWith(csr, wanted) !== undefined) return { answer: "not-mine" };
  const nodeName = wanted.commonName.slice("system:node:".length);
  const isSelf = csr.spec.username === wanted.commonName;
  if (csr.spec.signerName === signers.kubeletClient) {
    if (isSelf) {
      const message = "Auto approving self kubelet client certificate after SubjectAccessReview.";
      return { answer: "approve-if-may", subresource: "selfnodeclient", message };
    }
    const renewed = views.lastRenewal(nodeName);
    // A second box must not take over the name of one that is alive; one that came back without its keys may.
    if (views.node(nodeName) && renewed !== undefined && views.now - renewed < aliveWithinMs) {
      const message = `node name ${JSON.stringify(nodeName)} is taken by a node that is alive`;
      return { answer: "deny", reason: "NodeNameTaken", message };
    }
    const message = "Auto approving kubelet client certificate after SubjectAccessReview.";
    return { answer: "approve-if-may", subresource: "nodeclient", message };
  }
  if (csr.spec.signerName !== signers.kubeletServing || !isSelf || !csr.spec.groups?.includes("system:nodes"))
    return { answer: "not-mine" };
  return judgeServing(wanted, views.node(nodeName), nodeName);
}

/** A node serves under its own names and addresses and no others. */
function judgeServing(wanted: SigningRequest, node: Node | undefined, nodeName: string): Judgement {
  if (!node) return { answer: "wait" };
  const own = new Set([nodeName, ...(node.status?.addresses ?? []).map(({ address }) => address)]);
  const strange = [...wanted.dnsNames, ...wanted.ipAddresses].filter((name) => !own.has(name));
  if (strange.length === 0)
    return { answer: "approve", message: "Auto approving kubelet serving certificate for the node's own addresses." };
  // The node reports its addresses in its own time; a person may still approve what it never reports.
  return { answer: "wait" };
}

export function requesterOf({ spec }: CertificateSigningRequest): UserInfo {
  return {
    name: spec.username ?? "",
    groups: spec.groups ?? [],
    ...(spec.uid ? { uid: spec.uid } : {}),
    ...(spec.extra ? { extra: spec.extra } : {}),
  };
}
