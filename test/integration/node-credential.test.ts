// What a join token and the certificate that it yields are worth to somebody who stole them: each attack step by step, against the
// assembled control plane over TLS.

import { readFileSync } from "node:fs";
import { join } from "node:path";
import t from "tap";
import { NodeCredentials } from "../../agent/join/credentials.ts";
import { joinCluster } from "../../agent/join/join.ts";
import { createJoinToken } from "../../control/auth/join/tokens.ts";
import type { CertificateSigningRequest } from "../../control/auth/certificates/signing.ts";
import { uninterrupted as call } from "../../plugins/kit/base/call.ts";
import { systemClock } from "../../plugins/kit/base/clock.ts";
import { bearerOf, parseJoinToken } from "../../plugins/kit/kube/join-token.ts";
import { noLog } from "../../plugins/kit/base/log.ts";
import { resources } from "../../plugins/kit/kube/objects/resources.ts";
import type { KubeObject, Node, Pod } from "../../plugins/kit/kube/objects/types.ts";
import { createKeyPair, parseCertificate } from "../../plugins/kit/os/x509.ts";
import { startControl } from "../harness/control.ts";
import {
  answerTo,
  approve,
  clientWith,
  joinNode,
  makeRequest,
  newToken,
  nodeClient,
  nodeServing,
  systemClient,
} from "../harness/node-certificates.ts";

const test = await startControl({ serving: { dnsNames: ["api.test"], ipAddresses: ["192.0.2.1"] } });
t.teardown(test.close);
const { url } = test;
const system = systemClient(test);
const forbidden = { code: "forbidden" };

const nodeObject = (name: string, addresses: string[] = []): KubeObject => ({
  apiVersion: "v1",
  kind: "Node",
  metadata: { name },
  status: { addresses: addresses.map((address) => ({ type: "InternalIP", address })) },
});

await system.create(
  resources.secrets,
  {
    apiVersion: "v1",
    kind: "Secret",
    metadata: { name: "crown", namespace: "kube-system" },
    data: { key: Buffer.from("jewels").toString("base64") },
  },
  call,
  { namespace: "kube-system" },
);

const evil = await joinNode(t, test, "evil");
const { metadata: evilMeta } = await evil.create<Node>(resources.nodes, nodeObject("evil", ["192.0.2.66"]), call);
await system.create(resources.nodes, nodeObject("victim", ["192.0.2.77"]), call);

const mirror = (name: string, spec: object): KubeObject => ({
  apiVersion: "v1",
  kind: "Pod",
  metadata: {
    name,
    namespace: "kube-system",
    annotations: { "kubernetes.io/config.mirror": "x" },
    ownerReferences: [{ apiVersion: "v1", kind: "Node", name: "evil", uid: evilMeta.uid ?? "", controller: true }],
  },
  spec: { nodeName: "evil", containers: [{ name: "c", image: "i" }], ...spec },
});
const inSystem = { namespace: "kube-system" };
const secretNamed = () => evil.get(resources.secrets, { namespace: "kube-system", name: "crown" }, call);

