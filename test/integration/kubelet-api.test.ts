// The kubelet's API and the ways to it through the API server: who is let in, what each path answers. On the fake runtime.

import { execFileSync } from "node:child_process";
import { existsSync, mkdtempSync, rmSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { connect } from "node:tls";
import t from "tap";
import { openAgent } from "../../agent/assemble/agent.ts";
import { openNodeServers } from "../../agent/assemble/serving.ts";
import { openNodeStats } from "../../agent/assemble/stats.ts";
import { agentConfig } from "../../agent/config/agent-config.ts";
import { nodeFiles } from "../../agent/server/node-files.ts";
import { nodeLogQuery } from "../../agent/server/node-log-query.ts";
import { openKubeletServer } from "../../agent/server/server.ts";
import { openFake } from "../../cri/fake/open.ts";
import { dialStream } from "../../cri/stream/dial.ts";
import { uninterrupted } from "../../plugins/kit/base/call.ts";
import { ApiClient } from "../../plugins/kit/kube/client/api-client.ts";
import { systemClock } from "../../plugins/kit/base/clock.ts";
import { noLog } from "../../plugins/kit/base/log.ts";
import { resources } from "../../plugins/kit/kube/objects/resources.ts";
import type { KubeObject, Pod } from "../../plugins/kit/kube/objects/types.ts";
import { httpFetch } from "../../plugins/kit/os/platform/http-client.ts";
import { createAuthority, createCertificate } from "../../plugins/kit/os/x509.ts";
import { boundPod, conditionOf } from "../harness/agent-node.ts";
import { admin } from "../harness/api-server.ts";
import { startControl } from "../harness/control.ts";
import { busyboxImageName } from "../harness/images.ts";
import { freePort } from "../harness/skiff.ts";
import { startSwapper } from "../harness/racer.ts";
import { until } from "../harness/until.ts";
import { Collected } from "../harness/collected.ts";

const cluster = await startControl();
t.teardown(() => cluster.close());
const { control } = cluster;
const { pki } = control;
const dataDir = mkdtempSync(join(tmpdir(), "skiff-kubelet-"));
t.teardown(() => rmSync(dataDir, { recursive: true, force: true }));
const kubeletPort = await freePort();
const readOnlyPort = await freePort();
const healthzPort = await freePort();
const config = agentConfig({
  nodeName: "node",
  nodeIps: ["127.0.0.1"],
  dataDir,
  kubeletPort,
  clusterDns: ["10.143.0.10"],
});
const fetch = control.fetchAs({ name: "system:node:node", groups: ["system:nodes", "system:authenticated"] });
const runtime = openFake({ images: [busyboxImageName] });
const cannotCheckpoint = runtime.runtime.checkpointContainer.bind(runtime.runtime);
let checkpoint: typeof cannotCheckpoint = cannotCheckpoint;
Object.assign(runtime.runtime, {
  checkpointContainer: (...args: Parameters<typeof checkpoint>) => checkpoint(...args),
});
const agent = await openAgent({
  config,
  runtime,
  api: { fetch },
  plugins: [],
  log: noLog,
});
t.teardown(() => agent.close());
const servers = await openNodeServers({
  view: agent.view,
  identity: { clientCa: pki.ca.cert, serving: pki.kubeletServing },
  client: new ApiClient({ fetch }),
  addresses: () => ["127.0.0.1"],
  kubeletPort,
  healthzPort,
  more: openNodeStats({ agent, dataDir, nodeIps: ["127.0.0.1"], clock: systemClock, log: noLog }).routes,
  readOnlyPort,
  log: noLog,
  clock: systemClock,
});
t.teardown(() => servers.close());

const client = new ApiClient({ fetch: control.fetchAs(admin) });
const create = (object: object) => client.create(resources.pods, object as KubeObject, uninterrupted);
await create(
  boundPod("web", {
    containers: [
      { name: "main", image: busyboxImageName, command: ["sh", "-c", "echo hello; echo oops >&2; sleep infinity"] },
    ],
  }),
);
await until(
  "the pod to run",
  async () =>
    conditionOf(await client.get(resources.pods, { namespace: "default", name: "web" }, uninterrupted), "Ready") ===
    "True",
);

const validity = { notBefore: Date.now() - 60_000, notAfter: Date.now() + 3_600_000 };
type Identity = { cert: string; key: string } | undefined;
const asker = (identity: Identity, headers: Record<string, string> = {}) => {
  const connection = httpFetch({ ca: pki.ca.cert, ...identity });
  t.teardown(() => connection.close());
  return async (path: string, base = `https://127.0.0.1:${kubeletPort}`, method = "GET") => {
    const response = await connection(new Request(`${base}${path}`, { headers, method }));
    return { status: response.status, text: await response.text(), headers: response.headers };
  };
};
const apiServer = asker(pki.kubeletClient());
const throughApi = asker(pki.adminClient());

t.test("nobody without credentials, and nobody whom the API server does not allow", async (t) => {
  const anyone = asker(undefined);
  const otherCa = createAuthority({ commonName: "other", ...validity });
  const forged = asker(
    createCertificate(otherCa, {
      commonName: "kube-apiserver-kubelet-client",
      organizations: ["system:masters"],
      usages: ["client auth"],
      ...validity,
    }),
  );
  const guest = asker(createCertificate(pki.ca, { commonName: "guest", usages: ["client auth"], ...validity }));
  const badToken = asker(undefined, { authorization: "Bearer nonsense" });
  for (const path of [
    "/healthz",
    "/pods",
    "/containerLogs/default/web/main",
    "/metrics",
    "/logs/",
    "/configz",
    "/nope",
  ]) {
    t.equal((await anyone(path)).status, 401, `${path} without credentials`);
    t.equal((await forged(path)).status, 401, `${path} with another authority's certificate`);
    t.equal((await badToken(path)).status, 401, `${path} with a bad token`);
    t.equal((await guest(path)).status, 403, `${path} as a stranger`);
  }
  t.equal((await apiServer("/healthz")).text, "ok");
});

t.test("a service account's token is let in as far as its roles go", async (t) => {
  await until("the account", async () => {
    const found = await client
      .get(resources.serviceaccounts, { namespace: "default", name: "default" }, uninterrupted)
      .catch(() => undefined);
    return found !== undefined;
  });
  const role = { apiVersion: "rbac.authorization.k8s.io/v1", metadata: { name: "scrape" } };
  await client.create(
    resources.clusterroles,
    {
      ...role,
      kind: "ClusterRole",
      rules: [{ apiGroups: [""], resources: ["nodes/log"], verbs: ["get"] }],
    } as KubeObject,
    uninterrupted,
  );
  await client.create(
    resources.clusterrolebindings,
    {
      ...role,
      kind: "ClusterRoleBinding",
      roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: "scrape" },
      subjects: [{ kind: "ServiceAccount", namespace: "default", name: "default" }],
    } as KubeObject,
    uninterrupted,
  );
  const { status } = await client.create<{ status: { token: string } }>(
    resources.serviceaccounts,
    { apiVersion: "authentication.k8s.io/v1", kind: "TokenRequest", spec: {} } as unknown as KubeObject,
    uninterrupted,
    { namespace: "default", name: "default", subresource: "token" },
  );
  const account = asker(undefined, { authorization: `Bearer ${status.token}` });
  await until("the role to count", async () => (await account("/logs/")).status === 200);
  t.equal((await account("/pods")).status, 403);
  t.equal((await account("/run/default/web/main?cmd=id", undefined, "POST")).status, 403);
  t.equal(
    (await account("/logs/../run/default/web/main?cmd=id", undefined, "POST")).status,
    403,
    "dots change nothing",
  );
  t.equal((await account("/logs%2f..%2fpods")).status, 403);
});

