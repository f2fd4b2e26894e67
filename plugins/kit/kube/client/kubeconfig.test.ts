import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import t from "tap";
import { testPki } from "../../../../test/harness/certificates.ts";
import { uninterrupted } from "../../base/call.ts";
import { FakeClock } from "../../base/clock.ts";
import { resources } from "../objects/resources.ts";
import { serve } from "../../os/platform/http-server.ts";
import { ApiClient } from "./api-client.ts";
import { loadKubeconfig } from "./kubeconfig.ts";

const pki = testPki();
const base64 = (text: string) => Buffer.from(text).toString("base64");

const dir = mkdtempSync(join(tmpdir(), "skiff-kubeconfig-"));
t.teardown(() => rmSync(dir, { recursive: true }));
const put = (name: string, content: string) => {
  writeFileSync(join(dir, name), content);
  return join(dir, name);
};

/** Answers with who asked; tokens in `refuse` get 401. */
const refuse = new Set<string>();
const server = await serve({
  listen: { host: "127.0.0.1", port: 0 },
  tls: { ...pki.server, clientCa: pki.ca.cert },
  handler: async (request, peer) => {
    const authorization = request.headers.get("authorization") ?? "";
    const who = {
      authorization,
      name: peer.certificate?.commonName,
      as: request.headers.get("impersonate-user"),
      body: await request.text(),
    };
    if (refuse.has(authorization))
      return Response.json({ kind: "Status", reason: "Unauthorized", message: "no" }, { status: 401 });
    return Response.json(who);
  },
});
t.teardown(() => server.close());
const address = `https://127.0.0.1:${server.port}`;

function config(user: object, cluster: object = {}): string {
  return JSON.stringify({
    "current-context": "here",
    clusters: [
      { name: "c", cluster: { server: `${address}/`, "certificate-authority-data": base64(pki.ca.cert), ...cluster } },
    ],
    users: [{ name: "u", user }],
    contexts: [
      { name: "here", context: { cluster: "c", user: "u" } },
      { name: "there", context: { cluster: "c", user: "u", namespace: "shop" } },
      { name: "lost", context: { cluster: "nowhere", user: "u" } },
    ],
  });
}

async function open(
  t: { teardown(end: () => void): void },
  user: object,
  options: { clock?: FakeClock; cluster?: object } = {},
) {
  const { cluster, ...rest } = options;
  const opened = await loadKubeconfig(put("config", config(user, cluster)), rest);
  t.teardown(() => opened.close());
  const who = async (init: RequestInit = {}) =>
    (await (await opened.fetch(new Request(`${opened.server}/whoami`, init))).json()) as Record<string, unknown>;
  return { opened, who };
}

t.test("loadKubeconfig() finds the server, the namespace and a client certificate in the file", async (t) => {
  const alice = pki.client("alice");
  const { opened, who } = await open(t, {
    "client-certificate-data": base64(alice.cert),
    "client-key-data": base64(alice.key),
  });
  t.equal(opened.server, address);
  t.equal(opened.namespace, "default");
  t.match(await who(), { name: "alice", authorization: "" });
  t.equal((await loadKubeconfig(join(dir, "config"), { context: "there" })).namespace, "shop");
});

t.test("loadKubeconfig() reads files relative to itself, and again when they change", async (t) => {
  const clock = new FakeClock();
  const bob = pki.client("bob");
  put("bob.crt", bob.cert);
  put("bob.key", bob.key);
  put("ca.crt", pki.ca.cert);
  const cluster = { "certificate-authority-data": undefined, "certificate-authority": "ca.crt" };
  const { who } = await open(t, { "client-certificate": "bob.crt", "client-key": "./bob.key" }, { clock, cluster });
  t.match(await who(), { name: "bob" });
  const carol = pki.client("carol");
  put("bob.crt", carol.cert);
  put("bob.key", carol.key);
  t.match(await who(), { name: "bob" }, "within the minute");
  await clock.advance(61_000);
  t.match(await who(), { name: "carol" });
});

t.test("loadKubeconfig() sends tokens, basic credentials and impersonation", async (t) => {
  t.match(await (await open(t, { token: "abc", as: "dave" })).who(), { authorization: "Bearer abc", as: "dave" });
  t.match(await (await open(t, { username: "a", password: "b" })).who(), { authorization: `Basic ${base64("a:b")}` });
});

t.test("loadKubeconfig() reads a token file again after a minute, and at once when the token is refused", async (t) => {
  const clock = new FakeClock();
  put("token", "one\n");
  const { who } = await open(t, { tokenFile: "token" }, { clock });
  t.match(await who(), { authorization: "Bearer one" });
  put("token", "two\n");
  t.match(await who(), { authorization: "Bearer one" });
  await clock.advance(61_000);
  t.match(await who(), { authorization: "Bearer two" });
  put("token", "three\n");
  refuse.add("Bearer two");
  t.match(await who({ method: "POST", body: "kept" }), { authorization: "Bearer three", body: "kept" });
});

