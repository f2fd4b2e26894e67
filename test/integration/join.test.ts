// A node joins the assembled control plane as an agent would: CA pinned by the token, certificates by signing requests.

import { join } from "node:path";
import t from "tap";
import { secretsCommand, tokenCommand } from "../../control/assemble/commands.ts";
import { createJoinToken, deleteJoinToken, listJoinTokens } from "../../control/auth/join/tokens.ts";
import { systemUser } from "../../control/auth/assemble.ts";
import type { CertificateSigningRequest } from "../../control/auth/certificates/signing.ts";
import { uninterrupted as call } from "../../plugins/kit/base/call.ts";
import { ApiClient } from "../../plugins/kit/kube/client/api-client.ts";
import { systemClock } from "../../plugins/kit/base/clock.ts";
import type { Fetch } from "../../plugins/kit/base/fetch.ts";
import {
  bearerOf,
  caCertificatePath,
  certificateHash,
  formatJoinToken,
  parseJoinToken,
} from "../../plugins/kit/kube/join-token.ts";
import { resources } from "../../plugins/kit/kube/objects/resources.ts";
import { httpFetch } from "../../plugins/kit/os/platform/http-client.ts";
import { createKeyPair, createSigningRequest, parseCertificate } from "../../plugins/kit/os/x509.ts";
import { startControl, until } from "../harness/control.ts";

const { control, url, dataDir, close } = await startControl();
t.teardown(close);
const system = new ApiClient({ fetch: control.fetchAs(systemUser), clock: systemClock });
const issuing = { client: system, caHash: control.pki.caHash, clock: systemClock };

function clientWith(options: { token?: string; cert?: string; key?: string }): ApiClient {
  const fetch = httpFetch({ ca: control.pki.ca.cert, cert: options.cert, key: options.key });
  t.teardown(() => fetch.close());
  const authorized: Fetch = (request) => {
    if (options.token) request.headers.set("authorization", `Bearer ${options.token}`);
    return fetch(request);
  };
  return new ApiClient({ fetch: authorized, server: url, clock: systemClock });
}

/** Asks for a certificate and waits until it is signed, denied or failed. */
async function ask(
  client: ApiClient,
  wanted: Parameters<typeof createSigningRequest>[0] & { signer: string; usage: string },
) {
  const { signer, usage, ...request } = wanted;
  const made = await client.create<CertificateSigningRequest>(
    resources.certificatesigningrequests,
    {
      apiVersion: "certificates.k8s.io/v1",
      kind: "CertificateSigningRequest",
      metadata: { generateName: "node-csr-" },
      spec: {
        request: Buffer.from(createSigningRequest(request)).toString("base64"),
        signerName: `kubernetes.io/${signer}`,
        usages: ["digital signature", usage],
      },
    },
    call,
  );
  let answered = made;
  const name = made.metadata.name ?? "";
  await until(async () => {
    answered = await client.get<CertificateSigningRequest>(resources.certificatesigningrequests, { name }, call);
    const has = (type: string) => answered.status?.conditions?.some((each) => each.type === type);
    return Boolean(answered.status?.certificate) || has("Denied") === true || has("Failed") === true;
  });
  return answered;
}

const nodeRequest = (name: string, key: string) => ({
  key,
  commonName: `system:node:${name}`,
  organizations: ["system:nodes"],
});
const kubeletClient = { signer: "kube-apiserver-client-kubelet", usage: "client auth" };

t.test(
  "parseJoinToken() and formatJoinToken() are each other's inverse, and bad tokens are told plainly",
  async (t) => {
    const token = { caHash: "a".repeat(64), id: "abcdef", secret: "0123456789abcdef" };
    t.same(parseJoinToken(` ${formatJoinToken(token)}\n`), token);
    t.same(parseJoinToken("abcdef.0123456789abcdef"), { id: "abcdef", secret: "0123456789abcdef" });
    for (const bad of [
      "",
      "K10abc::abcdef.0123456789abcdef",
      "abcdef",
      `K10${"g".repeat(64)}::abcdef.0123456789abcdef`,
    ]) {
      t.throws(() => parseJoinToken(bad), { code: "invalid", message: /Cannot use the join token/ }, bad);
    }
  },
);

