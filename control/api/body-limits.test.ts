// Bodies that are small to send and large to check: refused early, with a short answer, never with a 500.

import net from "node:net";
import t from "tap";
import { serveApi, startApi } from "../../test/harness/api-server.ts";
import { until } from "../../test/harness/until.ts";

const configMaps = "/api/v1/namespaces/default/configmaps";
const pods = "/api/v1/namespaces/default/pods";
const repeat = (count: number, text: (n: number) => string) => Array.from({ length: count }, (_, n) => text(n)).join();
const mostAnswered = 1 << 20;

t.test("the first 100 unknown and duplicate fields are reported, and warnings stay within 4 KB", async (t) => {
  const api = await startApi();
  t.teardown(() => api.close());
  const unknown = (name: string) => `{"metadata":{"name":"${name}"},${repeat(9900, (n) => `"f${n}":1`)}}`;
  const strict = await api.ask("POST", `${configMaps}?fieldValidation=Strict`, unknown("a"));
  t.equal(strict.status, 400);
  t.equal(strict.body.message.match(/unknown field/g).length, 100);
  const warned = await api.ask("POST", configMaps, unknown("b"));
  t.equal(warned.status, 201);
  const warning = warned.headers.get("warning") ?? "";
  t.ok(warning.length > 1000 && warning.length < 8192, `${warning.length}`);
  const twice = repeat(9900, (n) => `"f${n % 4950}":"1"`);
  const duplicates = `{"metadata":{"name":"c"},"data":{${twice}}}`;
  t.equal((await api.ask("POST", `${configMaps}?fieldValidation=Strict`, duplicates)).status, 400);
  const patched = await api.ask("PATCH", `${configMaps}/b?fieldValidation=Strict`, unknown("b"), {
    "content-type": "application/merge-patch+json",
  });
  t.equal(patched.status, 422);
  const applied = await api.ask(
    "PATCH",
    `${configMaps}/b?fieldManager=m`,
    `{"apiVersion":"v1","kind":"ConfigMap",${unknown("b").slice(1)}`,
    { "content-type": "application/apply-patch+yaml" },
  );
  t.equal(applied.status, 400);
  t.ok(applied.text.length < mostAnswered);
  const long = await api.ask("POST", configMaps, `{"metadata":{"name":"d"},"${"x".repeat(5000)}":1}`);
  t.ok((long.headers.get("warning") ?? "").length < 300, "a warning that is too long is cut");
});

t.test("a body of more values than any object has is refused before it is read", async (t) => {
  const api = await startApi();
  t.teardown(() => api.close());
  const body = `{"metadata":{"name":"a"},"spec":{"containers":[${repeat(900_000, () => "{}")}]}}`;
  const refused = await api.ask("POST", pods, body);
  t.equal(refused.status, 400);
  t.match(refused.body.message, /more than 100000 values/);
  const keys = `{"metadata":{"name":"a"},"data":{${repeat(10_001, (n) => `"k${n}":"v"`)}}}`;
  t.match(await api.ask("POST", configMaps, keys), { status: 400, body: { message: /more than 10000 keys/ } });
  const yaml = `metadata: {name: a}\nspec:\n  containers:\n${"  - {}\n".repeat(300_000)}`;
  t.equal((await api.ask("POST", pods, yaml, { "content-type": "application/yaml" })).status, 400);
});

t.test("an object with many mistakes is answered with the first of them", async (t) => {
  const api = await startApi();
  t.teardown(() => api.close());
  await api.ask("POST", "/api/v1/namespaces", { metadata: { name: "default" } });
  const container = '"containers":[{"name":"a","image":"b"}]';
  const empty = repeat(99_000, () => "{}");
  const bodies: [string, string, string][] = [
    ["containers", pods, `{"metadata":{"name":"a"},"spec":{"containers":[${empty}]}}`],
    ["tolerations", pods, `{"metadata":{"name":"a"},"spec":{${container},"tolerations":[${empty}]}}`],
    ["owners", configMaps, `{"metadata":{"name":"a","ownerReferences":[${empty}]}}`],
    ["labels", configMaps, `{"metadata":{"name":"a","labels":{${repeat(9900, (n) => `"_${n}":"_"`)}}}}`],
    [
      "rules",
      "/apis/rbac.authorization.k8s.io/v1/namespaces/default/roles",
      `{"metadata":{"name":"a"},"rules":[${empty}]}`,
    ],
    [
      "review",
      "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews",
      `{"spec":{"resourceAttributes":{"labelSelector":{"requirements":[${empty}]}}}}`,
    ],
  ];
  for (const [name, path, body] of bodies) {
    const { status, text } = await api.ask("POST", path, body);
    t.equal(status, 422, `${name}: ${text.slice(0, 200)}`);
    t.ok(text.length < mostAnswered, `${name}: ${text.length} bytes`);
  }
});

t.test("a pod with many warnings is created", async (t) => {
  const api = await startApi();
  t.teardown(() => api.close());
  await api.ask("POST", "/api/v1/namespaces", { metadata: { name: "default" } });
  const env = repeat(99_000, () => '{"name":"A"}');
  const made = await api.ask(
    "POST",
    pods,
    `{"metadata":{"name":"a"},"spec":{"containers":[{"name":"a","image":"b","env":[${env}]}]}}`,
  );
  t.equal(made.status, 201, made.text.slice(0, 200));
  t.ok((made.headers.get("warning") ?? "").length < 8192);
});

t.test("a body that does not come is not waited for beyond the request's time", async (t) => {
  const api = await serveApi();
  t.teardown(() => api.close());
  const socket = net.connect(Number(new URL(api.url).port), "127.0.0.1");
  t.teardown(() => socket.destroy());
  let answer = "";
  socket.on("data", (chunk) => (answer += chunk.toString()));
  socket.write(
    `POST ${configMaps}?timeout=100ms HTTP/1.1\r\nhost: a\r\ncontent-type: application/json\r\ncontent-length: 1000\r\n\r\n{"meta`,
  );
  await until("the answer", () => answer.includes("\r\n\r\n"));
  t.match(answer, /^HTTP\/1\.1 504 /);
  t.equal((await api.ask("GET", configMaps)).status, 200);
});

t.test("a large body is refused as soon as it is beyond a limit, and the connection serves the next", async (t) => {
  const api = await serveApi();
  t.teardown(() => api.close());
  const socket = net.connect(Number(new URL(api.url).port), "127.0.0.1");
  t.teardown(() => socket.destroy());
  let answers = "";
  socket.on("data", (chunk) => (answers += chunk.toString()));
  const length = 1_000_000;
  const begin = '{"a":'.repeat(1001);
  const head = `POST ${configMaps} HTTP/1.1\r\nhost: a\r\ncontent-type: application/json\r\ncontent-length: ${length}\r\n\r\n`;
  socket.write(head + begin);
  await until("the refusal", () => answers.includes("nested deeper than 1000 levels"));
  t.match(answers, /^HTTP\/1\.1 400 /);
  socket.write(`${" ".repeat(length - begin.length)}GET /readyz HTTP/1.1\r\nhost: a\r\n\r\n`);
  await until("the next answer", () => answers.includes("HTTP/1.1 200 "));
});
