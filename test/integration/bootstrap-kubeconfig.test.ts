// A node joins an API server by bootstrap kubeconfig, as on a stock cluster: only routes that every Kubernetes API server has are there.

import { X509Certificate } from "node:crypto";
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import t from "tap";
import { openMembership } from "../../agent/assemble/membership.ts";
import { NodeCredentials } from "../../agent/join/credentials.ts";
import { createJoinToken } from "../../control/auth/join/tokens.ts";
import { systemUser } from "../../control/auth/assemble.ts";
import { uninterrupted as call } from "../../plugins/kit/base/call.ts";
import { ApiClient } from "../../plugins/kit/kube/client/api-client.ts";
import { loadKubeconfig } from "../../plugins/kit/kube/client/kubeconfig.ts";
import { FakeClock, systemClock } from "../../plugins/kit/base/clock.ts";
import { bearerOf, parseJoinToken } from "../../plugins/kit/kube/join-token.ts";
import { noLog } from "../../plugins/kit/base/log.ts";
import { resources } from "../../plugins/kit/kube/objects/resources.ts";
import { type Handler, serve } from "../../plugins/kit/os/platform/http-server.ts";
import { writeYaml } from "../../plugins/kit/base/yaml.ts";
import { startControl } from "../harness/control.ts";
import { until } from "../harness/until.ts";

const { control, close } = await startControl();
t.teardown(close);
const stockRoutes = /^\/(api|apis|openapi|version|healthz|livez|readyz)(\/|\?|$)/;
const refused: string[] = [];
const stock: Handler = (request, connection) => {
  const { pathname } = new URL(request.url);
  if (stockRoutes.test(pathname)) return control.handler(request, connection);
  refused.push(pathname);
  return new Response("404 page not found", { status: 404 });
};
const server = await serve({
  handler: stock,
  listen: { host: "127.0.0.1", port: 0 },
  tls: { ...control.pki.serving(), clientCa: control.pki.ca.cert },
});
t.teardown(() => server.close());
const url = `https://127.0.0.1:${server.port}`;
const system = new ApiClient({ fetch: control.fetchAs(systemUser), clock: systemClock });
const issuing = { client: system, caHash: control.pki.caHash, clock: systemClock };
/** Each is good for one node. */
const newToken = async () =>
  bearerOf(parseJoinToken(await createJoinToken({ ttlSeconds: 600, description: "test" }, issuing, call)));

async function room(t: { teardown(then: () => unknown): void }, given?: object, cluster: object = {}) {
  const user = given ?? { token: await newToken() };
  const dataDir = mkdtempSync(join(tmpdir(), "skiff-bootstrap-"));
  t.teardown(() => rmSync(dataDir, { recursive: true, force: true }));
  const path = join(dataDir, "bootstrap.kubeconfig");
  const authority = Buffer.from(control.pki.ca.cert).toString("base64");
  writeFileSync(
    path,
    writeYaml({
      clusters: [{ name: "c", cluster: { server: url, "certificate-authority-data": authority, ...cluster } }],
      users: [{ name: "u", user }],
      contexts: [{ name: "x", context: { cluster: "c", user: "u" } }],
      "current-context": "x",
    }),
  );
  const settings = { "data-dir": dataDir, "bootstrap-kubeconfig": path, "kubelet-port": 10250, "node-ip": "127.0.0.1" };
  return { dataDir, path, settings };
}

const nodeObject = (name: string) => ({
  apiVersion: "v1",
  kind: "Node",
  metadata: { name },
  status: {
    addresses: [
      { type: "InternalIP", address: "127.0.0.1" },
      { type: "Hostname", address: name },
    ],
  },
});