function plugin(script: string): string {
  const path = put("plugin.sh", `#!/bin/sh\necho run >> ${join(dir, "runs")}\n${script}\n`);
  chmodSync(path, 0o755);
  writeFileSync(join(dir, "runs"), "");
  return path;
}
const runs = () => readFileSync(join(dir, "runs"), "utf8").split("\n").length - 1;
const exec = (extra: object = {}) => ({
  exec: { apiVersion: "client.authentication.k8s.io/v1", command: "./plugin.sh", ...extra },
});

t.test(
  "loadKubeconfig() asks a credential plugin, keeps its answer, and asks again when it expires or is refused",
  async (t) => {
    const clock = new FakeClock(Date.parse("2026-01-01T00:00:00Z"));
    plugin(
      `echo '{"kind":"ExecCredential","apiVersion":"client.authentication.k8s.io/v1","status":{"token":"'$PREFIX$1$(wc -l < ${join(dir, "runs")})'","expirationTimestamp":"2026-01-01T01:00:00Z"}}'`,
    );
    const { who } = await open(t, exec({ args: ["-x-"], env: [{ name: "PREFIX", value: "p" }] }), { clock });
    await Promise.all([who(), who(), who()]);
    t.equal(runs(), 1, "requests that come together wait for one answer");
    t.match(await who(), { authorization: "Bearer p-x-1" });
    refuse.add("Bearer p-x-1");
    t.match(await who(), { authorization: "Bearer p-x-2" });
    await clock.advance(3_600_000);
    t.match(await who(), { authorization: "Bearer p-x-3" });
  },
);

t.test("loadKubeconfig() tells a credential plugin of the cluster, and takes certificates from it", async (t) => {
  const erin = pki.client("erin");
  const answer = put(
    "answer.json",
    JSON.stringify({ kind: "ExecCredential", status: { clientCertificateData: erin.cert, clientKeyData: erin.key } }),
  );
  plugin(`printf %s "$KUBERNETES_EXEC_INFO" > ${join(dir, "info")}; cat ${answer}`);
  const { who } = await open(t, exec({ provideClusterInfo: true }));
  t.match(await who(), { name: "erin" });
  t.match(JSON.parse(readFileSync(join(dir, "info"), "utf8")), {
    kind: "ExecCredential",
    spec: { interactive: false, cluster: { "certificate-authority-data": base64(pki.ca.cert) } },
  });
});

t.test("loadKubeconfig() says what is wrong with a credential plugin", async (t) => {
  plugin("echo cannot log in >&2; exit 1");
  await t.rejects((await open(t, exec())).who(), { code: "unauthorized", message: /code 1: cannot log in/ });
  plugin("echo hello");
  await t.rejects((await open(t, exec())).who(), { code: "unauthorized", message: /did not answer in JSON/ });
  await t.rejects((await open(t, exec({ command: "no-such-plugin", installHint: "install it from X" }))).who(), {
    code: "unauthorized",
    message: /no-such-plugin: there is no such program; install it from X/,
  });
  await t.rejects(open(t, exec({ apiVersion: "v0" })), { code: "invalid", message: /apiVersion/ });
});

t.test("loadKubeconfig() says what is wrong with a file", async (t) => {
  await t.rejects(loadKubeconfig(join(dir, "none")), { code: "not-found", message: /none/ });
  await t.rejects(loadKubeconfig(put("empty", "")), { code: "invalid", message: /no current-context/ });
  await t.rejects(loadKubeconfig(put("bad", ": [")), { code: "invalid", message: /bad/ });
  await t.rejects(loadKubeconfig(put("config", config({})), { context: "lost" }), {
    code: "invalid",
    message: /no cluster "nowhere"/,
  });
  await t.rejects(loadKubeconfig(put("config", config({})), { context: "x" }), {
    code: "invalid",
    message: /no context "x"/,
  });
  await t.rejects(open(t, { "client-certificate-data": base64("x") }), { code: "invalid", message: /needs its key/ });
  await t.rejects(open(t, { "auth-provider": {} }), { code: "unsupported" });
});

t.test("loadKubeconfig() names a field of another type than it must be", async (t) => {
  const rows: [text: string, field: string][] = [
    ["7", "the file must be an object"],
    ["current-context: {}", "the file.current-context must be a string"],
    ["clusters: 5", "clusters must be a list"],
    ["current-context: x\ncontexts: [null]", "contexts[0] must be an object"],
    ["clusters: [{cluster: {server: 1}}]", "clusters[0].cluster.server must be a string"],
    ["users: [{}, {user: {as-groups: a}}]", "users[1].user.as-groups must be a list of strings"],
    ["users: [{user: {exec: {env: [{name: 1}]}}}]", "users[0].user.exec.env must be a list of names and values"],
    [
      "clusters: [{cluster: {insecure-skip-tls-verify: 'no'}}]",
      "clusters[0].cluster.insecure-skip-tls-verify must be true or false",
    ],
  ];
  for (const [text, field] of rows) {
    const path = put("typed", text);
    await t.rejects(loadKubeconfig(path), { code: "invalid", message: `Cannot use ${path}: ${field}` }, text);
  }
});

t.test("ApiClient works on what loadKubeconfig() opens", async (t) => {
  const { opened } = await open(t, { token: "t" });
  const client = new ApiClient({ fetch: opened.fetch, server: opened.server });
  t.match(await client.get(resources.nodes, { name: "pi" }, uninterrupted), { authorization: "Bearer t" });
});