t.test("paths answer as a kubelet's do", async (t) => {
  t.match(JSON.parse((await apiServer("/pods")).text), { kind: "PodList", items: [{ metadata: { name: "web" } }] });
  t.match(JSON.parse((await apiServer("/runningpods/")).text).items[0], { spec: { containers: [{ name: "main" }] } });
  t.equal((await apiServer("/containerLogs/default/web/main?tailLines=1")).text, "oops\n");
  t.match(await apiServer("/containerLogs/default/web/main?tailLines=x"), { status: 400 });
  t.match(await apiServer("/containerLogs/default/web/nope"), { status: 404 });
  t.match(await apiServer("/containerLogs/default/web/main?previous=true"), {
    status: 400,
    text: /previous terminated container/,
  });
  t.match(await apiServer("/run/default/web/main?cmd=echo+hi", undefined, "POST"), { status: 200, text: "hi\n" });
  t.match(await apiServer("/exec/default/web/main?command=id&output=1"), { status: 400, text: /Upgrade/ });
  t.match(JSON.parse((await apiServer("/configz")).text).kubeletconfig, { port: kubeletPort, maxPods: 110 });
  // What developer tools ask of a .cpuprofile and a .heapprofile before they open it.
  const frame = { functionName: String, scriptId: String, url: String, lineNumber: Number, columnNumber: Number };
  const cpu = JSON.parse((await apiServer("/debug/pprof/profile?seconds=0.2")).text);
  t.match(cpu, { nodes: [{ id: Number, callFrame: frame }], startTime: Number, endTime: Number });
  t.ok(cpu.samples.length > 0 && cpu.samples.length === cpu.timeDeltas.length);
  const ids = new Set(cpu.nodes.map(({ id }: { id: number }) => id));
  t.ok(
    cpu.samples.every((id: number) => ids.has(id)),
    "each sample is of a node that is there",
  );
  const heap = JSON.parse((await apiServer("/debug/pprof/heap?seconds=0.05")).text);
  t.match(heap, { head: { callFrame: frame, selfSize: Number, id: Number, children: Array }, samples: Array });
  t.equal((await apiServer("/constructor")).status, 404);
  t.equal((await apiServer("/pods", undefined, "DELETE")).status, 501);
});