t.test(
  "a node gets its own certificate, a kubeconfig that names it, and starts again without the bootstrap file",
  async (t) => {
    const { dataDir, path, settings } = await room(t);
    const open = () => openMembership(settings, "pi", noLog, systemClock, call);
    const member = await open();
    t.teardown(() => member.close());
    const api = new ApiClient({ ...member.node.api!, clock: systemClock });
    await api.create(resources.nodes, nodeObject("pi"), call);
    await t.rejects(
      api.get(resources.nodes, { name: "other" }, call),
      { code: "forbidden" },
      "it is the node, no more",
    );

    const written = join(dataDir, "agent", "kubeconfig");
    t.equal(statSync(written).mode & 0o777, 0o600);
    const own = await loadKubeconfig(written);
    t.teardown(() => own.close());
    t.equal(own.server, url);
    const byFile = new ApiClient({ fetch: own.fetch, server: own.server, clock: systemClock });
    t.match(
      await byFile.get(resources.nodes, { name: "pi" }, call),
      { metadata: { name: "pi" } },
      "others can use it too",
    );

    rmSync(path);
    const again = await open();
    t.teardown(() => again.close());
    const second = new ApiClient({ ...again.node.api!, clock: systemClock });
    t.match(await second.get(resources.nodes, { name: "pi" }, call), { metadata: { name: "pi" } });

    const stop = new AbortController();
    const running = again.run({ signal: stop.signal });
    const serving = () => again.node.identity?.serving("pi", { dnsNames: ["pi"], ipAddresses: ["127.0.0.1"] }).cert;
    const stopgap = serving();
    await until("a serving certificate of the cluster", () => serving() !== stopgap, 60_000);
    stop.abort();
    await running;
    t.same(refused, [], "nothing was asked for that a stock API server does not have");
  },
);

t.test("a node by kubeconfig alone serves its API, with a certificate that the cluster signs", async (t) => {
  const { dataDir, settings } = await room(t);
  const first = await openMembership(settings, "plain", noLog, systemClock, call);
  await new ApiClient({ ...first.node.api!, clock: systemClock }).create(resources.nodes, nodeObject("plain"), call);
  first.close();
  const elsewhere = mkdtempSync(join(tmpdir(), "skiff-by-kubeconfig-"));
  t.teardown(() => rmSync(elsewhere, { recursive: true, force: true }));
  const own = { "data-dir": elsewhere, kubeconfig: join(dataDir, "agent", "kubeconfig"), "node-ip": "127.0.0.1" };
  const member = await openMembership(own, "plain", noLog, systemClock, call);
  t.teardown(() => member.close());
  t.equal(member.node.identity?.clientCa, control.pki.ca.cert);
  const serving = () => member.node.identity?.serving("plain", { dnsNames: [], ipAddresses: [] }).cert ?? "";
  const stopgap = serving();
  const stop = new AbortController();
  const running = member.run({ signal: stop.signal });
  await until("a serving certificate of the cluster", () => serving() !== stopgap, 60_000);
  t.ok(new X509Certificate(serving()).checkIssued(new X509Certificate(control.pki.ca.cert)));
  stop.abort();
  await running;
});

t.test("certificates are renewed before they end", async (t) => {
  const { dataDir, settings } = await room(t);
  const clock = new FakeClock(Date.now());
  const member = await openMembership(settings, "renewing", noLog, clock, call);
  t.teardown(() => member.close());
  await new ApiClient({ ...member.node.api!, clock: systemClock }).create(
    resources.nodes,
    nodeObject("renewing"),
    call,
  );
  const file = join(dataDir, "agent", "pki", "client.pem");
  const first = readFileSync(file, "utf8");
  const pair = new NodeCredentials(join(dataDir, "agent", "pki"), clock).pair("client");
  t.ok(pair);
  const left = pair ? new NodeCredentials(join(dataDir, "agent", "pki"), clock).msLeft(pair) : 0;
  await clock.advance(left * 0.9);
  const stop = new AbortController();
  const running = member.run({ signal: stop.signal });
  await until("a new certificate", () => readFileSync(file, "utf8") !== first, 60_000);
  stop.abort();
  await clock.advance(60_000);
  await running;
});

t.test("what can go wrong is one clear line each", async (t) => {
  const open = (settings: object) => openMembership(settings as never, "pi2", noLog, systemClock, call);
  await t.rejects(open((await room(t, { token: "abcdef.0000000000000000" })).settings), {
    code: "unauthorized",
    message: /^Cannot join https:.*: it does not know the credentials of .*, or they have expired$/,
  });
  await t.rejects(open({ ...(await room(t)).settings, "bootstrap-kubeconfig": "/nowhere" }), {
    code: "invalid",
    message: "Bad value for --bootstrap-kubeconfig: there is no file /nowhere",
  });
  const blind = await room(t, undefined, { "certificate-authority-data": undefined, "insecure-skip-tls-verify": true });
  await t.rejects(open(blind.settings), { code: "invalid", message: /must name the certificate authority/ });
  await t.rejects(open({ ...(await room(t)).settings, server: ["https://a:1"] }), {
    message: /belongs to one cluster/,
  });
});