t.test("a node joins: pinned CA, client certificate, its own objects, serving certificate, rotation", async (t) => {
  const token = parseJoinToken(await createJoinToken({ ttlSeconds: 600, description: "test" }, issuing, call));
  const blind = httpFetch({ insecureSkipVerify: true });
  t.teardown(() => blind.close());
  const ca = await (await blind(new Request(`${url}${caCertificatePath}`))).text();
  t.equal(certificateHash(ca), token.caHash, "the CA is the one that the token pins");

  const joining = clientWith({ token: bearerOf(token) });
  await t.rejects(joining.list(resources.secrets, {}, call), { code: "forbidden" }, "a token gives nothing else");
  const { key } = createKeyPair();
  const first = await ask(joining, { ...nodeRequest("pi", key), ...kubeletClient });
  const cert = Buffer.from(first.status?.certificate ?? "", "base64").toString();
  t.match(parseCertificate(cert), { commonName: "system:node:pi", organizations: ["system:nodes"] });

  const node = clientWith({ cert, key });
  const addresses = [
    { type: "InternalIP", address: "192.0.2.7" },
    { type: "Hostname", address: "pi" },
  ];
  await node.create(
    resources.nodes,
    { apiVersion: "v1", kind: "Node", metadata: { name: "pi" }, status: { addresses } },
    call,
  );
  await t.rejects(node.get(resources.nodes, { name: "other" }, call), { code: "forbidden" });

  const serving = createKeyPair();
  const served = await ask(node, {
    ...nodeRequest("pi", serving.key),
    dnsNames: ["pi"],
    ipAddresses: ["192.0.2.7"],
    signer: "kubelet-serving",
    usage: "server auth",
  });
  t.match(parseCertificate(Buffer.from(served.status?.certificate ?? "", "base64").toString()), {
    dnsNames: ["pi"],
    ipAddresses: ["192.0.2.7"],
  });

  const rotated = await ask(node, { ...nodeRequest("pi", createKeyPair().key), ...kubeletClient });
  t.match(rotated.status?.conditions, [
    { message: "Auto approving self kubelet client certificate after SubjectAccessReview." },
  ]);

  const renewTime = new Date(systemClock.now()).toISOString().replace("Z", "000Z");
  const lease = {
    apiVersion: "coordination.k8s.io/v1",
    kind: "Lease",
    metadata: { name: "pi", namespace: "kube-node-lease" },
    spec: { holderIdentity: "pi", renewTime },
  };
  await node.create(resources.leases, lease, call, { namespace: "kube-node-lease" });
  const taken = await ask(joining, { ...nodeRequest("pi", createKeyPair().key), ...kubeletClient });
  t.match(taken.status?.conditions, [
    { type: "Denied", reason: "NodeNameTaken", message: /"pi" is taken by a node that is alive/ },
  ]);
});

t.test("wrong, expired and withdrawn tokens are refused", async (t) => {
  const list = (token: string) => clientWith({ token }).list(resources.certificatesigningrequests, {}, call);
  await t.rejects(list("abcdef.0123456789abcdef"), { code: "unauthorized" });
  const brief = parseJoinToken(await createJoinToken({ ttlSeconds: 1 }, issuing, call));
  await until(async () => !(await listJoinTokens(system, call)).some(({ id }) => id === brief.id));
  await t.rejects(list(bearerOf(brief)), { code: "unauthorized" }, "cleaned away once expired");
  const lasting = parseJoinToken(await createJoinToken({}, issuing, call));
  t.ok(await list(bearerOf(lasting)));
  await deleteJoinToken(lasting.id, system, call);
  await t.rejects(list(bearerOf(lasting)), { code: "unauthorized" });
});

t.test("skiff token and skiff secrets work from the server's own box", async (t) => {
  const lines: string[] = [];
  const print = (line: string) => void lines.push(line);
  const token = (action: string, over: object = {}) =>
    tokenCommand({ action, ttl: "1h", ...over }, dataDir, print, call);
  await token("create", { description: "for the shed" });
  const { id, caHash } = parseJoinToken(lines.pop() ?? "");
  t.equal(caHash, control.pki.caHash);
  await token("list");
  t.ok(
    lines.some((line) => line.startsWith(`${id}\t`) && line.endsWith("for the shed")),
    lines.join(),
  );
  await token("delete", { id });
  await t.rejects(token("delete", { id }), { code: "not-found" });
  await t.rejects(token("create", { ttl: "soon" }), { code: "invalid", message: /--ttl "soon"/ });
  await t.rejects(token("paint"), { code: "invalid" });
  await secretsCommand("rotate", dataDir, print, call);
  t.match(lines.at(-1), /secrets are now encrypted with a new key/);
  await t.rejects(tokenCommand({ action: "list", ttl: "0" }, join(dataDir, "none"), print, call), {
    message: /Cannot find a server on this box/,
  });
});

t.test("kubectl-approved client requests are signed, wrong ones fail with the reason", async (t) => {
  const approve = async (usages: string[]) => {
    const made = await system.create<CertificateSigningRequest>(
      resources.certificatesigningrequests,
      {
        apiVersion: "certificates.k8s.io/v1",
        kind: "CertificateSigningRequest",
        metadata: { generateName: "person-" },
        spec: {
          request: Buffer.from(createSigningRequest({ key: createKeyPair().key, commonName: "ann" })).toString(
            "base64",
          ),
          signerName: "kubernetes.io/kube-apiserver-client",
          usages,
          expirationSeconds: 3600,
        },
      },
      call,
    );
    const conditions = [{ type: "Approved", status: "True", reason: "ByHand", message: "fine" }];
    await system.update(resources.certificatesigningrequests, { ...made, status: { conditions } }, call, {
      subresource: "approval",
    });
    let answered = made;
    await until(async () => {
      answered = await system.get(resources.certificatesigningrequests, { name: made.metadata.name ?? "" }, call);
      return (
        Boolean(answered.status?.certificate) ||
        answered.status?.conditions?.some(({ type }) => type === "Failed") === true
      );
    });
    return answered.status;
  };
  const good = await approve(["client auth"]);
  const facts = parseCertificate(Buffer.from(good?.certificate ?? "", "base64").toString());
  t.equal(facts.commonName, "ann");
  t.ok(facts.notAfter < Date.now() + 3_700_000, "no longer than asked");
  t.match((await approve(["server auth"]))?.conditions, [{}, { type: "Failed", reason: "SignerValidationFailure" }]);
});