t.test("a node cannot read a Secret by a mirror pod that names it", async (t) => {
  await t.rejects(secretNamed(), forbidden);
  const named = [
    { volumes: [{ name: "v", csi: { driver: "d", nodePublishSecretRef: { name: "crown" } } }] },
    {
      volumes: [
        {
          name: "v",
          iscsi: { targetPortal: "1.2.3.4", iqn: "iqn.2026-01.test:a", lun: 0, secretRef: { name: "crown" } },
        },
      ],
    },
    { volumes: [{ name: "v", flexVolume: { driver: "a/b", secretRef: { name: "crown" } } }] },
    { volumes: [{ name: "v", projected: { sources: [{ secret: { name: "crown" } }] } }] },
    { containers: [{ name: "c", image: "i", envFrom: [{ secretRef: { name: "crown" } }] }] },
    { imagePullSecrets: [{ name: "crown" }] },
    { serviceAccountName: "default" },
  ];
  for (const [at, spec] of named.entries())
    await t.rejects(
      evil.create(resources.pods, mirror(`thief-${at}`, spec), call, inSystem),
      { code: "forbidden", message: /a mirror pod may not reference (secrets|service accounts)/ },
      JSON.stringify(spec),
    );

  await t.rejects(system.create(resources.pods, mirror("thief", named[0] as object), call, inSystem), forbidden);

  // A mirror pod does not become an ordinary one, which the authorizer would derive something from.
  await evil.create(resources.pods, mirror("slipped", {}), call, inSystem);
  const at = { ...inSystem, name: "slipped" };
  const strip = { metadata: { annotations: { "kubernetes.io/config.mirror": null } } };
  await t.rejects(
    evil.patch(resources.pods, { ...at, subresource: "status" }, { type: "merge", body: strip }, call),
    { message: /may not remove or update mirror pod annotation/ },
    "the annotation stays through pods/status",
  );
  await t.rejects(evil.patch(resources.pods, at, { type: "merge", body: strip }, call), forbidden);
  const replaced = await evil.get<Pod>(resources.pods, at, call);
  delete replaced.metadata.annotations;
  await t.rejects(evil.update(resources.pods, replaced, call, { subresource: "status" }), {
    message: /may not remove or update mirror pod annotation/,
  });
  await t.rejects(secretNamed(), forbidden, "the Secret is as far away as before");
});

t.test("a node reports the status of its pods and changes nothing else of them", async (t) => {
  await evil.create(resources.pods, mirror("plain", {}), call, inSystem);
  const at = { ...inSystem, name: "plain" };
  const report = (body: object) =>
    evil.patch<Pod>(resources.pods, { ...at, subresource: "status" }, { type: "merge", body }, call);
  t.match(await report({ status: { phase: "Running" } }), { status: { phase: "Running" } });
  await t.rejects(report({ metadata: { labels: { app: "web" } } }), { message: /cannot update labels/ });
  await t.rejects(report({ status: { nominatedNodeName: "victim" } }), { message: /already bound to a node/ });
  const unchanged = await report({
    metadata: { ownerReferences: [] },
    spec: { serviceAccountName: "default", volumes: [{ name: "v", secret: { secretName: "crown" } }] },
  });
  t.equal(unchanged.metadata.ownerReferences?.length, 1);
  t.notOk(unchanged.spec?.volumes?.length);
});

t.test("a node reads itself and its pods, and no more of the cluster", async (t) => {
  const status = async (path: string, init: RequestInit = {}) => {
    const response = await evil.fetch(new Request(`${url}${path}`, init));
    await response.body?.cancel();
    return response.status;
  };
  const table: [string, number][] = [
    ["/api/v1/nodes/evil", 200],
    ["/api/v1/nodes?fieldSelector=metadata.name%3Devil", 200],
    ["/api/v1/pods?fieldSelector=spec.nodeName%3Devil", 200],
    ["/api/v1/nodes", 403],
    ["/api/v1/nodes/victim", 403],
    ["/api/v1/nodes/victim?fieldSelector=metadata.name%3Devil", 403],
    ["/api/v1/nodes?fieldSelector=metadata.name%3Dvictim", 403],
    ["/api/v1/nodes/evil/proxy/pods", 403],
    ["/api/v1/nodes/evil/status", 403],
    ["/api/v1/pods", 403],
    ["/api/v1/namespaces/kube-system/pods", 403],
    ["/api/v1/pods?fieldSelector=spec.nodeName%3Dvictim", 403],
    ["/api/v1/namespaces/kube-system/secrets", 403],
    ["/api/v1/namespaces/kube-system/secrets?fieldSelector=metadata.name%3Dcrown", 403],
    ["/api/v1/secrets?fieldSelector=metadata.name%3Dcrown", 403],
  ];
  for (const [path, expected] of table) t.equal(await status(path), expected, path);
  t.equal(await status("/api/v1/nodes/evil/proxy/exec", { method: "POST" }), 403);
});