t.test("a checkpoint is put into a folder that nobody else reads, where the runtime can make one", async (t) => {
  const path = "/checkpoint/default/web/main";
  t.match(await apiServer(path, undefined, "POST"), { status: 501, text: /Cannot checkpoint container/ });
  t.equal((await apiServer(`${path}?timeout=soon`, undefined, "POST")).status, 400);
  t.equal((await apiServer("/checkpoint/default/web/nope", undefined, "POST")).status, 404);
  t.teardown(() => (checkpoint = cannotCheckpoint));
  const asked: { timeout?: bigint; location?: string }[] = [];
  checkpoint = async (request) => {
    asked.push(request);
    writeFileSync(request.location, "archive");
    return {};
  };
  const base = `${cluster.url}/api/v1/nodes/node/proxy`;
  const { status, text } = await throughApi(`${path}?timeout=7`, base, "POST");
  t.equal(status, 200);
  const { items } = JSON.parse(text) as { items: string[] };
  t.match(asked, [{ timeout: 7n, location: items[0] }]);
  t.match(items[0], /\/checkpoints\/checkpoint-web_default-main-[\dTZ-]+\.tar$/);
  t.equal(statSync(join(dataDir, "checkpoints")).mode & 0o777, 0o700);
});

t.test("through the API server", async (t) => {
  const pods = `${cluster.url}/api/v1/namespaces/default/pods`;
  t.equal((await throughApi("/web/log", pods)).text, "hello\noops\n");
  t.match(JSON.parse((await throughApi("/web/log?previous=true", pods)).text), {
    kind: "Status",
    reason: "BadRequest",
    message: 'previous terminated container "main" in pod "web" not found',
  });
  const node = `${cluster.url}/api/v1/nodes/node/proxy`;
  t.equal((await throughApi("/healthz", node)).text, "ok");
  t.equal((await throughApi("", node)).headers.get("location"), "/api/v1/nodes/node/proxy/");
  await create(boundPod("liar", { nodeName: "elsewhere" }));
  const lie = { type: "merge" as const, body: { status: { podIP: "127.0.0.1", podIPs: [{ ip: "127.0.0.1" }] } } };
  const liar = { namespace: "default", name: "liar", subresource: "status" };
  await client.patch(resources.pods, liar, lie, uninterrupted);
  t.match(await throughApi(`/liar:${kubeletPort}/proxy/`, pods), { status: 400, text: /address not allowed/ });
  t.equal((await throughApi("/healthz", `${cluster.url}/api/v1/nodes/other/proxy`)).status, 404);
});

t.test("the proxy of a node leads to every path of it; the deprecated form leads nowhere", async (t) => {
  const proxy = `${cluster.url}/api/v1/nodes/node/proxy`;
  const deprecated = `${cluster.url}/api/v1/proxy/nodes/node`;
  for (const path of [
    "/pods",
    "/stats/summary",
    "/spec/",
    "/logs/",
    "/metrics",
    "/runningpods/",
    "/debug/pprof/cmdline",
  ]) {
    t.equal((await throughApi(path, proxy)).status, 200, path);
    t.equal((await throughApi(path, deprecated)).status, 404, path);
  }
  t.match(await throughApi("/run/default/web/main?cmd=echo+old", proxy, "POST"), { status: 200, text: "old\n" });
  t.match(await throughApi("/exec/default/web/main?command=id&output=1", proxy), { status: 400, text: /Upgrade/ });
  t.equal((await throughApi("/default/web/log", `${cluster.url}/api/v1/proxy/namespaces`)).status, 404);
  const tls = { ca: pki.ca.cert, ...pki.adminClient() };
  const stdout = new Collected();
  const exec = "exec/default/web/main?command=echo&command=hi&output=1";
  t.same(await dialStream({ url: `${proxy}/${exec}`, tls }, { stdout }, uninterrupted), { exitCode: 0 });
  t.equal(stdout.text, "hi\n");
  // Which answers stand behind these paths is tested where kubectl asks them; here, that they are reached.
  for (const [path, words] of [
    ["attach/default/web/nope?output=1", /container "nope" not found in pod "web"/],
    ["portForward/default/nope", /pod.*nope/],
  ] as const)
    await t.rejects(dialStream({ url: `${proxy}/${path}`, tls }, { stdout }, uninterrupted), { message: words });
  await t.rejects(dialStream({ url: `${deprecated}/${exec}`, tls }, { stdout }, uninterrupted), {
    message: /404|not find/,
  });
});

