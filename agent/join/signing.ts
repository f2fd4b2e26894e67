// Asks the cluster to sign a certificate: a signing request, and waiting for its answer on a watch.

import type { Call } from "../../plugins/kit/call.ts";
import type { ApiClient } from "../../plugins/kit/client/api-client.ts";
import { Fault } from "../../plugins/kit/fault.ts";
import { resources } from "../../plugins/kit/objects/resources.ts";
import type { ObjectMeta } from "../../plugins/kit/objects/types.ts";
import { createKeyPair, createSigningRequest } from "../../plugins/kit/x509.ts";
import type { Pair } from "./credentials.ts";

export interface CertificateWish {
  readonly nodeName: string;
  readonly signer: "kubernetes.io/kube-apiserver-client-kubelet" | "kubernetes.io/kubelet-serving";
  readonly dnsNames?: readonly string[];
  readonly ipAddresses?: readonly string[];
  /** Told the name of the request as soon as it is made. */
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
export async function requestCertificate(client: ApiClient, wish: CertificateWish, call: Call): Promise<Pair> {
  const pair = createKeyPair();
  const request = createSigningRequest({
    commonName: `system:node:${wish.nodeName}`,
    organizations: ["system:nodes"],
    dnsNames: wish.dnsNames ?? [],
    ipAddresses: wish.ipAddresses ?? [],
    key: pair.key,
  });
  const isServing = wish.signer === "kubernetes.io/kubelet-serving";
  const made = await client.create<SigningRequestObject>(
    resources.certificatesigningrequests,
    {
      apiVersion: "certificates.k8s.io/v1",
      kind: "CertificateSigningRequest",
      metadata: { generateName: "node-csr-" },
      spec: {
        request: Buffer.from(request).toString("base64"),
        signerName: wish.signer,
        usages: ["digital signature", isServing ? "server auth" : "client auth"],
      },
    },
    call,
  );
  wish.onMade?.(made.metadata.name ?? "");
  const signed = await answered(client, made, wish, call);
  return { cert: Buffer.from(signed, "base64").toString("utf8"), key: pair.key };
}

async function answered(
  client: ApiClient,
  made: SigningRequestObject,
  wish: CertificateWish,
  call: Call,
): Promise<string> {
  const { name = "", resourceVersion = "0" } = made.metadata;
  for (let since = resourceVersion; ; ) {
    const found = await client.get<SigningRequestObject>(resources.certificatesigningrequests, { name }, call);
    const answer = answerIn(found, wish);
    if (answer) return answer;
    since = found.metadata.resourceVersion ?? since;
    const watch = { fieldSelector: `metadata.name=${name}`, resourceVersion: since, timeoutSeconds: 60 };
    for await (const { object } of client.watch<SigningRequestObject>(
      resources.certificatesigningrequests,
      watch,
      call,
    )) {
      const told = answerIn(object, wish);
      if (told) return told;
    }
  }
}

function answerIn({ metadata, status }: SigningRequestObject, wish: CertificateWish): string | undefined {
  if (status?.certificate) return status.certificate;
  const refusal = status?.conditions?.find(({ type }) => type === "Denied" || type === "Failed");
  if (!refusal) return undefined;
  throw new Fault(
    "forbidden",
    `Cannot join as node "${wish.nodeName}": ${refusal.message ?? `signing request ${metadata.name} was refused`}`,
  );
}
