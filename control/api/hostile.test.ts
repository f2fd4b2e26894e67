// What strangers send: every answer is a Status with the right code, never a 500 or a hang, and the server lives on.

import { gzipSync } from "node:zlib";
import fc from "fast-check";
import t from "tap";
import { admin, type Json, startApi } from "../../test/harness/api-server.ts";

const configMaps = "/api/v1/namespaces/default/configmaps";
const patchTypes = ["json-patch+json", "merge-patch+json", "strategic-merge-patch+json", "apply-patch+yaml"];

t.test("bodies that are not what they claim are refused", async (t) => {
  const api = await startApi();
  t.teardown(() => api.close());
  const cases: { name: string; body: string; type?: string; status: number }[] = [
    { name: "no JSON", body: "{nope", status: 400 },
    { name: "a list", body: "[]", status: 400 },
    { name: "a number", body: "7", status: 400 },
    { name: "null", body: "null", status: 422 },
    { name: "nothing", body: "", status: 400 },
    { name: "deep JSON", body: `${'{"a":'.repeat(5000)}1${"}".repeat(5000)}`, status: 400 },
    { name: "deep lists", body: "[".repeat(100_000), status: 400 },
    { name: "4 MB", body: JSON.stringify({ data: { a: "x".repeat(4 << 20) } }), status: 413 },
    { name: "another kind", body: '{"kind":"Pod","apiVersion":"v1"}', status: 400 },
    { name: "another version", body: '{"kind":"ConfigMap","apiVersion":"v9"}', status: 400 },
    { name: "metadata of the wrong type", body: '{"metadata":[]}', status: 400 },
    { name: "a name of the wrong type", body: '{"metadata":{"name":7}}', status: 400 },
    { name: "labels of the wrong type", body: '{"metadata":{"name":"a","labels":{"a":{}}}}', status: 400 },
    { name: "an unknown type", body: "<x/>", type: "text/xml", status: 415 },
    { name: "no protobuf", body: "hello", type: "application/vnd.kubernetes.protobuf", status: 400 },
    { name: "YAML that is none", body: "a: [", type: "application/yaml", status: 400 },
    {
      name: "an alias bomb",
      type: "application/yaml",
      status: 400,
      body: [
        "a0: &a0 [x,x,x,x,x,x,x,x,x,x]",
        ...Array.from({ length: 12 }, (_, n) => `a${n + 1}: &a${n + 1} [${`*a${n},`.repeat(10)}]`),
      ].join("\n"),
    },
  ];
  for (const { name, body, type = "application/json", status } of cases) {
    const answer = await api.ask("POST", configMaps, body, { "content-type": type });
    t.equal(answer.status, status, `${name}: ${answer.text.slice(0, 200)}`);
    t.equal(answer.body.kind, "Status");
  }
});

t.test("a packed body is not unpacked", async (t) => {
  const api = await startApi();
  t.teardown(() => api.close());
  const body = gzipSync(JSON.stringify({ metadata: { name: "bomb" }, data: { a: " ".repeat(1 << 20) } }));
  const headers = { "content-type": "application/json", "content-encoding": "gzip" };
  const fetch = api.server.fetchAs(admin);
  const answer = await fetch(new Request(`http://api${configMaps}`, { method: "POST", body, headers }));
  t.equal(answer.status, 400);
  t.match(await answer.json(), { kind: "Status", reason: "BadRequest" });
});

t.test("of a body that cannot be read it is told what it should be, what is wrong, and how it begins", async (t) => {
  const api = await startApi();
  t.teardown(() => api.close());
  const should =
    "the object provided is unrecognized (must be of type ConfigMap): couldn't get version/kind; json parse error:";
  const rows: [body: string, says: string][] = [
    ["", "unexpected end of JSON input (<empty>)"],
    ["{nope", "invalid character 'n' looking for beginning of object key string ({nope)"],
    ["kind: X", "invalid character 'k' looking for beginning of value (6b696e643a2058)"],
    [`{"data": "${"x".repeat(40)}`, `unexpected end of JSON input ({"data": "${"x".repeat(20)} ...)`],
  ];
  for (const [body, says] of rows) t.equal((await api.ask("POST", configMaps, body)).body.message, `${should} ${says}`);
  const patched = await api.ask("PATCH", `${configMaps}/a`, "{", { "content-type": "application/merge-patch+json" });
  t.equal(patched.body.message, "error decoding patch: unexpected end of JSON input");
});

