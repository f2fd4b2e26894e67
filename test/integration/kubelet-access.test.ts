// Who may do what on the kubelet's port: every path with no, wrong and right credentials, one node's pods and identity against another
// node, and the tricks by which paths, headers and framing are meant to get around it. On the fake runtime.

import { mkdtempSync, rmSync } from "node:fs";
import { request as httpsRequest } from "node:https";
import type { Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { connect } from "node:tls";
import t from "tap";
import { openAgent } from "../../agent/assemble/agent.ts";
import { openNodeServers } from "../../agent/assemble/serving.ts";
import { openNodeStats } from "../../agent/assemble/stats.ts";
import { agentConfig } from "../../agent/config/agent-config.ts";
import { openFake } from "../../cri/fake/open.ts";
import { uninterrupted } from "../../plugins/kit/base/call.ts";
import { ApiClient } from "../../plugins/kit/kube/client/api-client.ts";
import { systemClock } from "../../plugins/kit/base/clock.ts";
import { type Log, noLog } from "../../plugins/kit/base/log.ts";
import { resources } from "../../plugins/kit/kube/objects/resources.ts";
import type { KubeObject } from "../../plugins/kit/kube/objects/types.ts";
import { createAuthority, createCertificate } from "../../plugins/kit/os/x509.ts";
import { boundPod, conditionOf } from "../harness/agent-node.ts";
import { admin } from "../harness/api-server.ts";
import { startControl } from "../harness/control.ts";
import { busyboxImageName } from "../harness/images.ts";
import { freePort } from "../harness/skiff.ts";
import { until } from "../harness/until.ts";

const cluster = await startControl();
t.teardown(() => cluster.close());
const { control } = cluster;
const { pki } = control;
const client = new ApiClient({ fetch: control.fetchAs(admin) });
const levels: string[] = [];
const log: Log = { ...noLog, child: () => log, setLevel: (level) => void levels.push(level) };

async function openTestNode(nodeName: string): Promise<number> {
  const dataDir = mkdtempSync(join(tmpdir(), "skiff-access-"));
  t.teardown(() => rmSync(dataDir, { recursive: true, force: true }));
  const kubeletPort = await freePort();
  const nodeIps = ["127.0.0.1"];
  const config = agentConfig({ nodeName, nodeIps, dataDir, kubeletPort, clusterDns: ["10.143.0.10"] });
  const fetch = control.fetchAs({ name: `system:node:${nodeName}`, groups: ["system:nodes", "system:authenticated"] });
  const runtime = openFake({ images: [busyboxImageName] });
  const agent = await openAgent({ config, runtime, api: { fetch }, plugins: [], log: noLog });
  t.teardown(() => agent.close());
  const stats = openNodeStats({ agent, dataDir, nodeIps, clock: systemClock, log: noLog });
  const servers = await openNodeServers({
    view: agent.view,
    identity: { clientCa: pki.ca.cert, serving: pki.kubeletServing },
    client: new ApiClient({ fetch }),
    more: stats.routes,
    page: {
      folder: dataDir,
      state: (wish) => stats.page(wish),
      port: 0,
      tokenFile: join(dataDir, "ui-token"),
      dataDir,
    },
    addresses: () => nodeIps,
    kubeletPort,
    healthzPort: 0,
    log,
    clock: systemClock,
  });
  t.teardown(() => servers.close());
  const pod = boundPod("web", {
    nodeName,
    containers: [{ name: "main", image: busyboxImageName, command: ["sleep", "infinity"] }],
  });
  const name = `web-${nodeName}`;
  await client.create(
    resources.pods,
    { ...pod, metadata: { name, namespace: "default" } } as KubeObject,
    uninterrupted,
  );
  await until(
    `${name} to run`,
    async () =>
      conditionOf(await client.get(resources.pods, { namespace: "default", name }, uninterrupted), "Ready") === "True",
    60_000,
  );
  return kubeletPort;
}

const ports = { a: await openTestNode("a"), b: await openTestNode("b") };

const validity = { notBefore: Date.now() - 60_000, notAfter: Date.now() + 3_600_000 };
const certificateOf = (commonName: string, ...organizations: string[]) =>
  createCertificate(pki.ca, { commonName, organizations, usages: ["client auth"], ...validity });

interface Credentials {
  readonly cert?: string;
  readonly key?: string;
  readonly headers?: Record<string, string | string[]>;
}

interface Asked {
  readonly method?: string;
  readonly port?: number;
  readonly host?: string;
  readonly isUpgrade?: "websocket" | "SPDY/3.1";
  readonly body?: string;
}

/** The path goes out as it is written: nothing is made normal on the way. */
function ask(path: string, { cert, key, headers = {} }: Credentials, asked: Asked = {}): Promise<number> {
  const { method = "GET", port = ports.a, host = "127.0.0.1", isUpgrade, body } = asked;
  const upgrade = {
    connection: "Upgrade",
    ...(isUpgrade === "websocket"
      ? {
          upgrade: "websocket",
          "sec-websocket-version": "13",
          "sec-websocket-key": "AAAAAAAAAAAAAAAAAAAAAA==",
          "sec-websocket-protocol": "v4.channel.k8s.io",
        }
      : {
          upgrade: "SPDY/3.1",
          "x-stream-protocol-version": path.startsWith("/portForward") ? "portforward.k8s.io" : "v4.channel.k8s.io",
        }),
  };
  const own = { ca: pki.ca.cert, agent: false as const, ...(cert && key ? { cert, key } : {}) };
  return new Promise((resolve, reject) => {
    const sent = httpsRequest(
      { ...own, host, port, path, method, headers: { ...headers, ...(isUpgrade ? upgrade : {}) } },
      (response) => {
        resolve(response.statusCode ?? 0);
        response.destroy();
      },
    );
    sent.once("upgrade", (_response, socket: Socket) => {
      resolve(101);
      socket.destroy();
    });
    sent.once("error", reject);
    sent.end(body);
  });
}

interface Endpoint extends Asked {
  readonly path: string;
  readonly verb: "get" | "create" | "update";
  readonly subresource: "proxy" | "stats" | "log" | "metrics" | "spec" | "checkpoint";
  /** What who may gets; others get 401 and 403. */
  readonly good: number;
}

const get = (path: string, subresource: Endpoint["subresource"], good = 200): Endpoint => ({
  path,
  verb: "get",
  subresource,
  good,
});
const post = { method: "POST", verb: "create" } as const;
const at = "default/web-a/main";
/** A WebSocket is a GET, and needs create all the same. */
const session = (path: string, isUpgrade: "websocket" | "SPDY/3.1"): Endpoint => ({
  method: isUpgrade === "websocket" ? "GET" : "POST",
  verb: "create",
  path,
  subresource: "proxy",
  isUpgrade,
  good: 101,
});

const endpoints: readonly Endpoint[] = [
  get("/healthz", "proxy"),
  get("/healthz/ping", "proxy"),
  get("/healthz/syncloop", "proxy"),
  get("/pods", "proxy"),
  get("/runningpods/", "proxy"),
  get(`/containerLogs/${at}`, "proxy"),
  get("/configz", "proxy"),
  get("/debug/pprof/", "proxy"),
  get("/debug/pprof/cmdline", "proxy"),
  get("/debug/pprof/heap?seconds=0.01", "proxy"),
  { path: "/debug/flags/v", method: "PUT", verb: "update", body: "4", subresource: "proxy", good: 200 },
  get("/ui/state", "proxy"),
  get("/logs/", "log"),
  get("/stats/summary", "stats"),
  get("/stats/", "stats"),
  { ...post, path: "/stats/container", body: "{}", subresource: "stats", good: 200 },
  get("/api/v1.3/machine", "stats"),
  get("/api/v2.1/stats/?recursive=true", "stats"),
  get("/spec/", "spec"),
  get("/metrics", "metrics"),
  get("/metrics/cadvisor", "metrics"),
  get("/metrics/resource", "metrics"),
  get("/metrics/probes", "metrics"),
  { ...post, path: `/run/${at}?cmd=true`, subresource: "proxy", good: 200 },
  // The fake runtime cannot; what counts is that it was asked.
  { ...post, path: `/checkpoint/${at}`, subresource: "checkpoint", good: 501 },
  session(`/exec/${at}?command=true&output=1`, "websocket"),
  session(`/exec/${at}?command=true&output=1`, "SPDY/3.1"),
  session(`/attach/${at}?output=1`, "websocket"),
  session(`/attach/${at}?output=1`, "SPDY/3.1"),
  session("/portForward/default/web-a", "SPDY/3.1"),
  session(`/ui/exec/${at}?command=true&output=1`, "websocket"),
];

const rbac = "rbac.authorization.k8s.io";
const mayOnly = new Map<string, Credentials>();
for (const { verb, subresource } of endpoints) {
  const name = `${verb}-${subresource}`;
  if (mayOnly.has(name)) continue;
  mayOnly.set(name, certificateOf(name));
  const rules = [{ apiGroups: [""], resources: [`nodes/${subresource}`], verbs: [verb] }];
  const head = { apiVersion: `${rbac}/v1`, metadata: { name } };
  const roleRef = { apiGroup: rbac, kind: "ClusterRole", name };
  const subjects = [{ apiGroup: rbac, kind: "User", name }];
  await client.create(resources.clusterroles, { ...head, kind: "ClusterRole", rules } as KubeObject, uninterrupted);
  const binding = { ...head, kind: "ClusterRoleBinding", roleRef, subjects } as KubeObject;
  await client.create(resources.clusterrolebindings, binding, uninterrupted);
}

/** Whose roles are known: answers of before are kept for a while, so nobody of the matrix may be asked about too early. */
await until("the roles to count", async () => {
  const spec = {
    user: "get-stats",
    groups: [],
    resourceAttributes: { verb: "get", version: "v1", resource: "nodes", subresource: "stats", name: "a" },
  };
  const review = { apiVersion: "authorization.k8s.io/v1", kind: "SubjectAccessReview", spec };
  const { status } = await client.create<{ status?: { allowed?: boolean } }>(
    resources.subjectaccessreviews,
    review,
    uninterrupted,
  );
  return status?.allowed === true;
});

const tokenOf = async (): Promise<string> => {
  await until("the account", async () => {
    const account = { namespace: "default", name: "default" };
    return (await client.get(resources.serviceaccounts, account, uninterrupted).catch(() => undefined)) !== undefined;
  });
  const { status } = await client.create<{ status: { token: string } }>(
    resources.serviceaccounts,
    { apiVersion: "authentication.k8s.io/v1", kind: "TokenRequest", spec: {} } as unknown as KubeObject,
    uninterrupted,
    { namespace: "default", name: "default", subresource: "token" },
  );
  return status.token;
};
const podToken = await tokenOf();
const asPod: Credentials = { headers: { authorization: `Bearer ${podToken}` } };

async function inTurn<T>(steps: readonly (() => Promise<T>)[]): Promise<T[]> {
  const done: T[] = [];
  for (const step of steps) done.push(await step());
  return done;
}

t.test("every endpoint with no, wrong and right credentials", { timeout: 300_000 }, async (t) => {
  const otherCa = createAuthority({ commonName: "other", ...validity });
  const past = { notBefore: Date.now() - 7_200_000, notAfter: Date.now() - 3_600_000 };
  const masters = { commonName: "kubernetes-admin", organizations: ["system:masters"] };
  const wrong: Record<string, { readonly who: Credentials; readonly status: number }> = {
    "no credentials": { who: {}, status: 401 },
    "another authority's certificate": {
      who: createCertificate(otherCa, { ...masters, usages: ["client auth"], ...validity }),
      status: 401,
    },
    "a certificate that ran out": {
      who: createCertificate(pki.ca, { ...masters, usages: ["client auth"], ...past }),
      status: 401,
    },
    "a bad token": { who: { headers: { authorization: "Bearer nonsense" } }, status: 401 },
    "a password": { who: { headers: { authorization: "Basic YWRtaW46YWRtaW4=" } }, status: 401 },
    "a stranger's certificate": { who: certificateOf("stranger"), status: 403 },
    "another node's certificate": { who: certificateOf("system:node:b", "system:nodes"), status: 403 },
    "a pod's token": { who: asPod, status: 403 },
  };
  for (const endpoint of endpoints) {
    const { path, verb, subresource, good } = endpoint;
    const label = `${endpoint.method ?? "GET"} ${path}${endpoint.isUpgrade ? ` (${endpoint.isUpgrade})` : ""}`;
    const rows = [
      ...Object.entries(wrong).map(([name, { who, status }]) => ({ name: `with ${name}`, who, status })),
      ...[...mayOnly].map(([name, who]) => {
        const status = name === `${verb}-${subresource}` ? good : 403;
        return { name: `by who may ${name}`, who, status };
      }),
      { name: "by the API server", who: pki.kubeletClient(), status: good },
    ];
    // One heap profile is taken at a time; the others of a row are refused before it comes to that, or are asked after it.
    const answers = path.includes("pprof")
      ? await inTurn(
          rows.map(
            ({ who }) =>
              () =>
                ask(path, who, endpoint),
          ),
        )
      : await Promise.all(rows.map(({ who }) => ask(path, who, endpoint)));
    for (const [index, { name, status }] of rows.entries()) t.equal(answers[index], status, `${label} ${name}`);
  }
  t.ok(levels.length > 0 && levels.every((level) => level === "debug"), "the log's level was changed, by who may");
});

t.test("a pod's account and a node's identity do not reach another node's exec", async (t) => {
  const exec = "/exec/default/web-b/main?command=id&output=1";
  const nodeA = certificateOf("system:node:a", "system:nodes");
  for (const isUpgrade of ["websocket", "SPDY/3.1"] as const) {
    const method = isUpgrade === "websocket" ? "GET" : "POST";
    t.equal(await ask(exec, asPod, { port: ports.b, isUpgrade, method }), 403, `a pod's token, ${isUpgrade}`);
    t.equal(await ask(exec, nodeA, { port: ports.b, isUpgrade, method }), 403, `another node, ${isUpgrade}`);
    const port = Number(new URL(cluster.url).port);
    for (const path of [
      "/api/v1/namespaces/default/pods/web-b/exec?command=id&stdout=true",
      `/api/v1/nodes/b/proxy${exec}`,
      `/api/v1/proxy/nodes/b${exec}`,
    ]) {
      t.equal(await ask(path, asPod, { port, isUpgrade, method }), 403, `a pod's token by ${path}, ${isUpgrade}`);
      t.equal(await ask(path, nodeA, { port, isUpgrade, method }), 403, `another node by ${path}, ${isUpgrade}`);
    }
    const reader = mayOnly.get("get-proxy") ?? {};
    t.equal(await ask(exec, reader, { port: ports.b, isUpgrade }), 403, `get on nodes/proxy, ${isUpgrade}`);
    const proxied = `/api/v1/nodes/b/proxy${exec}`;
    t.equal(await ask(proxied, reader, { port, isUpgrade }), 403, `get on nodes/proxy by ${proxied}, ${isUpgrade}`);
  }
});

t.test("paths are what they are authorized as", async (t) => {
  const may = mayOnly.get("get-stats") ?? {};
  for (const path of [
    "/stats/../pods",
    "/stats/%2e%2e/pods",
    "/stats/..%2fpods",
    "/stats/..;/pods",
    "/stats\\..\\pods",
    "/./pods",
    "//pods",
    "/stats//../../pods",
    "/PODS",
    "/pods?path=/stats/",
    "/pods#/stats/",
    "/pods;stats",
    "/%70ods",
    "http://127.0.0.1/pods",
  ]) {
    const status = await ask(path, may).catch(() => 400);
    t.ok([400, 403, 404].includes(status), `${path}: ${status}`);
  }
  for (const path of [`/stats/../exec/${at}?command=id&output=1`, `//exec/${at}?command=id&output=1`]) {
    const status = await ask(path, may, { isUpgrade: "websocket" });
    t.ok([400, 403, 404].includes(status), `${path}: ${status}`);
  }
});

t.test("headers make nobody of somebody else", async (t) => {
  const tricks: Record<string, string>[] = [
    { "x-remote-user": "kubernetes-admin", "x-remote-group": "system:masters" },
    { "x-forwarded-user": "kubernetes-admin" },
    { "x-forwarded-for": "127.0.0.1", "x-real-ip": "127.0.0.1" },
    { "x-forwarded-client-cert": "Subject=CN=kubernetes-admin" },
    { "impersonate-user": "kubernetes-admin", "impersonate-group": "system:masters" },
    { "x-original-url": "/stats/summary", "x-rewrite-url": "/stats/summary" },
    { "x-http-method-override": "GET" },
    { host: "localhost" },
    { cookie: `token=${podToken}` },
  ];
  for (const headers of tricks) {
    const name = Object.keys(headers).join(", ");
    t.equal(await ask("/pods", { headers }), 401, `${name}, and no credentials`);
    const both = { ...mayOnly.get("get-stats"), headers };
    t.equal(await ask("/pods", both), 403, `${name}, and credentials for something else`);
    t.equal(await ask("/pods", { headers: { ...asPod.headers, ...headers } }), 403, `${name}, and a pod's token`);
  }
  t.equal(await ask(`/pods?access_token=${podToken}`, {}), 401, "tokens do not travel in addresses");
  for (const authorization of ["Bearer", "Bearer ", `Bearer  ${podToken} x`, podToken, `Token ${podToken}`])
    t.equal(await ask("/pods", { headers: { authorization } }), 401, JSON.stringify(authorization.slice(0, 12)));
});

t.test("other sites' pages get nothing from a browser that holds a certificate", async (t) => {
  const apiServer = pki.kubeletClient();
  const own = `127.0.0.1:${ports.a}`;
  const from = (origin: string, more: Record<string, string> = {}) => ({
    ...apiServer,
    headers: { host: own, origin, ...more },
  });
  const run = `/run/${at}?cmd=true`;
  const exec = `/exec/${at}?command=true&output=1`;
  for (const origin of [
    "https://evil.example",
    "null",
    `http://127.0.0.1.evil.example:${ports.a}`,
    "https://127.0.0.1",
  ]) {
    t.equal(await ask(run, from(origin), { method: "POST" }), 403, `a form of ${origin}`);
    t.equal(await ask(exec, from(origin), { isUpgrade: "websocket" }), 403, `a WebSocket of ${origin}`);
  }
  t.equal(await ask(run, from(`https://${own}`), { method: "POST" }), 200, "its own page");
  t.equal(await ask(exec, from(`https://${own}`), { isUpgrade: "websocket" }), 101, "its own page's terminal");
  const proxied = from("http://127.0.0.1:8001", { "x-forwarded-for": "127.0.0.1" });
  t.equal(await ask(exec, proxied, { isUpgrade: "websocket" }), 101, "through an API server");
  const port = Number(new URL(cluster.url).port);
  const page = { ...pki.adminClient(), headers: { origin: "http://127.0.0.1:8001" } };
  const path = `/api/v1/nodes/a/proxy${exec}`;
  t.equal(await ask(path, page, { isUpgrade: "websocket", port }), 101, "through our own");
});

t.test("requests that can be read in two ways are refused", async (t) => {
  const raw = (text: string) =>
    new Promise<string>((resolve, reject) => {
      const socket = connect({ host: "127.0.0.1", port: ports.a, ca: pki.ca.cert, ...mayOnly.get("get-stats") }, () =>
        socket.write(text),
      );
      let said = "";
      socket.setEncoding("latin1").on("data", (piece: string) => (said += piece));
      socket.once("error", reject).once("close", () => resolve(said));
    });
  const hidden = "GET /pods HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n";
  const head = "POST /stats/container HTTP/1.1\r\nhost: a\r\nconnection: close\r\n";
  const odd: readonly (readonly [string, string])[] = [
    ["both lengths", `${head}content-length: 4\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n${hidden}`],
    ["two lengths", `${head}content-length: 0\r\ncontent-length: 60\r\n\r\n${hidden}`],
    ["an odd coding", `${head}transfer-encoding: x\r\n\r\n${hidden}`],
    ["a folded header", `${head}content-length: 0\r\n x-more: 1\r\n\r\n`],
    ["a space before the colon", `${head}content-length : 60\r\n\r\n${hidden}`],
  ];
  for (const [name, text] of odd) {
    const said = await raw(text);
    t.match(said, /^HTTP\/1\.1 4\d\d /, name);
    t.notMatch(said, /PodList/, `${name}: nothing hidden is answered`);
    t.equal(said.split("HTTP/1.1 ").length, 2, `${name}: one answer`);
  }
});

t.test("the kubelet's port is there by IPv6 too", async (t) => {
  const status = await ask("/healthz", pki.kubeletClient(), { host: "::1" }).catch(
    (error: NodeJS.ErrnoException) => error,
  );
  if (status instanceof Error && ["EADDRNOTAVAIL", "EAFNOSUPPORT", "ENETUNREACH"].includes(status.code ?? ""))
    t.pass("skipped: this machine has no IPv6");
  else t.equal(status, 200);
});
