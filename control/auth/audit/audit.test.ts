import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import t from "tap";
import { startApi } from "../../../test/harness/api-server.ts";
import { FakeClock, systemClock } from "../../../plugins/kit/base/clock.ts";
import { noLog } from "../../../plugins/kit/base/log.ts";
import { createAuditor } from "./auditor.ts";
import { AuditFile } from "./log-file.ts";
import { openAudit } from "./open.ts";
import { parseAuditPolicy, recordingOf } from "./policy.ts";

const dir = mkdtempSync(join(tmpdir(), "skiff-audit-"));
t.teardown(() => rmSync(dir, { recursive: true, force: true }));

const policy = parseAuditPolicy(
  `
apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules:
- level: None
  users: ["system:kube-scheduler"]
- level: RequestResponse
  resources: [{group: "", resources: ["configmaps"]}]
- level: Metadata
  resources: [{group: "", resources: ["secrets", "pods/*"]}]
- level: Request
  verbs: [create]
  namespaces: ["shop"]
- level: None
  nonResourceURLs: ["/healthz*"]
- level: Metadata
  userGroups: ["auditors"]
`,
  "policy.yaml",
);

const user = { name: "ann", groups: ["system:authenticated"] };
const on = (plural: string, over: object = {}) => ({
  group: "",
  version: "v1",
  plural,
  subresource: "",
  namespace: "shop",
  name: "",
  ...over,
});

t.test("recordingOf() takes the first rule that matches", async (t) => {
  const level = (verb: string, resource: ReturnType<typeof on> | string, who = user) =>
    recordingOf(policy, { user: who, verb, ...(typeof resource === "string" ? { path: resource } : { resource }) })
      .level;
  t.equal(level("get", on("configmaps")), "RequestResponse");
  t.equal(level("get", on("configmaps"), { name: "system:kube-scheduler", groups: [] }), "None");
  t.equal(level("get", on("secrets")), "Metadata");
  t.equal(level("create", on("pods", { subresource: "exec" })), "Metadata");
  t.equal(level("create", on("pods")), "Request");
  t.equal(level("get", on("pods")), "None");
  t.equal(level("get", "/healthz/ping", { name: "x", groups: ["auditors"] }), "None");
  t.equal(level("get", "/version", { name: "x", groups: ["auditors"] }), "Metadata");
  for (const bad of [
    "{}",
    "kind: Policy\napiVersion: audit.k8s.io/v1\nrules: []",
    "kind: Policy\napiVersion: audit.k8s.io/v1\nrules: [{level: All}]",
  ]) {
    t.throws(() => parseAuditPolicy(bad, "p.yaml"), { code: "invalid", message: /p\.yaml/ });
  }
});

interface Recorded {
  stage: string;
  level: string;
  verb: string;
  auditID: string;
  requestObject?: object;
  responseObject?: object;
  responseStatus?: { code: number; reason?: string };
  annotations?: Record<string, string>;
  user?: object;
  impersonatedUser?: object;
}

t.test("requests are recorded with their objects, refusals, impersonation and watches", async (t) => {
  const events: Recorded[] = [];
  const audit = createAuditor({ policy, clock: systemClock, write: (event) => events.push(event as Recorded) });
  const api = await startApi({ audit });
  t.teardown(() => api.close());
  await api.ask("POST", "/api/v1/namespaces", { apiVersion: "v1", kind: "Namespace", metadata: { name: "shop" } });
  t.equal(events.length, 0, "no rule matches");
  const made = await api.ask("POST", "/api/v1/namespaces/shop/configmaps", {
    apiVersion: "v1",
    kind: "ConfigMap",
    metadata: { name: "a" },
    data: { k: "v" },
  });
  t.match(events.pop(), {
    kind: "Event",
    apiVersion: "audit.k8s.io/v1",
    level: "RequestResponse",
    stage: "ResponseComplete",
    requestURI: "/api/v1/namespaces/shop/configmaps",
    verb: "create",
    user: { username: "system:admin" },
    objectRef: { resource: "configmaps", namespace: "shop", apiVersion: "v1" },
    responseStatus: { code: 201 },
    requestObject: { data: { k: "v" } },
    responseObject: { metadata: { name: "a" } },
    annotations: { "authorization.k8s.io/decision": "allow" },
    auditID: made.headers.get("audit-id"),
  });
  await api.ask("POST", "/api/v1/namespaces/shop/secrets", {
    apiVersion: "v1",
    kind: "Secret",
    metadata: { name: "s" },
    data: { p: "aHVudGVyMg==" },
  });
  const secret = events.pop();
  t.equal(secret?.level, "Metadata");
  t.notMatch(JSON.stringify(secret), /aHVudGVyMg/);
  await api.ask("GET", "/api/v1/namespaces/shop/configmaps/none", undefined, { "impersonate-user": "bob" });
  t.match(events.pop(), {
    impersonatedUser: { username: "bob" },
    user: { username: "system:admin" },
    responseStatus: { code: 404, reason: "NotFound" },
  });
  await api.ask("GET", "/api/v1/namespaces/shop/configmaps?watch=true&timeoutSeconds=1");
  t.same(
    events.map(({ stage, verb }) => `${verb} ${stage}`),
    ["watch ResponseStarted", "watch ResponseComplete"],
  );
});

