// Requests by someone who may not: what is authorized is what is done, whatever the path, the method or the transport says.

import http from "node:http";
import t, { type Test } from "tap";
import { WebSocket } from "ws";
import { admin, type Json, startApi, type TestApi } from "../../test/harness/api-server.ts";
import { serve } from "../../plugins/kit/os/platform/http-server.ts";
import type { Authenticator, Authorizer } from "../auth/contract.ts";
import type { Attributes } from "../machinery/attributes.ts";
import type { NodeConnector } from "./connect/connector.ts";

const eve = { name: "eve", groups: ["system:authenticated"] };

/** Everything for administrators; for others what the test allows, as `verb plural[/subresource] namespace/name`. */
function allowing(...allowed: string[]): Authorizer & { asked: string[] } {
  const asked: string[] = [];
  return {
    name: "test",
    asked,
    async authorize({ user, verb, resource, path }: Attributes) {
      if (user.groups.includes("system:masters")) return { answer: "allow", reason: "" };
      const part = resource?.subresource ? `/${resource.subresource}` : "";
      const text = resource
        ? `${verb} ${resource.plural}${part} ${resource.namespace}/${resource.name}`
        : `${verb} ${path ?? ""}`;
      asked.push(text);
      return { answer: allowed.includes(text) ? "allow" : "no-opinion", reason: "" };
    },
  };
}

async function apiFor(t: Test, authorizer: Authorizer, options: Parameters<typeof startApi>[0] = {}): Promise<TestApi> {
  const api = await startApi({ authorizers: [authorizer], ...options });
  t.teardown(() => api.close());
  for (const name of ["foo", "victim"]) await api.ask("POST", "/api/v1/namespaces", { metadata: { name } });
  return api;
}

async function as(api: TestApi, method: string, path: string, body?: unknown, type = "application/json") {
  const init = body === undefined ? {} : { body: JSON.stringify(body), headers: { "content-type": type } };
  const response = await api.server.fetchAs(eve)(new Request(`http://api${path}`, { method, ...init }));
  return { status: response.status, response };
}

/** The names in the events that a watch begins with, then in those that follow `write`, until that of `last`. */
async function watched(response: Response, last: string, write: () => Promise<unknown>): Promise<string[]> {
  const names: string[] = [];
  const reader = (response.body as ReadableStream<Uint8Array>).getReader();
  let text = "";
  let isWritten = false;
  while (!names.includes(last)) {
    if (!isWritten) {
      isWritten = true;
      await write();
    }
    const { done, value } = await reader.read();
    if (done) break;
    text += new TextDecoder().decode(value);
    const lines = text.split("\n");
    text = lines.pop() ?? "";
    for (const line of lines) {
      const { type, object } = JSON.parse(line) as Json;
      names.push(`${type} ${object.metadata.name}`);
    }
  }
  await reader.cancel();
  return names;
}

t.test("a named watch shows the object that it was authorized for, and no other", async (t) => {
  const authorizer = allowing("watch secrets foo/allowed");
  const api = await apiFor(t, authorizer);
  const secrets = "/api/v1/namespaces/foo/secrets";
  for (const name of ["allowed", "allowed-not", "other"]) await api.ask("POST", secrets, { metadata: { name } });
  const write = async () => {
    await api.ask("DELETE", `${secrets}/other`);
    await api.ask("POST", secrets, { metadata: { name: "later" } });
    await api.ask("DELETE", `${secrets}/allowed`);
  };
  const forms = [
    "/api/v1/watch/namespaces/foo/secrets/allowed",
    `${secrets}?watch=1&fieldSelector=metadata.name=allowed`,
    "/api/v1/watch/namespaces/foo/secrets/allowed?fieldSelector=metadata.name=allowed",
  ];
  for (const form of forms) {
    const { status, response } = await as(api, "GET", form);
    t.equal(status, 200, form);
    t.same(await watched(response, "DELETED allowed", write), ["ADDED allowed", "DELETED allowed"], form);
    await api.ask("DELETE", `${secrets}/later`);
    for (const name of ["allowed", "other"]) await api.ask("POST", secrets, { metadata: { name } });
  }
  for (const [form, code] of [
    ["/api/v1/watch/namespaces/foo/secrets/other", 403],
    ["/api/v1/watch/namespaces/foo/secrets", 403],
    ["/api/v1/watch/namespaces/foo/secrets?fieldSelector=metadata.name=allowed", 403],
    ["/api/v1/watch/namespaces/foo/secrets/allowed?fieldSelector=metadata.name=other", 400],
    ["/api/v1/watch/namespaces/foo/secrets/allowed?fieldSelector=metadata.name!=allowed", 400],
    [`${secrets}/other?watch=1`, 403],
  ] as const)
    t.equal((await as(api, "GET", form)).status, code, form);
});

