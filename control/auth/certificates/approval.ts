// Which certificate requests are approved without a person: nodes' own, when the asker may have them.

import type { UserInfo } from "../../../plugins/kit/kube/user-info.ts";
import type { Node } from "../../../plugins/kit/kube/objects/types.ts";
import type { SigningRequest } from "../../../plugins/kit/os/x509.ts";
import { plainAddress, type ReservedNames } from "./reserved-names.ts";
import { type CertificateSigningRequest, nodeNameIn, problemWith, signers } from "./signing.ts";

export interface ApprovalViews {
  node(name: string): Node | undefined;
  nodes(): readonly Node[];
  /** Since the node last renewed its lease, or was made; undefined when it has done neither for as long as we listen. */
  heardAgoMs(nodeName: string): number | undefined;
  readonly listeningMs: number;
  readonly reserved: ReservedNames;
}

export type Judgement =
  /**
   * Ask whether the requester may create this subresource of certificatesigningrequests; if so, approve with the message.
   * A `tokenId` is that of the bootstrap token which the request must use up.
   */
  | {
      readonly answer: "approve-if-may";
      readonly subresource: string;
      readonly message: string;
      readonly tokenId?: string;
    }
  | { readonly answer: "approve"; readonly message: string }
  | { readonly answer: "deny"; readonly reason: string; readonly message: string }
  /** What is needed is not there yet. */
  | { readonly answer: "wait" }
  | { readonly answer: "not-mine" };

const nodeSigners: readonly string[] = [signers.kubeletClient, signers.kubeletServing, signers.nodeDaemon];
const aliveWithinMs = 40_000;
const deny = (reason: string, message: string): Judgement => ({ answer: "deny", reason, message });

export function judge(csr: CertificateSigningRequest, wanted: SigningRequest, views: ApprovalViews): Judgement {
  const { signerName, username = "", groups } = csr.spec;
  if (!nodeSigners.includes(signerName)) return { answer: "not-mine" };
  const problem = problemWith(csr, wanted, views.reserved);
  if (problem !== undefined) return deny("SignerValidationFailure", problem);
  // All that counts is checked above.
  if (signerName === signers.nodeDaemon) return { answer: "approve", message: "Auto approving a daemon of the node." };
  const isSelf = username === wanted.commonName;
  if (signerName === signers.kubeletClient) return isSelf ? renewal : judgeJoin(username, nodeNameIn(wanted), views);
  if (!isSelf || !groups?.includes("system:nodes")) return { answer: "not-mine" };
  return judgeServing(wanted, nodeNameIn(wanted), views);
}

const renewal: Judgement = {
  answer: "approve-if-may",
  subresource: "selfnodeclient",
  message: "Auto approving self kubelet client certificate after SubjectAccessReview.",
};

/** A client certificate for a node that is not the requester. */
function judgeJoin(username: string, nodeName: string, views: ApprovalViews): Judgement {
  const name = `node name ${JSON.stringify(nodeName)}`;
  const problem = views.reserved.dnsProblem(nodeName);
  if (problem) return deny("NodeNameReserved", `${name} ${problem}`);
  // A second box must not take over the name of one that is alive; one that came back without its keys may.
  if (views.node(nodeName)) {
    const heardAgoMs = views.heardAgoMs(nodeName);
    if (heardAgoMs !== undefined && heardAgoMs < aliveWithinMs)
      return deny("NodeNameTaken", `${name} is taken by a node that is alive`);
    // After a restart every node has been silent.
    if (heardAgoMs === undefined && views.listeningMs < aliveWithinMs) return { answer: "wait" };
  }
  const tokenId = /^system:bootstrap:([a-z0-9]{6})$/.exec(username)?.[1];
  return {
    answer: "approve-if-may",
    subresource: "nodeclient",
    message: "Auto approving kubelet client certificate after SubjectAccessReview.",
    ...(tokenId ? { tokenId } : {}),
  };
}

/**
 * A node serves under its own name and the addresses that it, and no other node or API server, has. A box may well run a server and a
 * node, or two nodes: then a person knows, and approves.
 */
function judgeServing(wanted: SigningRequest, nodeName: string, views: ApprovalViews): Judgement {
  const node = views.node(nodeName);
  if (!node) return { answer: "wait" };
  const own = new Set(addressesOf(node));
  const others = new Set(
    views
      .nodes()
      .filter(({ metadata }) => metadata.name !== nodeName)
      .flatMap(addressesOf),
  );
  const isOwn = (address: string) =>
    own.has(address) && !others.has(address) && views.reserved.ipProblem(address) === undefined;
  // The node reports its addresses in its own time. Other DNS names are whatever it says.
  return wanted.dnsNames.every((name) => name === nodeName) && wanted.ipAddresses.map(plainAddress).every(isOwn)
    ? { answer: "approve", message: "Auto approving kubelet serving certificate for the node's own addresses." }
    : { answer: "wait" };
}

const addressesOf = (node: Node): string[] =>
  (node.status?.addresses ?? []).map(({ address }) => plainAddress(address));

export function requesterOf({ spec }: CertificateSigningRequest): UserInfo {
  return {
    name: spec.username ?? "",
    groups: spec.groups ?? [],
    ...(spec.uid ? { uid: spec.uid } : {}),
    ...(spec.extra ? { extra: spec.extra } : {}),
  };
}