t.test("__proto__ is a key like any other", async (t) => {
  const api = await startApi();
  t.teardown(() => api.close());
  const { status, body, text } = await api.ask(
    "POST",
    configMaps,
    '{"metadata":{"name":"p","labels":{"__proto__":"x"}},"data":{"__proto__":"polluted","constructor":"c"}}',
  );
  t.equal(status, 422, "a label may not be called so");
  t.equal(body.reason, "Invalid", text);
  const made = await api.ask("POST", configMaps, '{"metadata":{"name":"p"},"data":{"__proto__":"kept","a":"b"}}');
  t.equal(made.status, 201);
  t.match(made.text, /"__proto__":"kept"/);
  const merge = { "content-type": "application/merge-patch+json" };
  const patched = await api.ask(
    "PATCH",
    `${configMaps}/p`,
    '{"data":{"__proto__":"other"},"__proto__":{"polluted":true}}',
    merge,
  );
  t.equal(patched.status, 200);
  t.notOk(({} as Json).polluted);
});

t.test("paths with tricks find nothing", async (t) => {
  const api = await startApi();
  t.teardown(() => api.close());
  const paths = [
    "/api/v1/namespaces/default/configmaps/..%2f..%2fsecrets",
    "/api/v1/namespaces/%2e%2e/configmaps/a",
    "/api/v1/namespaces/default/configmaps/%00",
    "/api/v1/namespaces//configmaps/a",
    "//api/v1/pods",
    "/apis/apps/v1/__proto__",
    "/apis/__proto__/v1/pods",
    "/api/v1/constructor",
    "/openapi/v3/..%2f..%2fpackage.json",
  ];
  for (const path of paths) {
    const { status } = await api.ask("GET", path);
    t.ok(status === 404 || status === 400, `${path}: ${status}`);
  }
  t.equal((await api.ask("GET", "/api/v1/namespaces/%zz/pods")).status, 400);
});

t.test("odd queries are refused, not obeyed", async (t) => {
  const api = await startApi();
  t.teardown(() => api.close());
  const bad = [
    "limit=x",
    "continue=%00",
    "continue=eyJ2IjoxfQ",
    "resourceVersion=abc",
    "labelSelector=%28%28",
    "fieldSelector=a",
    "watch=true&timeoutSeconds=x",
  ];
  for (const query of bad) {
    const { status, text } = await api.ask("GET", `${configMaps}?${query}`);
    t.equal(status, 400, `${query}: ${text.slice(0, 100)}`);
  }
  const unfit = [
    "resourceVersionMatch=Never&resourceVersion=1",
    "resourceVersionMatch=Exact",
    "resourceVersionMatch=Exact&resourceVersion=0",
    "sendInitialEvents=true",
    "watch=true&resourceVersionMatch=NotOlderThan",
    "watch=true&sendInitialEvents=true",
    "watch=true&continue=x",
  ];
  for (const query of unfit) {
    const { status, body } = await api.ask("GET", `${configMaps}?${query}`);
    t.equal(status, 422, query);
    t.match(body.details, {
      group: "meta.k8s.io",
      kind: "ListOptions",
      causes: [{ field: /^(resourceVersionMatch|sendInitialEvents)$/ }],
    });
  }
});

t.test("nothing is deleted by a request that means something else", async (t) => {
  const api = await startApi();
  t.teardown(() => api.close());
  await api.ask("POST", "/api/v1/namespaces", { metadata: { name: "default" } });
  await api.ask("POST", configMaps, { metadata: { name: "kept" } });
  t.equal((await api.ask("DELETE", "/api/v1/configmaps")).status, 405);
  for (const body of [{ dryRun: "All" }, { kind: "ConfigMap" }, { dryRun: ["Some"] }, { propagationPolicy: "Any" }])
    t.ok((await api.ask("DELETE", `${configMaps}/kept`, body)).status >= 400, JSON.stringify(body));
  t.equal((await api.ask("GET", `${configMaps}/kept`)).status, 200);
});

