// A node that its server cannot connect to (nothing listens where the Node object says) is reached over the line that it holds open.

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import t from "tap";
import { NodeCredentials } from "../../agent/join/credentials.ts";
import { joinCluster } from "../../agent/join/join.ts";
import { systemUser } from "../../control/auth/assemble.ts";
import { createJoinToken } from "../../control/auth/join/tokens.ts";
import { uninterrupted as call } from "../../plugins/kit/base/call.ts";
import { ApiClient } from "../../plugins/kit/kube/client/api-client.ts";
import { systemClock } from "../../plugins/kit/base/clock.ts";
import { noLog } from "../../plugins/kit/base/log.ts";
import { nodeLinePath, nodeLineProtocol } from "../../plugins/kit/kube/node-line.ts";
import { resources } from "../../plugins/kit/kube/objects/resources.ts";
import type { Node } from "../../plugins/kit/kube/objects/types.ts";
import { httpFetch } from "../../plugins/kit/os/platform/http-client.ts";
import { serve } from "../../plugins/kit/os/platform/http-server.ts";
import { startControl } from "../harness/control.ts";
import { until } from "../harness/until.ts";

const { control, url, close } = await startControl();
t.teardown(close);
const admin = control.fetchAs({ name: "admin", groups: ["system:masters", "system:authenticated"] });
const system = new ApiClient({ fetch: control.fetchAs(systemUser), clock: systemClock });

/** Asks the node's kubelet through the API server, as kubectl does. */
async function askKubelet(node: string, path = "/hello"): Promise<{ status: number; text: string }> {
  const answer = await admin(new Request(`http://api/api/v1/nodes/${node}/proxy${path}`));
  return { status: answer.status, text: await answer.text() };
}

async function joinedNode(name: string) {
  const dataDir = mkdtempSync(join(tmpdir(), "skiff-node-line-"));
  t.teardown(() => rmSync(dataDir, { recursive: true, force: true }));
  const issuing = { client: system, caHash: control.pki.caHash, clock: systemClock };
  const token = await createJoinToken({ ttlSeconds: 600 }, issuing, call);
  const options = { servers: [url], token, nodeName: name, dataDir, clock: systemClock, log: noLog };
  const member = await joinCluster(options, call);
  t.teardown(() => member.close());
  const api = new ApiClient({ fetch: member.fetch, clock: systemClock });
  await api.create<Node>(resources.nodes, { apiVersion: "v1", kind: "Node", metadata: { name } }, call);
  const status = {
    addresses: [{ type: "InternalIP", address: "127.0.0.1" }],
    daemonEndpoints: { kubeletEndpoint: { Port: 1 } },
  };
  await api.patch(resources.nodes, { name, subresource: "status" }, { type: "merge", body: { status } }, call);
  return { member, client: new NodeCredentials(join(dataDir, "agent", "pki"), systemClock).pair("client") };
}

async function startKubelet(served: { cert: string; key: string }) {
  const server = await serve({
    handler: (request, peer) =>
      new Response(`${new URL(request.url).pathname} for ${peer.certificate?.commonName ?? "nobody"}`),
    listen: { host: "127.0.0.1", port: 0 },
    tls: { ...served, clientCa: control.pki.ca.cert },
  });
  t.teardown(() => server.close());
  return server.port;
}

t.test("a node behind NAT is reached over its line, and the kubelet still sees who speaks", async (t) => {
  const { member } = await joinedNode("far");
  const stop = new AbortController();
  t.teardown(() => stop.abort());
  const names = () => ({ dnsNames: ["far"], ipAddresses: ["127.0.0.1"] });
  const renewing = member.run(names, { signal: stop.signal });
  const signed = new Promise<void>((resolve) => member.onServing(resolve));
  await signed;
  const port = await startKubelet(member.serving());

  t.equal((await askKubelet("far")).status, 503, "nothing listens where the node says");
  const holding = member.holdLines(port, { signal: stop.signal });
  await until("the node to be reached", async () => (await askKubelet("far")).status === 200);
  t.equal((await askKubelet("far", "/pods")).text, "/pods for kube-apiserver-kubelet-client");
  const many = await Promise.all(Array.from({ length: 20 }, (_, n) => askKubelet("far", `/${n}`)));
  t.same(
    many.map(({ text }) => text),
    many.map((_, n) => `/${n} for kube-apiserver-kubelet-client`),
  );

  stop.abort();
  await Promise.all([holding, renewing]);
  await until("the server to notice that the line is gone", async () => (await askKubelet("far")).status === 503);
});