t.test("a watch of one Namespace is of that one", async (t) => {
  const api = await apiFor(t, allowing("watch namespaces foo/foo"));
  const { response } = await as(api, "GET", "/api/v1/watch/namespaces/foo");
  const write = async () => {
    await api.ask("POST", "/api/v1/namespaces", { metadata: { name: "later" } });
    await api.ask(
      "PATCH",
      "/api/v1/namespaces/foo",
      { metadata: { labels: { a: "b" } } },
      {
        "content-type": "application/merge-patch+json",
      },
    );
  };
  t.same(await watched(response, "MODIFIED foo", write), ["ADDED foo", "MODIFIED foo"]);
});

t.test("a kind of the whole cluster has no form in a namespace", async (t) => {
  const everything = ["get", "delete", "update", "patch", "watch"].flatMap((verb) => [
    `${verb} namespaces foo/victim`,
    `${verb} nodes foo/w`,
  ]);
  const api = await apiFor(t, allowing(...everything, "list namespaces foo/", "deletecollection namespaces foo/"));
  await api.ask("POST", "/api/v1/nodes", { metadata: { name: "w" } });
  for (const [method, path] of [
    ["DELETE", "/api/v1/namespaces/foo/namespaces/victim"],
    ["GET", "/api/v1/namespaces/foo/namespaces/victim"],
    ["PATCH", "/api/v1/namespaces/foo/namespaces/victim"],
    ["GET", "/api/v1/namespaces/foo/namespaces"],
    ["DELETE", "/api/v1/namespaces/foo/namespaces"],
    ["GET", "/api/v1/watch/namespaces/foo/namespaces/victim"],
    ["GET", "/api/v1/namespaces/foo/nodes/w"],
    ["DELETE", "/api/v1/namespaces/foo/nodes/w"],
  ] as const)
    t.equal((await as(api, method, path)).status, 404, `${method} ${path}`);
  t.match((await api.ask("GET", "/api/v1/namespaces/victim")).body, { status: { phase: "Active" } });
  t.equal((await as(api, "DELETE", "/api/v1/namespaces/victim")).status, 403, "a Namespace is authorized as itself");
});

t.test("an apply or PUT that would create needs create too", async (t) => {
  const rights = ["patch configmaps foo/c", "update configmaps foo/c", "update services foo/s"];
  const path = "/api/v1/namespaces/foo/configmaps/c";
  const object = { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "c" } };
  const service = { apiVersion: "v1", kind: "Service", metadata: { name: "s" }, spec: { ports: [{ port: 80 }] } };
  const authorizer = allowing(...rights);
  const api = await apiFor(t, authorizer);
  const apply = (on: TestApi) => as(on, "PATCH", `${path}?fieldManager=m`, object, "application/apply-patch+yaml");
  const refused = await apply(api);
  t.equal(refused.status, 403);
  t.match(await refused.response.json(), {
    message: /^configmaps "c" is forbidden: User "eve" cannot create resource "configmaps" in API group ""/,
  });
  t.equal((await as(api, "PUT", "/api/v1/namespaces/foo/services/s", service)).status, 403);
  t.ok(authorizer.asked.includes("create services foo/s"), "with the name");
  t.equal((await api.ask("GET", path)).status, 404);
  t.equal((await api.ask("GET", "/api/v1/namespaces/foo/services/s")).status, 404);
  await api.ask("POST", "/api/v1/namespaces/foo/configmaps", object);
  t.equal((await apply(api)).status, 200, "what is there is only patched");
  const both = await apiFor(t, allowing(...rights, "create configmaps foo/c"));
  t.equal((await apply(both)).status, 201);
});

t.test("write methods on a watch path are not allowed", async (t) => {
  const api = await apiFor(t, allowing("watch configmaps foo/x", "watch configmaps foo/"));
  await api.ask("POST", "/api/v1/namespaces/foo/configmaps", { metadata: { name: "x" } });
  const one = "/api/v1/watch/namespaces/foo/configmaps/x";
  for (const method of ["DELETE", "PUT", "PATCH", "POST"])
    t.equal((await as(api, method, one, {})).status, 405, method);
  for (const method of ["DELETE", "POST"])
    t.equal((await as(api, method, "/api/v1/watch/namespaces/foo/configmaps", {})).status, 405, method);
  t.equal((await api.ask("GET", "/api/v1/namespaces/foo/configmaps/x")).status, 200);
  t.equal((await api.ask("GET", `${one}/status`)).status, 404);
  t.equal((await api.ask("GET", "/api/v1/watch/configmaps/x")).status, 404);
});