t.test("random bodies and patches never break the server", async (t) => {
  const api = await startApi();
  t.teardown(() => api.close());
  await api.ask("POST", configMaps, { metadata: { name: "target" }, data: { a: "1" } });
  const keys = fc.constantFrom(
    "metadata",
    "data",
    "kind",
    "name",
    "labels",
    "$patch",
    "$retainKeys",
    "op",
    "path",
    "value",
    "__proto__",
    "finalizers",
    "managedFields",
  );
  const json = fc.letrec((tie) => ({
    value: fc.oneof(
      { depthSize: "small" },
      fc.jsonValue({ maxDepth: 2 }),
      fc.array(tie("value"), { maxLength: 3 }),
      fc.dictionary(keys, tie("value"), { maxKeys: 4 }),
    ),
  })).value;
  const isSane = async (answer: Promise<{ status: number; text: string }>) => {
    const { status, text } = await answer;
    if (status >= 500) throw new Error(`${status}: ${text}`);
  };
  await fc.assert(
    fc.asyncProperty(json, fc.constantFrom(...patchTypes), async (value, type) => {
      await isSane(api.ask("POST", configMaps, JSON.stringify(value)));
      await isSane(
        api.ask("PATCH", `${configMaps}/target?fieldManager=fuzz`, JSON.stringify(value), {
          "content-type": `application/${type}`,
        }),
      );
    }),
    { numRuns: 150 },
  );
  await fc.assert(
    fc.asyncProperty(
      fc.uint8Array({ maxLength: 200 }),
      fc.constantFrom("application/json", "application/yaml", "application/vnd.kubernetes.protobuf"),
      async (bytes, type) => {
        const body = Buffer.concat([
          type.endsWith("protobuf") ? Buffer.from("k8s\0") : Buffer.alloc(0),
          bytes,
        ]).toString("latin1");
        await isSane(api.ask("POST", configMaps, body, { "content-type": type }));
      },
    ),
    { numRuns: 200 },
  );
  t.equal((await api.ask("GET", "/readyz")).text, "ok");
});

t.test("a full level answers 429 and leaves the others open", async (t) => {
  const api = await startApi();
  t.teardown(() => api.close());
  const flowControl = "/apis/flowcontrol.apiserver.k8s.io/v1";
  const limited = { nominalConcurrencyShares: 0, borrowingLimitPercent: 0, limitResponse: { type: "Reject" } };
  await api.ask("POST", `${flowControl}/prioritylevelconfigurations`, {
    metadata: { name: "none" },
    spec: { type: "Limited", limited },
  });
  const resources = { verbs: ["*"], apiGroups: ["*"], resources: ["*"], namespaces: ["*"] };
  const rule = { subjects: [{ kind: "User", user: { name: "jane" } }], resourceRules: [resources] };
  await api.ask("POST", `${flowControl}/flowschemas`, {
    metadata: { name: "jane" },
    spec: { priorityLevelConfiguration: { name: "none" }, rules: [rule] },
  });
  const asUser = api.server.fetchAs({ name: "jane", groups: ["system:authenticated"] });
  const refused = await asUser(new Request(`http://api${configMaps}`));
  t.equal(refused.status, 429);
  t.equal(refused.headers.get("retry-after"), "1");
  t.equal((await api.ask("GET", configMaps)).status, 200);
  const lines = (await api.ask("GET", "/metrics")).text
    .split("\n")
    .filter((line) => /resource="configmaps".*code="429"/.test(line));
  t.equal(lines.length, 2);
  t.match(lines[0], /^apiserver_request_total\{.*verb="LIST".*scope="namespace".*\} 1$/);
  t.match(lines[1], /^apiserver_request_terminations_total\{.*\} 1$/);
});