t.test("a node cannot shed its taint by an owner that never was", async (t) => {
  const taint = { spec: { taints: [{ key: "quarantine", effect: "NoSchedule" }] } };
  await system.patch(resources.nodes, { name: "evil" }, { type: "merge", body: taint }, call);
  const ownerReferences = [{ apiVersion: "v1", kind: "ConfigMap", name: "never", uid: "00000000-dead" }];
  const patch = (body: object, subresource?: string) =>
    evil.patch<Node>(
      resources.nodes,
      { name: "evil", ...(subresource ? { subresource } : {}) },
      { type: "merge", body },
      call,
    );
  await t.rejects(patch({ metadata: { ownerReferences } }), { message: /not allowed to modify ownerReferences/ });
  t.notOk((await patch({ metadata: { ownerReferences } }, "status")).metadata.ownerReferences?.length);
  await t.rejects(patch({ spec: { taints: null } }), { message: /not allowed to modify taints/ });
  await t.rejects(patch({ metadata: { labels: { "node-role.kubernetes.io/control-plane": "" } } }), forbidden);
  await t.rejects(evil.delete(resources.nodes, { name: "evil" }, call), forbidden);
  await t.rejects(
    evil.patch(
      resources.nodes,
      { name: "victim" },
      { type: "merge", body: { metadata: { labels: { a: "b" } } } },
      call,
    ),
    { message: /not allowed to modify node "victim"/ },
  );
});

t.test("a node gets no serving certificate for names that are not its own", async (t) => {
  const reported = [
    "192.0.2.66",
    "192.0.2.77",
    "192.0.2.1",
    "10.143.0.1",
    "10.142.3.4",
    "127.0.0.1",
    "::1",
    "::ffff:10.143.0.1",
    "kubernetes.default.svc",
    "localhost",
    "api.test",
    "elsewhere.test",
  ];
  const addresses = reported.map((address) => ({ type: "InternalIP", address }));
  const status = { type: "merge", body: { status: { addresses } } } as const;
  await evil.patch(resources.nodes, { name: "evil", subresource: "status" }, status, call);
  const table: [string[], string[], RegExp][] = [
    [["kubernetes.default.svc"], ["10.143.0.1"], /Denied SignerValidationFailure: .* name of Services/],
    [["kubernetes"], [], /Denied .* name of an API server/],
    [["api.test"], [], /Denied .* name of an API server/],
    [["vault.prod.svc"], [], /Denied .* name of Services/],
    [["x.cluster.local"], [], /Denied .* name of Services/],
    [["localhost"], [], /Denied .* local machine/],
    [["*"], [], /Denied .* not a lowercase RFC 1123 subdomain/],
    [["*.evil"], [], /Denied .* not a lowercase RFC 1123 subdomain/],
    [[], ["10.143.0.1"], /Denied .* network of Services/],
    [[], ["10.142.3.4"], /Denied .* network of Services or pods/],
    [[], ["127.0.0.1"], /Denied .* not an address of a single machine/],
    [[], ["::1"], /Denied .* not an address of a single machine/],
  ];
  for (const [dnsNames, ipAddresses, expected] of table) {
    const made = await makeRequest(evil, nodeServing("evil", dnsNames, ipAddresses));
    t.match(await answerTo(evil, made), expected, [...dnsNames, ...ipAddresses].join());
  }
  // Addresses that it shares with others are for a person to decide: it may be another node of the same box, or a thief.
  const open = [
    await makeRequest(evil, nodeServing("evil", ["victim"])),
    await makeRequest(evil, nodeServing("evil", [], ["192.0.2.77"])),
    await makeRequest(evil, nodeServing("evil", [], ["192.0.2.1"])),
    await makeRequest(evil, nodeServing("evil", ["evil"], ["192.0.2.66", "192.0.2.77"])),
  ];
  const own = await answerTo(evil, await makeRequest(evil, nodeServing("evil", ["evil"], ["192.0.2.66"])));
  for (const { metadata } of open) {
    const at = { name: metadata.name ?? "" };
    const { status } = await evil.get<CertificateSigningRequest>(resources.certificatesigningrequests, at, call);
    t.notOk(status?.conditions?.length || status?.certificate, "neither approved nor signed");
  }
  t.match(parseCertificate(own), { dnsNames: ["evil"], ipAddresses: ["192.0.2.66"] });
  await t.rejects(makeRequest(evil, nodeServing("victim", ["victim"])), {
    message: /can only create a node CSR with CN/,
  });

  const foreign = await makeRequest(evil, nodeServing("evil", ["elsewhere.test"]));
  await approve(system, foreign);
  t.match(
    parseCertificate(await answerTo(evil, foreign)),
    { dnsNames: ["elsewhere.test"] },
    "a person may approve more",
  );
});