t.test("AuditFile writes lines, turns over by size and keeps so many", async (t) => {
  const clock = new FakeClock();
  const path = join(dir, "turning", "audit.log");
  const file = new AuditFile({ path, clock, log: noLog, maxSizeBytes: 500, maxBackups: 2 });
  for (let index = 0; index < 40; index++) {
    file.write({ index, text: "x".repeat(60) });
    await file.flush();
    await clock.advance(1000);
  }
  const names = readdirSync(join(dir, "turning"));
  t.equal(names.length, 3, "the log and two backups");
  t.equal(statSync(path).mode & 0o777, 0o600);
  const lines = names.sort().flatMap((name) =>
    readFileSync(join(dir, "turning", name), "utf8")
      .trim()
      .split("\n"),
  );
  const indexes = lines.map((line) => (JSON.parse(line) as { index: number }).index).sort((a, b) => a - b);
  t.equal(indexes.at(-1), 39);
  t.same(
    indexes,
    Array.from({ length: indexes.length }, (_, at) => 40 - indexes.length + at),
    "no line lost or torn",
  );
  const again = new AuditFile({ path, clock, log: noLog, maxSizeBytes: 500, maxBackups: 2 });
  again.write({ index: 40 });
  await again.flush();
  t.match(readFileSync(path, "utf8"), /"index":40/);
});

t.test("AuditFile drops rather than fill the memory when the disk cannot be written", async (t) => {
  const blocked = join(dir, "file");
  writeFileSync(blocked, "");
  const told: string[] = [];
  const log = { ...noLog, error: (_: object, message = "") => void told.push(message) };
  const file = new AuditFile({ path: join(blocked, "audit.log"), clock: systemClock, log });
  for (let index = 0; index < 100; index++) file.write({ text: "x".repeat(100_000) });
  await file.flush();
  t.ok(told.length > 0);
});

const node = { name: "system:node:w1", groups: ["system:nodes", "system:authenticated"] };
const password = "aHVudGVyMg==";

t.test(
  "the default policy records who reads secrets, never what is in them, and leaves out nodes' reads",
  async (t) => {
    const dataDir = join(dir, "reads");
    const { auditor, flush } = openAudit({}, { dataDir, clock: systemClock, log: noLog });
    const api = await startApi({ audit: auditor });
    t.teardown(() => api.close());
    const at = "/api/v1/namespaces/default/secrets";
    await api.ask("POST", at, { apiVersion: "v1", kind: "Secret", metadata: { name: "s" }, data: { p: password } });
    await api.ask("GET", `${at}/s`);
    await api.ask("GET", at);
    await api.ask("GET", `${at}?watch=1&timeoutSeconds=1`);
    const asNode = api.server.fetchAs(node);
    for (const path of [`${at}/s`, `${at}/s`, at]) await (await asNode(new Request(`http://api${path}`))).arrayBuffer();
    await flush();
    const text = readFileSync(join(dataDir, "audit", "audit.log"), "utf8");
    const events = text
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line) as Recorded);
    t.same(
      events.map(({ verb, stage, level }) => `${verb} ${stage} ${level}`),
      [
        "create ResponseComplete Metadata",
        "get ResponseComplete Metadata",
        "list ResponseComplete Metadata",
        "watch ResponseStarted Metadata",
      ],
    );
    t.notMatch(text, password);
  },
);

t.test("what is recorded depends on who asks, not on whom they impersonate", async (t) => {
  const dataDir = join(dir, "impersonated");
  const { auditor, flush } = openAudit({}, { dataDir, clock: systemClock, log: noLog });
  const api = await startApi({ audit: auditor });
  t.teardown(() => api.close());
  const as = (user: string, group: string) => ({ "impersonate-user": user, "impersonate-group": group });
  const controller = "system:serviceaccounts:kube-system";
  await api.ask("POST", "/api/v1/namespaces", {
    apiVersion: "v1",
    kind: "Namespace",
    metadata: { name: "shop" },
  });
  await api.ask("GET", "/api/v1/namespaces/shop/secrets", undefined, as("ann", "system:nodes"));
  await api.ask("DELETE", "/api/v1/namespaces/shop", undefined, as("system:serviceaccount:kube-system:x", controller));
  await flush();
  const events = readFileSync(join(dataDir, "audit", "audit.log"), "utf8")
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line) as Recorded);
  t.match(
    events.slice(1).map(({ verb, user, impersonatedUser }) => ({ verb, user, impersonatedUser })),
    [
      { verb: "list", user: { username: "system:admin" }, impersonatedUser: { username: "ann" } },
      { verb: "delete", user: { username: "system:admin" }, impersonatedUser: { groups: [controller] } },
    ],
  );
  t.equal(events.length, 3);
});

