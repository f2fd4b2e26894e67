// Who may approve and sign certificate requests, and which subject nobody may ask for.

import { type AdmissionRequest, refuse } from "../kit/contracts/admission.ts";
import type { Call } from "../kit/base/call.ts";
import type { ClusterView } from "../kit/kube/cluster-view.ts";
import type { KubeObject } from "../kit/kube/objects/types.ts";
import { equalJson } from "../kit/kube/patch/json-tree.ts";
import { parseSigningRequest } from "../kit/os/x509.ts";
import { isWriteOf, step } from "./step.ts";

const group = "certificates.k8s.io";
const resource = "certificatesigningrequests";

interface SigningRequest extends KubeObject {
  spec: { signerName: string; request: string };
  status?: { certificate?: string; conditions?: { type: string }[] };
}

const isOn = (request: AdmissionRequest, subresource: string) =>
  request.group === group &&
  request.resource === resource &&
  request.subresource === subresource &&
  request.operation === "UPDATE";

/** A grant holds for one signer by name, or for all of a domain by `domain/*`. */
async function maySign(
  view: ClusterView,
  request: AdmissionRequest,
  verb: string,
  signer: string,
  call: Call,
): Promise<boolean> {
  const ask = (name: string) =>
    view.mayDo(
      {
        user: request.user,
        verb,
        resource: { group, version: "*", plural: "signers", subresource: "", namespace: "", name },
      },
      call,
    );
  return (await ask(signer)) || (await ask(`${signer.split("/")[0]}/*`));
}

export const certificateApproval = step("CertificateApproval", ({ view }) => ({
  handles: (request) => isOn(request, "approval"),
  async validate(request, call) {
    const { signerName } = (request.oldObject as SigningRequest | undefined)?.spec ?? { signerName: "" };
    if (await maySign(view, request, "approve", signerName, call)) return;
    throw refuse(request, `user not permitted to approve requests with signerName ${JSON.stringify(signerName)}`);
  },
}));

export const certificateSigning = step("CertificateSigning", ({ view }) => ({
  handles: (request) => isOn(request, "status"),
  async validate(request, call) {
    const [next, previous] = [request.object as SigningRequest, request.oldObject as SigningRequest];
    const isSigning =
      next.status?.certificate !== previous.status?.certificate ||
      !equalJson(next.status?.conditions ?? [], previous.status?.conditions ?? []);
    if (!isSigning || (await maySign(view, request, "sign", previous.spec.signerName, call))) return;
    throw refuse(
      request,
      `user not permitted to sign requests with signerName ${JSON.stringify(previous.spec.signerName)}`,
    );
  },
}));

const clientSigners = [
  "kubernetes.io/kube-apiserver-client",
  "kubernetes.io/kube-apiserver-client-kubelet",
  "kubernetes.io/legacy-unknown",
];

export const certificateSubjectRestriction = step("CertificateSubjectRestriction", () => ({
  handles: (request) => isWriteOf(request, group, resource, "CREATE"),
  validate(request) {
    const { spec } = request.object as SigningRequest;
    // Stricter than upstream, which looks at the first of these alone.
    if (!clientSigners.includes(spec.signerName)) return;
    const wanted = parseSigningRequest(Buffer.from(spec.request, "base64").toString("utf8"));
    if (!wanted.organizations.includes("system:masters")) return;
    throw refuse(request, `use of ${spec.signerName} signer with system:masters group is not allowed`);
  },
}));
