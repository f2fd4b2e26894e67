// Approves nodes' own certificate requests, signs what was approved, and takes away requests that are done or forgotten.

import type { Call } from "../../../plugins/kit/call.ts";
import { type Fault, isFault, toFault } from "../../../plugins/kit/fault.ts";
import { resources } from "../../../plugins/kit/objects/resources.ts";
import type { Lease, Node } from "../../../plugins/kit/objects/types.ts";
import type { CertificateAndKey } from "../../../plugins/kit/x509.ts";
import { judge, requesterOf } from "../../auth/certificates/approval.ts";
import { type CertificateSigningRequest, isOurs, requestIn, signRequest } from "../../auth/certificates/signing.ts";
import type { ControllerContext, ControllerFactory } from "../../manager/contract.ts";

type Condition = NonNullable<NonNullable<CertificateSigningRequest["status"]>["conditions"]>[number];

const hour = 3_600_000;
const lookAgainMs = 10_000;
const ref = resources.certificatesigningrequests;

export function certificateController(ca: CertificateAndKey): ControllerFactory {
  return (context) => {
    const requests = context.informers.for<CertificateSigningRequest>(ref);
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
          return await step(csr, ca, context, call);
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

async function step(
  csr: CertificateSigningRequest,
  ca: CertificateAndKey,
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
    await sign(csr, ca, context, call);
    return undefined;
  }
  return approve(csr, context, call);
}

async function approve(
  csr: CertificateSigningRequest,
  context: ControllerContext,
  call: Call,
): Promise<number | undefined> {
  const { informers, clock, client } = context;
  const judgement = judge(csr, requestIn(csr), {
    node: (name) => informers.for<Node>(resources.nodes).get("", name),
    lastRenewal: (name) => renewalOf(informers.for<Lease>(resources.leases).get("kube-node-lease", name)),
    now: clock.now(),
  });
  switch (judgement.answer) {
    case "not-mine":
      return 24 * hour;
    case "wait":
      return lookAgainMs;
    case "deny":
      await condition(
        csr,
        "approval",
        { type: "Denied", reason: judgement.reason, message: judgement.message },
        context,
        call,
      );
      return undefined;
    case "approve-if-may":
      if (!(await may(client, csr, judgement.subresource, call))) return 24 * hour;
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

const renewalOf = (lease: Lease | undefined): number | undefined => {
  const at = Date.parse(String(lease?.spec?.renewTime ?? ""));
  return Number.isNaN(at) ? undefined : at;
};

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
  ca: CertificateAndKey,
  context: ControllerContext,
  call: Call,
): Promise<void> {
  if (!isOurs(csr.spec.signerName)) return;
  let certificate: string;
  try {
    certificate = signRequest(ca, csr, context.clock);
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