t.test("somebody who may only approve kubelet-serving cannot make another API server", async (t) => {
  const made = await makeRequest(system, nodeServing("evil", ["kubernetes.default.svc"]));
  // The controller may be faster to deny it; either way nothing is signed.
  await approve(system, made).catch(() => undefined);
  t.match(await answerTo(system, made), /^(Denied|Failed) SignerValidationFailure/);
});

t.test("names that are no node names, or not a node's to have, are not joined with", async (t) => {
  const table: [string, RegExp][] = [
    ["*", /not a valid node name/],
    ["..%2Fevil", /not a valid node name/],
    ["a..b", /not a valid node name/],
    ["a/b", /not a valid node name/],
    ["UPPER", /not a valid node name/],
    ["localhost", /NodeNameReserved/],
    ["api.test", /NodeNameReserved/],
    ["kubernetes.default.svc", /NodeNameReserved/],
    ["web.shop.svc.cluster.local", /NodeNameReserved/],
    ["10.143.0.1", /NodeNameReserved/],
    ["127.0.0.1", /NodeNameReserved/],
  ];
  const joining = clientWith(t, test, { token: await newToken(test) });
  for (const [name, expected] of table)
    t.match(await answerTo(joining, await makeRequest(joining, nodeClient(name))), expected);
  for (const name of ["*", "..%2Fevil", "a..b", "UPPER"])
    await t.rejects(system.create(resources.nodes, nodeObject(name), call), { message: /RFC 1123 subdomain/ }, name);
});

t.test("a join token yields the certificate of one node, again for the same key only", async (t) => {
  const joining = clientWith(t, test, { token: await newToken(test) });
  const { key } = createKeyPair();
  const ask = async (name: string, own?: string) =>
    answerTo(joining, await makeRequest(joining, { ...nodeClient(name), ...(own ? { key: own } : {}) }));
  // All at once: one of them wins, whichever it is.
  const names = ["one", "two", "three", "four"];
  const answers = await Promise.all(names.map((name) => ask(name, key)));
  const [winner] = names.filter((_, at) => answers[at]?.includes("BEGIN CERTIFICATE"));
  t.equal(answers.filter((answer) => answer.includes("BEGIN CERTIFICATE")).length, 1, "one certificate");
  t.equal(answers.filter((answer) => answer.startsWith("Denied TokenUsed: ")).length, 3);
  t.match(await ask(winner ?? "", key), /BEGIN CERTIFICATE/, "the answer was lost: the same key may ask again");
  t.match(await ask(winner ?? ""), /^Denied TokenUsed: join token "[a-z0-9]{6}" was used for node/, "no other key may");
  await t.rejects(joining.list(resources.nodes, {}, call), forbidden, "it is good for nothing else");
});

t.test("an agent whose answer was lost joins by the same token; another box does not", async (t) => {
  const dataDir = t.testdir();
  const issuing = { client: system, caHash: test.control.pki.caHash, clock: systemClock };
  const token = await createJoinToken({ ttlSeconds: 600 }, issuing, call);
  const joining = clientWith(t, test, { token: bearerOf(parseJoinToken(token)) });
  // Killed between the request and its answer: the key is on disk, the certificate is not.
  const key = await new NodeCredentials(join(dataDir, "agent", "pki"), systemClock).joiningKey();
  t.match(await answerTo(joining, await makeRequest(joining, { ...nodeClient("lost"), key })), /BEGIN CERTIFICATE/);

  const options = { servers: [url], token, nodeName: "lost", clock: systemClock, log: noLog };
  await t.rejects(joinCluster({ ...options, dataDir: join(dataDir, "other") }, call), {
    code: "forbidden",
    message: /^Cannot join as node "lost": join token "[a-z0-9]{6}" was used for node "lost"; make another/,
  });
  const member = await joinCluster({ ...options, dataDir }, call);
  t.teardown(() => member.close());
  t.equal((await member.fetch(new Request(`${url}/api/v1/nodes/evil`))).status, 403, "it is a node");
  t.throws(() => readFileSync(join(dataDir, "agent", "pki", "joining.key")), { code: "ENOENT" });
});

