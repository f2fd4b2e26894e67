// Groups and versions that another server answers, through a service.

import type { Duplex } from "node:stream";
import t from "tap";
import { connectUpgrade } from "../../../plugins/kit/os/platform/http-client.ts";
import { uninterrupted } from "../../../plugins/kit/base/call.ts";
import { serve } from "../../../plugins/kit/os/platform/http-server.ts";
import { headerLines } from "../../../plugins/kit/os/platform/served-headers.ts";
import { createAuthority, createCertificate } from "../../../plugins/kit/os/x509.ts";
import { encodeObject } from "../../storage/encoding.ts";
import { storageKey } from "../../storage/keys.ts";
import { type Json, startApi, type TestApi } from "../../../test/harness/api-server.ts";
import { testPki } from "../../../test/harness/certificates.ts";
import { until } from "../../../test/harness/until.ts";

const services = "/apis/apiregistration.k8s.io/v1/apiservices";
const name = "v1alpha1.wardle.example.com";
const group = "/apis/wardle.example.com/v1alpha1";
const aggregatedType = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";
const validity = { notBefore: Date.now() - 3_600_000, notAfter: Date.now() + 86_400_000 };

const resourceList = {
  kind: "APIResourceList",
  groupVersion: "wardle.example.com/v1alpha1",
  resources: [
    { name: "flunders", singularName: "flunder", namespaced: true, kind: "Flunder", verbs: ["get", "list"] },
    { name: "flunders/status", singularName: "", namespaced: true, kind: "Flunder", verbs: ["get"] },
  ],
};

interface Asked {
  method: string;
  path: string;
  user: string | null;
  uid: string | null;
  groups: string[];
  extra: string[];
  authorization: string | null;
  certificate: string | undefined;
  body: string;
}

/** A server that extends the API, and an API with the service that leads to it. */
async function opened(t: Pick<typeof import("tap").t, "teardown">, names = ["sample.shop.svc"]) {
  const ca = createAuthority({ commonName: "sample", ...validity });
  const certificate = createCertificate(ca, {
    ...validity,
    commonName: "sample",
    dnsNames: names,
    usages: ["server auth"],
  });
  const proxy = testPki("front-proxy");
  const asked: Asked[] = [];
  const sockets: Duplex[] = [];
  const extension = await serve({
    listen: { host: "127.0.0.1", port: 0 },
    tls: { ...certificate, clientCa: proxy.ca.cert },
    handler: async (request, peer) => {
      const { pathname, search } = new URL(request.url);
      const { headers } = request;
      asked.push({
        method: request.method,
        path: pathname + search,
        user: headers.get("x-remote-user"),
        uid: headers.get("x-remote-uid"),
        groups: headerLines(headers, "x-remote-group"),
        extra: headerLines(headers, "x-remote-extra-scopes"),
        authorization: headers.get("authorization"),
        certificate: peer.certificate?.commonName,
        body: await request.text(),
      });
      if (pathname === group) return Response.json(resourceList);
      if (pathname === "/openapi/v3")
        return Response.json({ paths: { [group.slice(1)]: { serverRelativeURL: `/openapi/v3${group}?hash=ABC` } } });
      if (pathname === `/openapi/v3${group}`) return Response.json({ openapi: "3.0.0", paths: {} });
      if (pathname === "/openapi/v2")
        return Response.json({
          paths: { [`${group}/flunders`]: { get: {} }, "/version": {} },
          definitions: { "io.k8s.apimachinery.x": {}, "com.example.wardle.Flunder": { type: "object" } },
        });
      if (pathname.endsWith("/away")) return new Response(null, { status: 302, headers: { location: "http://x/" } });
      return Response.json({ kind: "FlunderList", items: [] }, { status: request.method === "POST" ? 201 : 200 });
    },
    upgrade: ({ socket }) => {
      sockets.push(socket);
      socket.write("HTTP/1.1 101 Switching Protocols\r\nconnection: Upgrade\r\nupgrade: websocket\r\n\r\nhello");
    },
  });
  const api = await startApi({ frontProxy: () => proxy.client("front-proxy-client") });
  t.teardown(async () => {
    await api.close();
    for (const socket of sockets) socket.destroy();
    await extension.close();
  });
  await api.ask("POST", "/api/v1/namespaces", { metadata: { name: "shop" } });
  await api.ask("POST", "/api/v1/namespaces/shop/services", {
    metadata: { name: "sample" },
    spec: { ports: [{ port: 7443, targetPort: extension.port }] },
  });
  // The API takes no endpoints on loopback, and that is where the other server listens.
  const slice = {
    kind: "EndpointSlice",
    apiVersion: "discovery.k8s.io/v1",
    metadata: { name: "sample-1", namespace: "shop", labels: { "kubernetes.io/service-name": "sample" } },
    addressType: "IPv4",
    endpoints: [{ addresses: ["127.0.0.1"], conditions: { ready: true } }],
    ports: [{ name: "", port: extension.port }],
  };
  const key = storageKey({ group: "discovery.k8s.io", plural: "endpointslices" }, "shop", "sample-1");
  const endpoints = () => api.store.put(key, encodeObject(slice), "absent", uninterrupted);
  return { api, asked, endpoints, caBundle: btoa(ca.cert) };
}

