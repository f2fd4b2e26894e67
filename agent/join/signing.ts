// Asks the cluster to sign a certificate: a signing request, and waiting for its answer on a watch.

import type { Call } from "../../plugins/kit/base/call.ts";
import type { ApiClient } from "../../plugins/kit/kube/client/api-client.ts";
import { Fault } from "../../plugins/kit/base/fault.ts";
import type { nodeDaemonSigner } from "../../plugins/kit/kube/node-daemon.ts";
import { resources } from "../../plugins/kit/kube/objects/resources.ts";
import type { ObjectMeta } from "../../plugins/kit/kube/objects/types.ts";
import { createKeyPair, createSigningRequest } from "../../plugins/kit/os/x509.ts";
import type { Pair } from "./credentials.ts";

export interface CertificateSpec {
  readonly nodeName: string;
  readonly signer:
    | "kubernetes.io/kube-apiserver-client-kubelet"
    | "kubernetes.io/kubelet-serving"
    | typeof nodeDaemonSigner;
  /** Whom the certificate is for; the node itself when absent. */
  readonly subject?: { readonly commonName: string; readonly organizations: readonly string[] };
  readonly expirationSeconds?: number;
  readonly dnsNames?: readonly string[];
  readonly ipAddresses?: readonly string[];
  /** PEM; a new one when absent. */
  readonly key?: string;
  /** Called with the name of the request when it was created. */
  readonly onMade?: (requestName: string) => void;
}

interface SigningRequestObject {
  readonly metadata: ObjectMeta;
  readonly status?: {
    readonly certificate?: string;
    readonly conditions?: readonly { readonly type: string; readonly message?: string }[];
  };
}

/** Resolves with the signed pair; Fault `forbidden` carries the reason of a denial. Waits as long as the call lives. */
export async function requestCertificate(client: ApiClient, spec: CertificateSpec, call: Call): Promise<Pair> {
  const key = spec.key ?? createKeyPair().key;
  const request = createSigningRequest({
    ...(spec.subject ?? { commonName: `system:node:${spec.nodeName}`, organizations: ["system:nodes"] }),
    dnsNames: spec.dnsNames ?? [],
    ipAddresses: spec.ipAddresses ?? [],
    key,
  });
  const isServing = spec.signer === "kubernetes.io/kubelet-serving";
  const made = await client.create<SigningRequestObject>(
    resources.certificatesigningrequests,
    {
      apiVersion: "certificates.k8s.io/v1",
      kind: "CertificateSigningRequest",
      metadata: { generateName: "node-csr-" },
      spec: {
        request: Buffer.from(request).toString("base64"),
        signerName: spec.signer,
        usages: ["digital signature", isServing ? "server auth" : "client auth"],
        ...(spec.expirationSeconds ? { expirationSeconds: spec.expirationSeconds } : {}),
      },
    },
    call,
  );
  spec.onMade?.(made.metadata.name ?? "");
  const signed = await answered(client, made, spec, call);
  return { cert: Buffer.from(signed, "base64").toString("utf8"), key };
}

async function answered(
  client: ApiClient,
  made: SigningRequestObject,
  spec: CertificateSpec,
  call: Call,
): Promise<string> {
  const { name = "", resourceVersion = "0" } = made.metadata;
  for (let since = resourceVersion; ; ) {
    const found = await client.get<SigningRequestObject>(resources.certificatesigningrequests, { name }, call);
    const answer = answerIn(found, spec);
    if (answer) return answer;
    since = found.metadata.resourceVersion ?? since;
    const watch = { fieldSelector: `metadata.name=${name}`, resourceVersion: since, timeoutSeconds: 60 };
    for await (const { object } of client.watch<SigningRequestObject>(
      resources.certificatesigningrequests,
      watch,
      call,
    )) {
      const told = answerIn(object, spec);
      if (told) return told;
    }
  }
}

function answerIn({ metadata, status }: SigningRequestObject, spec: CertificateSpec): string | undefined {
  if (status?.certificate) return status.certificate;
  const refusal = status?.conditions?.find(({ type }) => type === "Denied" || type === "Failed");
  if (!refusal) return undefined;
  throw new Fault(
    "forbidden",
    `Cannot ${spec.subject ? `get a certificate for "${spec.subject.commonName}"` : `join as node "${spec.nodeName}"`}: ${refusal.message ?? `signing request ${metadata.name} was refused`}`,
  );
}
