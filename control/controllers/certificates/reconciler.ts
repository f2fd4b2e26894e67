// Approves nodes' own certificate requests, signs what was approved, and takes away requests that are done or forgotten.

import type { Call } from "../../../plugins/kit/base/call.ts";
import { type Fault, isFault, toFault } from "../../../plugins/kit/base/fault.ts";
import { resources } from "../../../plugins/kit/kube/objects/resources.ts";
import type { Node } from "../../../plugins/kit/kube/objects/types.ts";
import type { CertificateAndKey } from "../../../plugins/kit/os/x509.ts";
import { judge, requesterOf } from "../../auth/certificates/approval.ts";
import type { ReservedNames } from "../../auth/certificates/reserved-names.ts";
import {
  type CertificateSigningRequest,
  isOurs,
  nodeNameIn,
  requestIn,
  signRequest,
} from "../../auth/certificates/signing.ts";
import { useToken } from "../../auth/join/token-use.ts";
import type { ControllerContext, ControllerFactory } from "../../manager/contract.ts";
import { NodeSigns } from "./node-signs.ts";

type Condition = NonNullable<NonNullable<CertificateSigningRequest["status"]>["conditions"]>[number];

const hour = 3_600_000;
const lookAgainMs = 10_000;
const afterConflictMs = 100;
const ref = resources.certificatesigningrequests;

export interface SignerSettings {
  readonly ca: CertificateAndKey;
  readonly reserved: ReservedNames;
}

export function certificateController(signer: SignerSettings): ControllerFactory {
  return (context) => {
    const requests = context.informers.for<CertificateSigningRequest>(ref);
    const signs = new NodeSigns(context.informers, context.clock);
    return {
      name: "certificates",
      wakes: [
        { resource: ref, keys: (csr: CertificateSigningRequest) => [csr.metadata.name ?? ""] },
        // A node's serving certificate waits until the node has reported its addresses.
        {
          resource: resources.nodes,
          keys: (node: Node) =>
            requests
              .list()
              .filter((csr) => csr.spec.username === `system:node:${node.metadata.name}` && !csr.status?.certificate)
              .map((csr) => csr.metadata.name ?? ""),
        },
      ],
      async reconcile(name, call) {
        const csr = requests.get("", name);
        if (!csr) return undefined;
        try {
          return await step(csr, { ...signer, signs }, context, call);
        } catch (error) {
          // Somebody else moved it on: that change wakes us again.
          if (isFault(error, "conflict", "not-found")) return undefined;
          throw error;
        }
      },
    };
  };
}

const has = (csr: CertificateSigningRequest, type: string) =>
  csr.status?.conditions?.some((each) => each.type === type) === true;

interface Signer extends SignerSettings {
  readonly signs: NodeSigns;
}

async function step(
  csr: CertificateSigningRequest,
  signer: Signer,
  context: ControllerContext,
  call: Call,
): Promise<number | undefined> {
  const { client, clock } = context;
  const age = clock.now() - Date.parse(csr.metadata.creationTimestamp ?? "");
  const isDone = Boolean(csr.status?.certificate) || has(csr, "Denied") || has(csr, "Failed");
  // Upstream's cleaner: what was answered goes after an hour, what nobody answered after a day.
  const lifetime = isDone ? hour : 24 * hour;
  if (age > lifetime) {
    await client.delete(ref, { name: csr.metadata.name ?? "" }, call);
    return undefined;
  }
  if (isDone) return lifetime - age + 1000;
  if (has(csr, "Approved")) {
    await sign(csr, signer, context, call);
    return undefined;
  }
  return approve(csr, signer, context, call);
}

async function approve(
  csr: CertificateSigningRequest,
  { reserved, signs }: Signer,
  context: ControllerContext,
  call: Call,
): Promise<number | undefined> {
  const { informers, clock, client } = context;
  const nodes = informers.for<Node>(resources.nodes);
  const wanted = requestIn(csr);
  const judgement = judge(csr, wanted, {
    node: (name) => nodes.get("", name),
    nodes: () => nodes.list(),
    reserved,
    heardAgoMs: (name) => signs.heardAgoMs(name),
    listeningMs: signs.listeningMs,
  });
  switch (judgement.answer) {
    case "not-mine":
      return 24 * hour;
    case "wait":
      // What has waited long is looked at seldom: a node may make any number of requests that are never approved.
      return Math.max(lookAgainMs, (clock.now() - Date.parse(csr.metadata.creationTimestamp ?? "")) / 2);
    case "deny":
      return deny(csr, judgement, context, call);
    case "approve-if-may": {
      if (!(await may(client, csr, judgement.subresource, call))) return 24 * hour;
      const { tokenId } = judgement;
      if (!tokenId) break;
      try {
        const use = { tokenId, nodeName: nodeNameIn(wanted), publicKey: wanted.publicKey };
        const message = await useToken(use, client, call);
        if (message) return deny(csr, { reason: "TokenUsed", message }, context, call);
      } catch (error) {
        if (!isFault(error, "conflict")) throw error;
        return afterConflictMs;
      }
    }
  }
  await condition(
    csr,
    "approval",
    { type: "Approved", reason: "AutoApproved", message: judgement.message },
    context,
    call,
  );
  return undefined;
}

async function deny(
  csr: CertificateSigningRequest,
  { reason, message }: { reason: string; message: string },
  context: ControllerContext,
  call: Call,
): Promise<undefined> {
  await condition(csr, "approval", { type: "Denied", reason, message }, context, call);
}

async function may(
  client: ControllerContext["client"],
  csr: CertificateSigningRequest,
  subresource: string,
  call: Call,
): Promise<boolean> {
  const { name: user, ...rest } = requesterOf(csr);
  const resourceAttributes = { group: ref.group, resource: ref.plural, verb: "create", subresource };
  const review = {
    apiVersion: "authorization.k8s.io/v1",
    kind: "SubjectAccessReview",
    metadata: {},
    spec: { user, ...rest, resourceAttributes },
  };
  const answer = await client.create<{ status?: { allowed?: boolean } }>(resources.subjectaccessreviews, review, call);
  return answer.status?.allowed === true;
}

async function sign(
  csr: CertificateSigningRequest,
  { ca, reserved }: SignerSettings,
  context: ControllerContext,
  call: Call,
): Promise<void> {
  if (!isOurs(csr.spec.signerName)) return;
  let certificate: string;
  try {
    certificate = signRequest(ca, csr, reserved, context.clock);
  } catch (error) {
    const { message }: Fault = toFault(error, "the request");
    return condition(csr, "status", { type: "Failed", reason: "SignerValidationFailure", message }, context, call);
  }
  const status = { ...csr.status, certificate: Buffer.from(certificate).toString("base64") };
  await context.client.update(ref, { ...csr, status }, call, { subresource: "status" });
}

async function condition(
  csr: CertificateSigningRequest,
  subresource: "approval" | "status",
  added: Omit<Condition, "status">,
  { client, clock }: ControllerContext,
  call: Call,
): Promise<void> {
  const lastUpdateTime = new Date(clock.now()).toISOString().replace(/\.\d+Z$/, "Z");
  const conditions = [...(csr.status?.conditions ?? []), { status: "True", lastUpdateTime, ...added }];
  await client.update(ref, { ...csr, status: { ...csr.status, conditions } }, call, { subresource });
}