const registration = (spec: Json) => ({
  metadata: { name },
  spec: {
    group: "wardle.example.com",
    version: "v1alpha1",
    groupPriorityMinimum: 2000,
    versionPriority: 200,
    service: { namespace: "shop", name: "sample", port: 7443 },
    ...spec,
  },
});

async function condition(api: TestApi, reason: string): Promise<Json> {
  let found: Json;
  await until(`the condition ${reason}`, async () => {
    const { body } = await api.ask("GET", `${services}/${name}`);
    found = body.status?.conditions?.[0];
    return found?.reason === reason;
  });
  return found;
}

t.test("requests on a group of another server are passed on in the name of who asked", async (t) => {
  const { api, asked, endpoints, caBundle } = await opened(t);
  t.equal((await api.ask("POST", services, registration({ caBundle }))).status, 201);
  t.match(await condition(api, "EndpointsNotFound"), { status: "False" });
  const told = async () => (await api.ask("GET", "/metrics")).text;
  t.match(await told(), `aggregator_unavailable_apiservice{name="${name}"} 1\n`);
  const early = await api.ask("GET", `${group}/flunders`);
  t.equal(early.status, 503);
  t.equal(early.text, "service unavailable\n");
  await endpoints();
  t.match(await condition(api, "Passed"), { type: "Available", status: "True", message: "all checks passed" });
  t.match(asked[0], { path: group, user: "system:kube-aggregator", groups: ["system:masters"] });
  t.match(await told(), `aggregator_unavailable_apiservice{name="${name}"} 0\n`);

  asked.length = 0;
  const jane = { name: "jané", uid: "7", groups: ["devs, system:masters", "ops"], extra: { scopes: ["a, b", "c"] } };
  const fetch = api.server.fetchAs(jane);
  const response = await fetch(
    new Request(`http://api${group}/namespaces/default/flunders?dryRun=All`, {
      method: "POST",
      body: '{"kind":"Flunder"}',
      headers: { authorization: "Bearer x", "x-remote-user": "root", "content-type": "application/json" },
    }),
  );
  t.equal(response.status, 201);
  t.match(asked, [
    {
      method: "POST",
      path: `${group}/namespaces/default/flunders?dryRun=All`,
      user: Buffer.from("jané").toString("latin1"),
      uid: "7",
      groups: ["devs, system:masters", "ops"],
      extra: ["a, b", "c"],
      authorization: null,
      certificate: "front-proxy-client",
      body: '{"kind":"Flunder"}',
    },
  ]);
  asked.length = 0;
  for (const odd of [" system:masters", "a\r\nx-remote-group: system:masters", "system:masters\t"]) {
    const refused = await api.server.fetchAs({ name: "jane", groups: [odd] })(
      new Request(`http://api${group}/flunders`),
    );
    t.equal(refused.status, 403, JSON.stringify(odd));
  }
  t.same(asked, [], "a group that a header would change is not passed on");
  const away = await api.ask("GET", `${group}/away`);
  t.equal(away.status, 502);
  await api.ask("DELETE", `${services}/${name}`);
  t.equal((await api.ask("GET", `${group}/flunders`)).status, 404);
});