t.test("paths that no route has are not found, and methods that it does not have not allowed", async (t) => {
  const api = await apiFor(t, allowing());
  for (const [method, path, status] of [
    ["GET", "/api/v1/proxy/nodes/w", 404],
    ["GET", "/api/v1/proxy/namespaces/foo/services/s/x", 404],
    ["GET", "/apis//v1/configmaps", 404],
    ["GET", "/api/v1//configmaps", 404],
    ["GET", "/api/v1/namespaces/foo//configmaps", 404],
    ["GET", "/api/v1/namespaces/foo/configmaps/y/foo", 404],
    ["GET", "/api/v1/namespaces/foo/pods/y/status/foo", 404],
    ["POST", "/api/v1/namespaces/foo/pods/y/eviction/foo", 404],
    ["GET", "/api/v1/namespaces/foo/status/x", 404],
    ["HEAD", "/api/v1/namespaces/foo/configmaps", 405],
    ["OPTIONS", "/api/v1/namespaces/foo/configmaps", 405],
    ["GET", "/api/v1/namespaces//configmaps/y", 400],
    ["DELETE", "/api/v1/namespaces//configmaps", 400],
    ["GET", "/api/v1/namespaces//configmaps", 200],
    ["GET", "/api/v1/namespaces/foo/pods//status", 400],
    ["GET", "/api/v1/namespaces/foo%2fconfigmaps", 200],
    ["GET", "/api/v1/namespaces/foo/configmaps/a%2525", 400],
  ] as const)
    t.equal((await api.ask(method, path)).status, status, `${method} ${path}`);
});

const byHeader: Authenticator = {
  name: "test",
  authenticate: async ({ headers }) => (headers.get("authorization") === "admin" ? admin : eve),
};

/** The API on a port, where targets are sent as they are, and a connector that records its requests. */
async function served(t: Test, authorizer: Authorizer) {
  const reached: string[] = [];
  const nameOf = (target: Parameters<NodeConnector["fetch"]>[0]) =>
    target.kind === "node" ? target.path : target.url.replace(/^http:\/\/[^/]*/, "");
  const connector: NodeConnector = {
    async fetch(target) {
      reached.push(nameOf(target));
      return new Response("from the target");
    },
    upgrade(target, { socket }) {
      reached.push(`upgrade ${nameOf(target)}`);
      socket.end("HTTP/1.1 418 reached\r\ncontent-length: 0\r\nconnection: close\r\n\r\n");
    },
  };
  const api = await apiFor(t, authorizer, { connector, authenticators: [byHeader] });
  const server = await serve({
    handler: api.server.handler,
    upgrade: (upgrade) => api.server.upgrade(upgrade),
    listen: { host: "127.0.0.1", port: 0 },
  });
  t.teardown(() => server.close());
  await api.ask("POST", "/api/v1/nodes", { metadata: { name: "w" } });
  const pod = { metadata: { name: "p" }, spec: { nodeName: "w", containers: [{ name: "c", image: "i" }] } };
  await api.ask("POST", "/api/v1/namespaces/foo/pods", pod);
  const send = (path: string, headers: Record<string, string> = {}, method = "GET") =>
    new Promise<{ status: number; text: string }>((resolve, reject) => {
      const request = http.request({ port: server.port, path, headers, method, agent: false }, (response) => {
        let text = "";
        response.on("data", (chunk: Buffer) => (text += String(chunk)));
        response.on("end", () => resolve({ status: response.statusCode ?? 0, text }));
      });
      request.on("error", reject).end();
    });
  const spdy = (path: string, method = "POST") => send(path, { connection: "Upgrade", upgrade: "SPDY/3.1" }, method);
  const webSocket = (path: string) =>
    new Promise<{ status: number }>((resolve) => {
      const socket = new WebSocket(`ws://127.0.0.1:${server.port}${path}`, ["v5.channel.k8s.io"]);
      socket.on("unexpected-response", (_request, { statusCode }) => resolve({ status: statusCode ?? 0 }));
      socket.on("error", () => {});
    });
  return { api, reached, send, spdy, webSocket };
}

