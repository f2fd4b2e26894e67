// What is said of questions that cannot be answered, in the words of kube-apiserver v1.32.13.

import t from "tap";
import { startApi } from "../../test/harness/api-server.ts";

const maps = "/api/v1/namespaces/default/configmaps";
const one = `${maps}/a`;
const json = "application/json";
const merge = "application/merge-patch+json";
const strategic = "application/strategic-merge-patch+json";
const operations = "application/json-patch+json";
const apply = "application/apply-patch+yaml";
const available = "application/json, application/yaml";
const rejected = "the server rejected our request due to an error in our request";
const noKind = 'no kind "None" is registered for version "v1" in scheme "pkg/api/legacyscheme/scheme.go:30"';

interface Row {
  readonly name: string;
  readonly ask: readonly [method: string, path: string, body?: string, type?: string];
  readonly accept?: string;
  readonly status: number;
  readonly says: string;
}

const rows: readonly Row[] = [
  {
    name: "an array as a merge patch",
    ask: ["PATCH", one, "[]", merge],
    status: 400,
    says: "error decoding patch: json: cannot unmarshal array into Go value of type map[string]interface {}",
  },
  {
    name: "an array as a strategic patch",
    ask: ["PATCH", one, "[]", strategic],
    status: 400,
    says: "json: cannot unmarshal array into Go value of type map[string]interface {}",
  },
  {
    name: "no JSON as a strategic patch",
    ask: ["PATCH", one, "x", strategic],
    status: 400,
    says: "invalid character 'x' looking for beginning of value",
  },
  {
    name: "an object as a JSON patch",
    ask: ["PATCH", one, "{}", operations],
    status: 400,
    says: "error decoding patch: json: cannot unmarshal object into Go value of type []handlers.jsonPatchOp",
  },
  {
    name: "a JSON patch of what is not there",
    ask: ["PATCH", one, '[{"op":"remove","path":"/x"}]', operations],
    status: 422,
    says: rejected,
  },
  {
    name: "an applied object of no kind",
    ask: ["PATCH", `${one}?fieldManager=m`, "{}", apply],
    status: 400,
    says: "invalid object type: /, Kind=",
  },
  {
    name: "an applied text",
    ask: ["PATCH", `${one}?fieldManager=m`, "x", apply],
    status: 400,
    says: "error decoding YAML: error unmarshaling JSON: while decoding JSON: json: cannot unmarshal string into Go value of type map[string]interface {}",
  },
  {
    name: "a patch of another type",
    ask: ["PATCH", one, "{}", "text/plain"],
    status: 415,
    says: "415: Unsupported Media Type",
  },
  {
    name: "an array as a body",
    ask: ["POST", maps, "[]", json],
    status: 400,
    says: 'the object provided is unrecognized (must be of type ConfigMap): couldn\'t get version/kind; json parse error: json: cannot unmarshal array into Go value of type struct { APIVersion string "json:\\"apiVersion,omitempty\\""; Kind string "json:\\"kind,omitempty\\"" } (5b5d)',
  },
  {
    name: "a number as a kind",
    ask: ["POST", maps, '{"kind":1}', json],
    status: 400,
    says: 'the object provided is unrecognized (must be of type ConfigMap): couldn\'t get version/kind; json parse error: json: cannot unmarshal number into Go struct field .kind of type string ({"kind":1})',
  },
  {
    name: "a kind that nobody knows",
    ask: ["POST", maps, '{"apiVersion":"v1","kind":"None"}', json],
    status: 400,
    says: `None in version "v1" cannot be handled as a ConfigMap: ${noKind}`,
  },
  {
    name: "a kind of another resource",
    ask: ["POST", maps, '{"apiVersion":"v1","kind":"Pod"}', json],
    status: 400,
    says: 'Pod in version "v1" cannot be handled as a ConfigMap',
  },
  {
    name: "nothing as a body",
    ask: ["POST", maps, "null", json],
    status: 422,
    says: 'ConfigMap "" is invalid: metadata.name: Required value: name or generateName is required',
  },
  {
    name: "a way to check fields",
    ask: ["POST", `${maps}?fieldValidation=None`, "{}", json],
    status: 422,
    says: 'CreateOptions.meta.k8s.io "" is invalid: fieldValidation: Unsupported value: "None": supported values: "", "Ignore", "Strict", "Warn"',
  },
  {
    name: "a precondition",
    ask: ["DELETE", one, '{"preconditions":{"uid":"x"}}', json],
    status: 409,
    says: 'Operation cannot be fulfilled on ConfigMap "a": the UID in the precondition (x) does not match the UID in record (',
  },
  {
    name: "a limit",
    ask: ["GET", `${maps}?limit=x`],
    status: 400,
    says: 'strconv.ParseInt: parsing "x": invalid syntax',
  },
  {
    name: "a page",
    ask: ["GET", `${maps}?continue=x`],
    status: 400,
    says: "invalid continue token: continue key is not valid: illegal base64 data at input byte 0",
  },
  {
    name: "a field",
    ask: ["GET", `${maps}?fieldSelector=x=y`],
    status: 400,
    says: '"x" is not a known field selector: only "metadata.name", "metadata.namespace"',
  },
  {
    name: "a type of answers",
    ask: ["GET", one],
    accept: "text/html",
    status: 406,
    says: `406: Not Acceptable\n\nAvailable representations: ${available}`,
  },
  {
    name: "a form of answers",
    ask: ["GET", `${maps}/none`],
    accept: "application/json;as=None;g=meta.k8s.io;v=v1",
    status: 406,
    says: `only the following media types are accepted: ${available}`,
  },
];

t.test("questions are refused in upstream's words", async (t) => {
  const api = await startApi();
  t.teardown(() => api.close());
  await api.ask("POST", maps, { metadata: { name: "a" } });
  for (const { name, ask, accept, status, says } of rows) {
    const [method, path, body, type] = ask;
    const answer = await api.ask(method, path, body, {
      ...(type ? { "content-type": type } : {}),
      ...(accept ? { accept } : {}),
    });
    t.equal(answer.status, status, name);
    t.equal(String(answer.body.message).startsWith(says), true, `${name}: ${answer.body.message}`);
  }
});

t.test("paths that lead nowhere are told of as text, resources that are not there as a Status", async (t) => {
  const api = await startApi();
  t.teardown(() => api.close());
  for (const path of ["/none", "/apis/none", "/apis/none/v1/x", "/healthz/none"]) {
    const answer = await api.ask("GET", path);
    t.equal(answer.status, 404, path);
    t.equal(answer.text, "404 page not found\n", path);
  }
  for (const path of ["/api/v1/none", "/apis/apps/v9", `${one}/none`])
    t.equal((await api.ask("GET", path)).body.reason, "NotFound", path);
});

t.test("a field that is new in the metadata is owned, and not the metadata", async (t) => {
  const api = await startApi();
  t.teardown(() => api.close());
  await api.ask("POST", maps, { metadata: { name: "a" }, data: { a: "b" } });
  const { body } = await api.ask("PATCH", one, { metadata: { labels: { a: "b" } } }, { "content-type": merge });
  t.same(body.metadata.managedFields[0].fieldsV1["f:metadata"], { "f:labels": { ".": {}, "f:a": {} } });
});

t.test("what is refused was warned of", async (t) => {
  const api = await startApi();
  t.teardown(() => api.close());
  const answer = await api.ask("POST", `${maps}?fieldValidation=Warn`, '{"x":1}');
  t.equal(answer.status, 422);
  t.match(answer.headers.get("warning"), /unknown field/);
});