t.test("health is told on loopback, without credentials and without anything else", async (t) => {
  const base = `http://127.0.0.1:${healthzPort}`;
  const anyone = asker(undefined);
  t.equal((await anyone("/healthz", base)).text, "ok");
  t.equal((await anyone("/healthz/syncloop", base)).text, "ok");
  for (const path of ["/pods", "/metrics", "/exec/default/web/main", "/"])
    t.equal((await anyone(path, base)).status, 404, path);
});

t.test("a renewed certificate is used by the next connection", async (t) => {
  const issue = () => pki.kubeletServing("renewed", { dnsNames: ["localhost"], ipAddresses: ["127.0.0.1"] });
  let pair = issue();
  let renewed = () => {};
  const server = await openKubeletServer({
    view: agent.view,
    client: new ApiClient({ fetch }),
    listen: { host: "127.0.0.1", port: 0 },
    tls: () => ({ ...pair, clientCa: pki.ca.cert }),
    onRenewed: (then) => {
      renewed = then;
      return () => {};
    },
    clock: systemClock,
    log: noLog,
  });
  t.teardown(() => server.close());
  const shown = () =>
    new Promise<string>((resolve, reject) => {
      const socket = connect({ host: "127.0.0.1", port: server.port, ca: pki.ca.cert }, () => {
        resolve(socket.getPeerX509Certificate()?.fingerprint256 ?? "");
        socket.destroy();
      }).once("error", reject);
    });
  const before = await shown();
  const other = createCertificate(pki.ca, {
    commonName: "system:node:renewed",
    ipAddresses: ["127.0.0.1"],
    usages: ["server auth"],
    ...validity,
  });
  pair = other;
  renewed();
  t.not(await shown(), before);
});

t.test("exec by WebSocket through the API server", async (t) => {
  const { cert, key } = pki.adminClient();
  const url = `${cluster.url}/api/v1/namespaces/default/pods/web/exec?command=echo&command=hi&stdout=true`;
  const stdout = new Collected();
  const tls = { ca: pki.ca.cert, cert, key };
  t.same(await dialStream({ url, tls }, { stdout }, uninterrupted), { exitCode: 0 });
  t.equal(stdout.text, "hi\n");
  for (const path of [
    "/apis/example.com/v1/namespaces/default/pods/web/exec",
    "/api/v1/namespaces/default/nodes/node/proxy/exec/default/web/main",
    "/api/v1/namespaces/default/services/web/exec",
  ]) {
    const look = dialStream({ url: `${cluster.url}${path}?command=id&stdout=true`, tls }, { stdout }, uninterrupted);
    await t.rejects(look, { code: "not-found" }, `${path} is no way around`);
  }
  const missing = `${cluster.url}/api/v1/namespaces/default/pods/nope/exec?command=id&stdout=true`;
  await t.rejects(dialStream({ url: missing, tls }, { stdout }, uninterrupted), { code: "not-found" });
});

t.test("a container that has ended is told of before the connection is a session's", async (t) => {
  const { cert, key } = pki.adminClient();
  const at = { namespace: "default", name: "half" };
  const sleep = ["sh", "-c", "exec sleep infinity"];
  await create(
    boundPod("half", {
      restartPolicy: "Never",
      containers: [
        { name: "brief", image: busyboxImageName, command: ["true"] },
        { name: "main", image: busyboxImageName, command: sleep },
      ],
    }),
  );
  await until("the first container to end", async () => {
    const { status } = await client.get<Pod>(resources.pods, at, uninterrupted);
    return status?.containerStatuses?.some(({ name, state }) => name === "brief" && state?.terminated);
  });
  for (const what of ["attach?", "exec?command=id&"]) {
    const url = `${cluster.url}/api/v1/namespaces/default/pods/half/${what}container=brief&stdout=true`;
    const asked = dialStream({ url, tls: { ca: pki.ca.cert, cert, key } }, { stdout: new Collected() }, uninterrupted);
    await t.rejects(asked, { message: /container not found \("brief"\)/ }, what);
  }
});