t.test("a node that reports another's address does not lead to that one's kubelet", async (t) => {
  const names = { dnsNames: ["victim"], ipAddresses: ["127.0.0.1"] };
  const port = await startKubelet(control.pki.kubeletServing("victim", names));
  const at = (name: string) => ({
    apiVersion: "v1",
    kind: "Node",
    metadata: { name },
    status: {
      addresses: [{ type: "InternalIP", address: "127.0.0.1" }],
      daemonEndpoints: { kubeletEndpoint: { Port: port } },
    },
  });
  for (const name of ["victim", "thief"]) await system.create<Node>(resources.nodes, at(name), call);
  t.same(await askKubelet("victim"), { status: 200, text: "/hello for kube-apiserver-kubelet-client" });
  const { status, text } = await askKubelet("thief");
  t.equal(status, 503);
  t.match(text, /error trying to reach service/);
});

t.test("only a node's own certificate may hold a line, and only for itself", async (t) => {
  const headers = { connection: "Upgrade", upgrade: nodeLineProtocol };
  const refused = async (options: object, path: string, given = headers) => {
    const client = httpFetch({ ca: control.pki.ca.cert, ...options });
    t.teardown(() => client.close());
    const result = await client.upgrade({ url: `${url}${path}`, headers: given }, call);
    return result.upgraded ? 101 : result.response.status;
  };
  t.equal(await refused({}, nodeLinePath), 403, "nobody");
  t.equal(await refused(control.pki.kubeletClient(), nodeLinePath), 403, "someone who is no node");
  const { client: near = {} } = await joinedNode("near");
  t.equal(await refused(near, nodeLinePath, { ...headers, upgrade: "websocket" }), 400, "another protocol");
  t.equal(await refused(near, `${nodeLinePath}/${"0".repeat(32)}`), 404, "a connection that nobody waits for");
});

t.test("a node whose line is dead is connected to, and the line is dropped", async (t) => {
  const { member, client = {} } = await joinedNode("moved");
  const stop = new AbortController();
  t.teardown(() => stop.abort());
  const signed = new Promise<void>((resolve) => member.onServing(resolve));
  void member.run(() => ({ dnsNames: ["moved"], ipAddresses: ["127.0.0.1"] }), { signal: stop.signal });
  await signed;
  const port = await startKubelet(member.serving());
  // Held open, but nobody listens any more: as after the node's address has changed.
  const holder = httpFetch({ ca: control.pki.ca.cert, ...client });
  t.teardown(() => holder.close());
  const headers = { connection: "Upgrade", upgrade: nodeLineProtocol };
  const line = await holder.upgrade({ url: `${url}${nodeLinePath}`, headers }, call);
  if (!line.upgraded) throw new Error(`the line was refused: ${line.response.status}`);
  line.socket.on("error", () => {}).resume();
  const closed = new Promise<void>((resolve) => line.socket.once("close", () => resolve()));
  const api = new ApiClient({ fetch: member.fetch, clock: systemClock });
  const body = { status: { daemonEndpoints: { kubeletEndpoint: { Port: port } } } };
  await api.patch(resources.nodes, { name: "moved", subresource: "status" }, { type: "merge", body }, call);

  t.same(await askKubelet("moved"), { status: 200, text: "/hello for kube-apiserver-kubelet-client" });
  await closed;
  t.equal((await askKubelet("moved")).status, 200);
});