t.test("a refused request leaves a line, and a flood of them a bounded number", async (t) => {
  const dataDir = join(dir, "refusals");
  const clock = new FakeClock();
  const { auditor, flush } = openAudit({}, { dataDir, clock, log: noLog });
  const api = await startApi({
    audit: auditor,
    authenticators: [
      {
        name: "one",
        authenticate: async ({ headers }) => (headers.get("authorization") === "Bearer node" ? node : undefined),
      },
    ],
    authorizers: [{ name: "none", authorize: async () => ({ answer: "no-opinion", reason: "" }) }],
  });
  t.teardown(() => api.close());
  const ask = async (path: string, headers: Record<string, string>, method = "GET") =>
    (await api.server.handler(new Request(`http://api${path}`, { method, headers }), { address: "192.0.2.7" })).status;
  const read = async () => {
    await flush();
    return readFileSync(join(dataDir, "audit", "audit.log"), "utf8")
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line) as Recorded & { responseStatus: { message?: string } });
  };
  t.equal(await ask("/api/v1/namespaces/kube-system/secrets", { authorization: "Bearer forged-token" }), 401);
  t.equal(await ask("/api", {}), 401);
  t.equal(await ask("/api/v1/namespaces/n/secrets/s", { authorization: "Bearer node" }), 403);
  t.equal(await ask("/api/v1/pods", { authorization: "Bearer node", "impersonate-user": "admin" }), 403);
  t.equal(await ask("/api/v1/pods", { authorization: "Bearer forged-token" }, "PROPFIND"), 401);
  const [forged, nothing, ofNode, impersonating, odd] = await read();
  t.match(forged, {
    level: "Metadata",
    stage: "ResponseComplete",
    verb: "list",
    requestURI: "/api/v1/namespaces/kube-system/secrets",
    objectRef: { resource: "secrets", namespace: "kube-system" },
    sourceIPs: ["192.0.2.7"],
    responseStatus: { code: 401, reason: "Unauthorized", message: "Authentication failed, attempted: bearer" },
  });
  t.notOk(forged?.user, "nobody is known to have asked");
  t.notMatch(JSON.stringify(forged), /forged-token/);
  t.match(nothing?.responseStatus, { code: 401, message: "Authentication failed, no credentials provided" });
  t.match(ofNode, { user: { username: node.name }, objectRef: { name: "s" }, responseStatus: { code: 403 } });
  t.match(impersonating, { user: { username: node.name }, responseStatus: { code: 403 } });
  t.match(odd, { verb: "propfind", responseStatus: { code: 401 } });
  for (let i = 0; i < 200; i++) await ask("/api", {}, i % 2 ? "POST" : "GET");
  t.equal((await read()).length, 20);
  await clock.advance(10_000);
  await ask("/api", {});
  const last = (await read()).at(-1);
  t.match(last?.annotations, { "skiff.dev/refusals-not-recorded": "185" });
});

t.test("a policy file decides itself which failed authentications are recorded", async (t) => {
  const events: Recorded[] = [];
  const audit = createAuditor({ policy, clock: systemClock, write: (event) => events.push(event as Recorded) });
  const api = await startApi({ audit, authenticators: [{ name: "none", authenticate: async () => undefined }] });
  t.teardown(() => api.close());
  const ask = (path: string) => api.server.handler(new Request(`http://api${path}`), { address: "192.0.2.7" });
  await ask("/api/v1/namespaces/n/pods");
  t.equal(events.length, 0, "no rule matches");
  await ask("/api/v1/namespaces/n/secrets/s");
  t.match(events, [{ level: "Metadata", responseStatus: { code: 401 } }]);
});

t.test("openAudit() is on by itself, records changes by people only, and can be turned off", async (t) => {
  const dataDir = join(dir, "data");
  const { auditor, flush } = openAudit({}, { dataDir, clock: systemClock, log: noLog });
  const api = await startApi({ audit: auditor });
  t.teardown(() => api.close());
  await api.ask("POST", "/api/v1/namespaces", { apiVersion: "v1", kind: "Namespace", metadata: { name: "n" } });
  await api.ask("GET", "/api/v1/namespaces");
  await api.ask("GET", "/api/v1/namespaces/n/configmaps");
  await flush();
  const lines = readFileSync(join(dataDir, "audit", "audit.log"), "utf8")
    .trim()
    .split("\n");
  t.equal(lines.length, 1);
  t.equal(openAudit({ logPath: "-" }, { dataDir, clock: systemClock, log: noLog }).auditor, undefined);
  t.throws(() => openAudit({ policyPath: join(dir, "none") }, { dataDir, clock: systemClock, log: noLog }), {
    code: "not-found",
  });
});