t.test("the read-only port shows pods and health, and nothing else", async (t) => {
  const base = `http://127.0.0.1:${readOnlyPort}`;
  const anyone = asker(undefined);
  t.equal((await anyone("/healthz", base)).text, "ok");
  t.match(JSON.parse((await anyone("/pods", base)).text), { kind: "PodList" });
  for (const path of ["/containerLogs/default/web/main", "/logs/", "/configz", "/debug/pprof/cmdline", "/ui/"])
    t.equal((await anyone(path, base)).status, 404, path);
  t.equal((await anyone("/run/default/web/main?cmd=id", base, "POST")).status, 404);
});

t.test("nodeLogQuery() asks the journal where there is one", async (t) => {
  const dir = mkdtempSync(join(dataDir, "journal-"));
  const program = join(dir, "journalctl");
  writeFileSync(program, '#!/bin/sh\nfor word in "$@"; do echo "$word"; done\n', { mode: 0o755 });
  const ask = async (query: Record<string, string>) =>
    (await nodeLogQuery(dir, new URLSearchParams(query), uninterrupted, { dirs: [dir], program })).text();
  const words = (
    await ask({
      query: "kubelet,ssh.service",
      tailLines: "5",
      sinceTime: "2026-01-01T00:00:00Z",
      untilTime: "2026-01-02T00:00:00Z",
      pattern: "error --file=/etc/passwd",
      boot: "-1",
    })
  ).split("\n");
  for (const word of [
    "--lines=5",
    "--since=@1767225600",
    "--until=@1767312000",
    "--grep=error --file=/etc/passwd",
    "--boot=-1",
    "--unit=kubelet",
    "--unit=ssh.service",
  ])
    t.ok(words.includes(word), word);
  for (const [name, value] of [
    ["tailLines", "many"],
    ["sinceTime", "soon"],
    ["boot", "3; reboot"],
  ] as const)
    await t.rejects(ask({ query: "kubelet", [name]: value }), { code: "invalid" }, name);
  writeFileSync(program, "#!/bin/sh\necho broken journal >&2\nexit 1\n", { mode: 0o755 });
  await t.rejects(ask({ query: "kubelet" }), { message: /broken journal/ });
});

t.test("nodeLogQuery() finds a service's file, and takes names only", async (t) => {
  const dir = mkdtempSync(join(dataDir, "services-"));
  writeFileSync(join(dir, "skiffd-test.log"), "said");
  const ask = (query: string) => nodeLogQuery(dir, new URLSearchParams({ query }), uninterrupted);
  const hasJournal = existsSync("/run/log/journal") || existsSync("/var/log/journal");
  if (!hasJournal) t.equal(await (await ask("skiffd-test")).text(), "said");
  for (const name of ["../etc/passwd", "--file=/etc/passwd", "a/b", ""])
    await t.rejects(ask(name), { code: "invalid" }, name);
});

t.test("nodeFiles() serves nothing outside its folder", async (t) => {
  const dir = mkdtempSync(join(dataDir, "files-"));
  writeFileSync(join(dir, "a.log"), "text");
  symlinkSync("/etc/passwd", join(dir, "link"));
  symlinkSync("a.log", join(dir, "inside"));
  t.equal(await (await nodeFiles(dir, ["a.log"])).text(), "text");
  t.equal(await (await nodeFiles(dir, ["inside"])).text(), "text");
  t.match(await (await nodeFiles(dir, [""])).text(), /href="a.log"/);
  await t.rejects(nodeFiles(dir, ["..", "secret"]), { code: "invalid" });
  await t.rejects(nodeFiles(dir, ["../secret"]), { code: "invalid" });
  await t.rejects(nodeFiles(dir, ["link"]), { code: "not-found" });
  symlinkSync(join(dir, "a.log"), join(dir, "absolute"));
  t.equal(await (await nodeFiles(dir, ["absolute"])).text(), "text", "a link that stays inside");
  execFileSync("mkfifo", [join(dir, "fifo")]);
  await t.rejects(nodeFiles(dir, ["fifo"]), { code: "forbidden" });
  await startSwapper(t, join(dir, "a.log"), "/etc/passwd");
  const seen = new Set<string>();
  const ask = async () => (await nodeFiles(dir, ["a.log"])).text();
  for (let round = 0; round < 200; round++) seen.add(await ask().catch(() => "text"));
  t.same([...seen], ["text"], "a link swapped in while it is opened is not followed");
  await t.rejects(nodeFiles(dir, ["a.log", "x"]), { code: "not-found" });
});
