// Whole requests to an API server with a store of its own: the first line is the method and the target, the second the content type,
// the rest the body.

import { startApi, type TestApi } from "../../harness/api-server.ts";
import { check, type Target } from "../target.ts";

const configMaps = "/api/v1/namespaces/default/configmaps";
const pods = "/api/v1/namespaces/default/pods";
const pod =
  '{"metadata":{"name":"a"},"spec":{"containers":[{"name":"c","image":"i","resources":{"limits":{"cpu":"1"}}}]}}';
/** A fresh server after so many requests, so that what they create does not pile up. */
const requestsPerServer = 3000;

let api: TestApi;
let requests = 0;

async function begin(): Promise<void> {
  api = await startApi();
  await api.ask("POST", "/api/v1/namespaces", { metadata: { name: "default" } });
  await api.ask("POST", configMaps, { metadata: { name: "t" }, data: { a: "1" } });
  await api.ask("POST", pods, pod);
  requests = 0;
}

export const apiRequest: Target = {
  name: "API request",
  corpus: [
    `POST ${configMaps}\napplication/json\n{"metadata":{"generateName":"x-"},"data":{"__proto__":"y"}}`,
    `POST ${pods}?fieldValidation=Strict\napplication/yaml\nmetadata: {name: b}\nspec: {containers: [{name: c, image: i}], nope: 1}`,
    `PATCH ${configMaps}/t\napplication/json-patch+json\n[{"op":"add","path":"/data/b","value":"2"}]`,
    `PATCH ${pods}/a\napplication/strategic-merge-patch+json\n{"metadata":{"labels":{"a":"b"}}}`,
    `PATCH ${configMaps}/t?fieldManager=m&force=true\napplication/apply-patch+yaml\n{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"t"},"data":{"c":"3"}}`,
    `PUT ${configMaps}/t?dryRun=All\napplication/json\n{"metadata":{"name":"t"},"data":{}}`,
    `GET ${configMaps}?limit=1&labelSelector=a%3Db&fieldSelector=metadata.name%3Dt\n\n`,
    `GET /api/v1/pods?watch=1&resourceVersion=0&timeoutSeconds=1\n\n`,
    "GET /apis/apps/v1/namespaces/default/deployments/%2e%2e/x\n\n",
    `DELETE ${configMaps}/t?propagationPolicy=Foreground&dryRun=All\napplication/json\n{"preconditions":{"uid":"x"}}`,
    "POST /apis/apiextensions.k8s.io/v1/customresourcedefinitions\napplication/json\n" +
      '{"metadata":{"name":"as.e.io"},"spec":{"group":"e.io","scope":"Namespaced","names":{"plural":"as","kind":"A"},"versions":[{"name":"v1","served":true,"storage":true,"schema":{"openAPIV3Schema":{"type":"object","x-kubernetes-validations":[{"rule":"self.a > 1"}]}}}]}}',
    "POST /apis/authorization.k8s.io/v1/selfsubjectaccessreviews\napplication/json\n" +
      '{"spec":{"resourceAttributes":{"verb":"get","resource":"pods"}}}',
    "GET /openapi/v3/api/v1\n\n",
  ],
  words: [
    "?",
    "&",
    "=",
    "/",
    "%2f",
    "%2e",
    "watch=1",
    "limit=",
    "continue=",
    "resourceVersion=",
    "labelSelector=",
    "fieldSelector=",
    "dryRun=All",
    "fieldManager=m",
    "/status",
    "/scale",
    "/binding",
    "/eviction",
    "/log",
    "/proxy",
    "/watch/",
    "/namespaces/",
    "metadata",
    '"name"',
    '"spec"',
    '"labels"',
    '"ownerReferences"',
    '"finalizers"',
    '"managedFields"',
    "[",
    "]",
    "{",
    "}",
    "null",
    "true",
    "-1",
    "PATCH ",
    "DELETE ",
    "\n",
  ],
  shortRuns: 150,
  open: begin,
  async run(input) {
    if (++requests > requestsPerServer) {
      await api.close();
      await begin();
    }
    const [first = "", type = "", ...rest] = input.toString().split("\n");
    const [method = "GET", target = "/"] = first.split(" ");
    let request: Request;
    try {
      const hasBody = method !== "GET" && method !== "HEAD";
      request = new Request(`http://api${target.startsWith("/") ? target : `/${target}`}`, {
        method,
        headers: { "content-type": type },
        signal: AbortSignal.timeout(10_000),
        ...(hasBody ? { body: rest.join("\n") } : {}),
      });
    } catch {
      // No request: the HTTP server refuses it.
      return "no request";
    }
    const response = await api.server.fetchAs({ name: "admin", groups: ["system:masters"] })(request);
    const isStream = target.includes("watch") || target.includes("follow");
    if (isStream) await response.body?.cancel();
    const text = isStream ? "" : await response.text();
    check(
      response.status < 500 || [501, 503, 504].includes(response.status),
      `${response.status}: ${text.slice(0, 500)}`,
    );
    return `${method} ${response.status} ${/"reason":"(\w+)"/.exec(text)?.[1]}`;
  },
  async close() {
    await api.close();
  },
};