t.test("exec, attach and port-forward need create, whatever carries them", async (t) => {
  const parts = ["exec", "attach", "portforward"];
  const reads = parts.map((part) => `get pods/${part} foo/p`);
  const narrow = await served(t, allowing(...reads));
  for (const part of parts) {
    const path = `/api/v1/namespaces/foo/pods/p/${part}?command=id&stdout=1`;
    t.equal((await narrow.webSocket(path)).status, 403, `${part} by WebSocket`);
    t.equal((await narrow.spdy(path, "GET")).status, 403, `${part} by SPDY with GET`);
    t.equal((await narrow.spdy(path)).status, 403, `${part} by SPDY`);
    t.equal((await narrow.send(path)).status, 403, `${part} without an upgrade`);
    t.equal((await narrow.spdy(`${path.replace("?", "/more?")}`, "GET")).status, 404, "nothing is below it");
  }
  t.same(narrow.reached, []);
  const authorizer = allowing(...reads, ...parts.map((part) => `create pods/${part} foo/p`));
  const wide = await served(t, authorizer);
  for (const part of parts)
    t.equal((await wide.webSocket(`/api/v1/namespaces/foo/pods/p/${part}?command=id&stdout=1`)).status, 418, part);
  t.same(authorizer.asked.slice(0, 2), ["get pods/exec foo/p", "create pods/exec foo/p"], "both are asked for");
  authorizer.asked.length = 0;
  t.equal((await wide.spdy("/api/v1/namespaces/foo/pods/p/exec?command=id&stdout=1")).status, 418);
  t.same(authorizer.asked, ["create pods/exec foo/p"], "a POST is create already");
});

t.test("sessions of the kubelet through nodes/proxy need create", async (t) => {
  const narrow = await served(t, allowing("get nodes/proxy /w", "update nodes/proxy /w"));
  const spellings = [
    "exec/foo/p/c",
    "attach/foo/p/c",
    "run/foo/p/c",
    "portForward/foo/p",
    "%65xec/foo/p/c",
    "/exec/foo/p/c",
    "pods/../exec/foo/p/c",
    "pods/%2e%2e/exec/foo/p/c",
    "pods%2f..%2fexec/foo/p/c",
    "./exec/foo/p/c",
    "ui/exec/foo/p/c",
    "EXEC/foo/p/c",
  ];
  for (const spelling of spellings) {
    const path = `/api/v1/nodes/w/proxy/${spelling}?command=id&output=1`;
    t.equal((await narrow.spdy(path, "GET")).status, 403, `upgrade of ${spelling}`);
    t.equal((await narrow.spdy(path, "PUT")).status, 403, `upgrade of ${spelling} with PUT`);
    t.equal((await narrow.spdy(path, "POST")).status, 403, `upgrade of ${spelling} with POST`);
  }
  t.equal((await narrow.webSocket("/api/v1/nodes/w/proxy/exec/foo/p/c?command=id&output=1")).status, 403);
  t.equal((await narrow.webSocket("/api/v1/nodes/w/proxy/pods")).status, 403, "any upgrade");
  for (const spelling of spellings)
    t.equal((await narrow.send(`/api/v1/nodes/w/proxy/${spelling}`)).status, 403, `plain ${spelling}`);
  t.same(narrow.reached, []);
  t.equal((await narrow.send("/api/v1/nodes/w/proxy/pods")).status, 200, "reading is still reading");
  t.equal((await narrow.send("/api/v1/nodes/w/proxy/containerLogs/foo/exec/c")).status, 200);
  const wide = await served(t, allowing("get nodes/proxy /w", "create nodes/proxy /w"));
  t.equal((await wide.webSocket("/api/v1/nodes/w/proxy/exec/foo/p/c?command=id&output=1")).status, 418);
});

t.test("dot segments are part of the path that was asked for", async (t) => {
  const { api, send, reached } = await served(t, allowing("get services/proxy foo/s", "get pods/proxy foo/p"));
  await api.ask("POST", "/api/v1/namespaces/foo/secrets", { metadata: { name: "hidden" } });
  const status = { podIP: "10.9.9.9" };
  const type = { "content-type": "application/merge-patch+json" };
  await api.ask("PATCH", "/api/v1/namespaces/foo/pods/p/status", { status }, type);
  const asAdmin = { authorization: "admin" };
  for (const up of ["%2e%2e", "..", ".%2E"]) {
    const climb = `${up}/${up}/${up}/secrets`;
    const { status, text } = await send(`/api/v1/namespaces/foo/services/s/proxy/${climb}`, asAdmin);
    t.not(status, 200, `${up} through a service`);
    t.notMatch(text, /SecretList|hidden/);
    t.match(await send(`/api/v1/namespaces/foo/pods/p/proxy/${climb}`), { status: 200, text: "from the target" });
    t.match(reached.at(-1), /secrets$/);
    t.equal((await send(`/api/v1/namespaces/foo/configmaps/x/${up}/y`, asAdmin)).status, 404);
    t.equal((await send(`/api/v1/namespaces/foo/configmaps/${up}`, asAdmin)).status, 400);
    t.equal((await send(`/healthz/${up}/api/v1/secrets`, asAdmin)).status, 404);
  }
  t.equal((await send("/api/v1/namespaces/foo/./configmaps", asAdmin)).status, 404);
  t.equal((await send("//api/v1/namespaces/foo/configmaps", asAdmin)).status, 404);
  t.equal((await send("/api/v1/namespaces/foo/secrets#/x", asAdmin)).status, 404, "no fragment is cut off");
});