t.test("approving requests for clients never yields system:masters", async (t) => {
  const masters = { commonName: "mallory", organizations: ["system:masters"], usage: "client auth" } as const;
  await t.rejects(makeRequest(evil, { ...masters, signer: "legacy-unknown" }), {
    message: /the legacy signerName is not allowed via this API version|system:masters group is not allowed/,
  });
  await t.rejects(makeRequest(system, { ...masters, organizations: [], signer: "legacy-unknown" }), {
    message: /the legacy signerName is not allowed via this API version/,
  });
  for (const signer of ["kube-apiserver-client", "kube-apiserver-client-kubelet"])
    await t.rejects(makeRequest(evil, { ...masters, signer }), { code: "forbidden" }, signer);
});

t.test("the daemons of a node have identities of their own, which read what they need and no more", async (t) => {
  const wanted = (daemon: string, nodeName: string, group = `skiff:${daemon}`) => ({
    commonName: `skiff:${daemon}:${nodeName}`,
    organizations: [group],
    signer: "node-daemon",
    domain: "skiff.dev",
    usage: "client auth" as const,
  });
  const ask = async (client: typeof evil | typeof system, wish: ReturnType<typeof wanted>) =>
    answerTo(client, await makeRequest(client, wish));
  const statusAs = async (daemon: string) => {
    const { key } = createKeyPair();
    const cert = await answerTo(evil, await makeRequest(evil, { ...wanted(daemon, "evil"), key }));
    t.ok(parseCertificate(cert).notAfter < Date.now() + 8 * 24 * 3_600_000, "not for long");
    const { fetch } = clientWith(t, test, { cert, key });
    return async (path: string) => {
      const response = await fetch(new Request(`${url}${path}`));
      await response.body?.cancel();
      return response.status;
    };
  };
  const proxy = await statusAs("service-proxy");
  const policy = await statusAs("network-policy");
  const table: [string, number, number][] = [
    ["/api/v1/services", 200, 403],
    ["/api/v1/nodes", 200, 403],
    ["/apis/discovery.k8s.io/v1/endpointslices", 200, 403],
    ["/api/v1/pods", 403, 200],
    ["/api/v1/namespaces", 403, 200],
    ["/apis/networking.k8s.io/v1/networkpolicies", 403, 200],
    ["/api/v1/namespaces/kube-system/pods/plain", 403, 403],
    ["/api/v1/secrets", 403, 403],
    ["/api/v1/configmaps", 403, 403],
    ["/api/v1/namespaces/kube-system/secrets/crown", 403, 403],
    ["/api/v1/serviceaccounts", 403, 403],
  ];
  for (const [path, ofProxy, ofPolicy] of table) {
    t.equal(await proxy(path), ofProxy, `service-proxy ${path}`);
    t.equal(await policy(path), ofPolicy, `network-policy ${path}`);
  }
  t.match(await ask(evil, wanted("network-policy", "victim")), /^Denied .*not that of a daemon of node "evil"/);
  t.match(await ask(evil, wanted("network-policy", "evil", "system:masters")), /^Denied .*organization is not/);
  t.match(await ask(evil, wanted("cluster-admin", "evil")), /^Denied .*not that of a daemon/);
  const joining = clientWith(t, test, { token: await newToken(test) });
  t.match(await ask(joining, wanted("network-policy", "evil")), /^Denied .*the requester is not a node/);
});

t.test("a node does not write the status of Services", async (t) => {
  const at = { namespace: "default", name: "kubernetes", subresource: "status" };
  const body = { status: { loadBalancer: { ingress: [{ ip: "198.51.100.1" }] } } };
  await t.rejects(evil.patch(resources.services, at, { type: "merge", body }, call), forbidden);
});