t.test("discovery and OpenAPI show what another server has", async (t) => {
  const { api, endpoints, caBundle } = await opened(t);
  await endpoints();
  await api.ask("POST", services, registration({ caBundle }));
  await condition(api, "Passed");
  const { body } = await api.ask("GET", "/apis", undefined, { accept: aggregatedType });
  const found = body.items.find((one: Json) => one.metadata.name === "wardle.example.com");
  t.match(found.versions, [
    {
      version: "v1alpha1",
      freshness: "Current",
      resources: [
        {
          resource: "flunders",
          scope: "Namespaced",
          responseKind: { group: "", version: "", kind: "Flunder" },
          subresources: [{ subresource: "status" }],
        },
      ],
    },
  ]);
  const groups = (await api.ask("GET", "/apis")).body.groups.map((one: Json) => one.name);
  t.ok(groups.includes("wardle.example.com"));
  t.match((await api.ask("GET", "/apis/wardle.example.com")).body, { preferredVersion: { version: "v1alpha1" } });
  t.match((await api.ask("GET", group)).body, resourceList);
  const { paths } = (await api.ask("GET", "/openapi/v3")).body;
  t.match(paths["apis/wardle.example.com/v1alpha1"], { serverRelativeURL: /hash=ABC/ });
  t.match((await api.ask("GET", `/openapi/v3${group}?hash=ABC`)).body, { openapi: "3.0.0" });
  const v2 = (await api.ask("GET", "/openapi/v2")).body;
  t.ok(v2.paths[`${group}/flunders`]);
  t.ok(v2.definitions["com.example.wardle.Flunder"]);
  t.notOk(v2.definitions["io.k8s.apimachinery.x"]);
});

t.test("a server whose certificate does not hold is not available", async (t) => {
  const { api, endpoints, caBundle } = await opened(t, ["elsewhere"]);
  await endpoints();
  await api.ask("POST", services, registration({ caBundle }));
  t.match(await condition(api, "FailedDiscoveryCheck"), {
    status: "False",
    message: /failing or missing response from/,
  });
  const current = (await api.ask("GET", `${services}/${name}`)).body;
  const { caBundle: _, ...spec } = current.spec;
  await api.ask("PUT", `${services}/${name}`, { ...current, spec: { ...spec, insecureSkipTLSVerify: true } });
  await condition(api, "Passed");
  t.equal((await api.ask("GET", `${group}/flunders`)).status, 200);
});

t.test("a raw connection is passed on too", async (t) => {
  const { api, endpoints, caBundle } = await opened(t);
  await endpoints();
  await api.ask("POST", services, registration({ caBundle }));
  await condition(api, "Passed");
  const front = await serve({
    listen: { host: "127.0.0.1", port: 0 },
    handler: api.server.handler,
    upgrade: (upgrade) => api.server.upgrade(upgrade),
  });
  t.teardown(() => front.close());
  const result = await connectUpgrade(
    {
      url: `http://127.0.0.1:${front.port}${group}/flunders/a/exec`,
      headers: { connection: "Upgrade", upgrade: "websocket" },
    },
    uninterrupted,
  );
  if (!result.upgraded) return t.fail("not upgraded");
  let text = result.head.toString();
  result.socket.on("data", (chunk) => (text += String(chunk)));
  await until("the greeting", async () => text.includes("hello"));
  result.socket.destroy();
});

t.test("what this server serves has APIServices of its own", async (t) => {
  const api = await startApi();
  t.teardown(() => api.close());
  const { body } = await api.ask("GET", `${services}/v1.apps`);
  t.match(body, { spec: { group: "apps", groupPriorityMinimum: 17_800, versionPriority: 15 } });
  t.match(body.status.conditions, [{ type: "Available", status: "True", reason: "Local" }]);
  const bad = await api.ask(
    "POST",
    services,
    registration({ groupPriorityMinimum: 0, caBundle: btoa("x"), insecureSkipTLSVerify: true }),
  );
  t.match(bad.body.message, /spec.groupPriorityMinimum: Invalid value: 0: must be positive and less than 20000/);
  t.match(bad.body.message, /spec.insecureSkipTLSVerify: Invalid value: true: may not be true if caBundle is present/);
  const table = await api.ask("GET", services, undefined, { accept: "application/json;as=Table;v=v1;g=meta.k8s.io" });
  t.same(table.body.rows[0].cells.slice(0, 3), ["v1.", "Local", "True"]);
});
