// Signing requests as an agent or an attacker makes them, against a control plane of a test.

import { createJoinToken } from "../../control/auth/join/tokens.ts";
import { systemUser } from "../../control/auth/assemble.ts";
import type { CertificateSigningRequest } from "../../control/auth/certificates/signing.ts";
import { uninterrupted as call } from "../../plugins/kit/base/call.ts";
import { ApiClient } from "../../plugins/kit/kube/client/api-client.ts";
import { systemClock } from "../../plugins/kit/base/clock.ts";
import type { Fetch } from "../../plugins/kit/base/fetch.ts";
import { bearerOf, parseJoinToken } from "../../plugins/kit/kube/join-token.ts";
import { resources } from "../../plugins/kit/kube/objects/resources.ts";
import { httpFetch } from "../../plugins/kit/os/platform/http-client.ts";
import { createKeyPair, createSigningRequest } from "../../plugins/kit/os/x509.ts";
import type { TestControl } from "./control.ts";
import { until } from "./control.ts";

const ref = resources.certificatesigningrequests;

export interface Wanted {
  readonly commonName: string;
  readonly organizations?: readonly string[];
  readonly dnsNames?: readonly string[];
  readonly ipAddresses?: readonly string[];
  readonly key?: string;
  readonly signer: string;
  /** Of the signer; `kubernetes.io` when absent. */
  readonly domain?: string;
  readonly usage: "client auth" | "server auth";
}

export const nodeClient = (name: string): Wanted => ({
  commonName: `system:node:${name}`,
  organizations: ["system:nodes"],
  signer: "kube-apiserver-client-kubelet",
  usage: "client auth",
});

export const nodeServing = (name: string, dnsNames: string[], ipAddresses: string[] = []): Wanted => ({
  commonName: `system:node:${name}`,
  organizations: ["system:nodes"],
  dnsNames,
  ipAddresses,
  signer: "kubelet-serving",
  usage: "server auth",
});

interface Test {
  teardown(then: () => void): void;
}

/** A client over TLS with exactly these credentials. */
export function clientWith(
  t: Test,
  { control, url }: TestControl,
  credentials: { token?: string; cert?: string; key?: string },
): ApiClient & { readonly fetch: Fetch } {
  const connection = httpFetch({ ca: control.pki.ca.cert, cert: credentials.cert, key: credentials.key });
  t.teardown(() => connection.close());
  const fetch: Fetch = (request) => {
    if (credentials.token) request.headers.set("authorization", `Bearer ${credentials.token}`);
    return connection(request);
  };
  return Object.assign(new ApiClient({ fetch, server: url, clock: systemClock }), { fetch });
}

export const systemClient = ({ control }: TestControl): ApiClient =>
  new ApiClient({ fetch: control.fetchAs(systemUser), clock: systemClock });

export async function newToken(test: TestControl): Promise<string> {
  const issuing = { client: systemClient(test), caHash: test.control.pki.caHash, clock: systemClock };
  return bearerOf(parseJoinToken(await createJoinToken({ ttlSeconds: 600 }, issuing, call)));
}

export async function makeRequest(
  client: ApiClient,
  { signer, domain = "kubernetes.io", usage, key = createKeyPair().key, ...wanted }: Wanted,
): Promise<CertificateSigningRequest> {
  return client.create<CertificateSigningRequest>(
    ref,
    {
      apiVersion: "certificates.k8s.io/v1",
      kind: "CertificateSigningRequest",
      metadata: { generateName: "csr-" },
      spec: {
        request: Buffer.from(createSigningRequest({ ...wanted, key })).toString("base64"),
        signerName: `${domain}/${signer}`,
        usages: ["digital signature", usage],
      },
    },
    call,
  );
}

/** The certificate, or why there is none: the message of the condition Denied or Failed. */
export async function answerTo(client: ApiClient, { metadata }: CertificateSigningRequest): Promise<string> {
  let answer = "";
  await until(async () => {
    const { status } = await client.get<CertificateSigningRequest>(ref, { name: metadata.name ?? "" }, call);
    const refusal = status?.conditions?.find(({ type }) => type === "Denied" || type === "Failed");
    if (refusal) answer = `${refusal.type} ${refusal.reason}: ${refusal.message}`;
    else if (status?.certificate) answer = Buffer.from(status.certificate, "base64").toString();
    return answer !== "";
  });
  return answer;
}

/** What a person does with `kubectl certificate approve`. */
export async function approve(client: ApiClient, made: CertificateSigningRequest): Promise<void> {
  const conditions = [{ type: "Approved", status: "True", reason: "ByHand", message: "" }];
  await client.update(ref, { ...made, status: { conditions } }, call, { subresource: "approval" });
}

/** Joins by a token of its own; gives a client with the node's certificate. */
export async function joinNode(t: Test, test: TestControl, name: string): Promise<ReturnType<typeof clientWith>> {
  const { key } = createKeyPair();
  const joining = clientWith(t, test, { token: await newToken(test) });
  const cert = await answerTo(joining, await makeRequest(joining, { ...nodeClient(name), key }));
  return clientWith(t, test, { cert, key });
}