t.test("a header that asks to be someone else is never ignored", async (t) => {
  const { send } = await served(t, allowing("get /healthz"));
  t.equal((await send("/healthz")).status, 200);
  for (const header of ["impersonate-uid", "impersonate-extra-scopes", "impersonate-group"])
    t.equal((await send("/healthz", { [header]: "x" })).status, 400, `${header} alone`);
  t.equal((await send("/healthz", { "impersonate-user": "root" })).status, 403);
});

t.test("the author of an admission policy must be allowed to read its parameters", async (t) => {
  const group = "/apis/admissionregistration.k8s.io/v1";
  const policies = `${group}/validatingadmissionpolicies`;
  const bindings = `${group}/validatingadmissionpolicybindings`;
  const authorizer = allowing(
    ...["policies", "policybindings"].flatMap((kinds) =>
      ["create", "update", "patch"].flatMap((verb) => [
        `${verb} validatingadmission${kinds} /`,
        `${verb} validatingadmission${kinds} /p`,
      ]),
    ),
    "get configmaps */*",
    "get secrets foo/known",
  );
  const api = await apiFor(t, authorizer);
  const policy = (kind: string | undefined) => ({
    apiVersion: "admissionregistration.k8s.io/v1",
    kind: "ValidatingAdmissionPolicy",
    metadata: { name: "p" },
    spec: {
      ...(kind ? { paramKind: { apiVersion: "v1", kind } } : {}),
      matchConstraints: {
        resourceRules: [{ apiGroups: [""], apiVersions: ["v1"], resources: ["pods"], operations: ["CREATE"] }],
      },
      validations: [{ expression: "true" }],
    },
  });
  const binding = (name: string) => ({
    apiVersion: "admissionregistration.k8s.io/v1",
    kind: "ValidatingAdmissionPolicyBinding",
    metadata: { name: "p" },
    spec: {
      policyName: "p",
      validationActions: ["Deny"],
      paramRef: { name, namespace: "foo", parameterNotFoundAction: "Deny" },
    },
  });
  const change = { spec: { paramKind: { apiVersion: "v1", kind: "Secret" } } };
  const refusal = async ({ status, response }: { status: number; response: Response }) => ({
    status,
    fields: ((await response.json()) as Json).details?.causes?.map(({ field }: Json) => field),
  });
  const refused = (field: string) => ({ status: 422, fields: [field] });
  t.same(await refusal(await as(api, "POST", policies, policy("Secret"))), refused("spec.paramKind"));
  t.same(
    await refusal(
      await as(api, "PATCH", `${policies}/p?fieldManager=e`, policy("Secret"), "application/apply-patch+yaml"),
    ),
    refused("spec.paramKind"),
  );
  t.equal((await as(api, "POST", policies, policy("ConfigMap"))).status, 201);
  t.same(
    await refusal(await as(api, "PATCH", `${policies}/p`, change, "application/merge-patch+json")),
    refused("spec.paramKind"),
  );
  const label = { metadata: { labels: { a: "b" } } };
  t.equal(
    (await api.ask("PATCH", `${policies}/p`, change, { "content-type": "application/merge-patch+json" })).status,
    200,
  );
  t.equal(
    (await as(api, "PATCH", `${policies}/p`, label, "application/merge-patch+json")).status,
    200,
    "not its change",
  );
  t.same(await refusal(await as(api, "POST", bindings, binding("other"))), refused("spec.paramRef"));
  t.equal((await as(api, "POST", bindings, binding("known"))).status, 201);
  const toOther = { spec: { paramRef: { name: "other" } } };
  t.same(
    await refusal(await as(api, "PATCH", `${bindings}/p`, toOther, "application/merge-patch+json")),
    refused("spec.paramRef"),
  );
});
