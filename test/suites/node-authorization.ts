// Sends the requests of a node to an API server with the Node authorizer, RBAC and NodeRestriction, and tells what came of each.

import { newNodeRequests, nodeRequests } from "../fixtures/authorization/node-requests.ts";
import { mirrorPod } from "../fixtures/authorization/node-mirror-pods.ts";
import { nodeSeeds } from "../fixtures/authorization/node-seed.ts";
import type { NamedRequest } from "../fixtures/authorization/request.ts";
import type { AuthorizationServer } from "../harness/authorization-server.ts";
import type { RawHttp } from "../harness/raw-http.ts";
import { until } from "../harness/until.ts";
import { seed } from "./authorization.ts";

/** The status and, of a refusal, its reason. */
export type NodeRow = readonly [status: number, reason?: string];

const uidOf: Readonly<Record<string, string>> = {
  n1: "/api/v1/nodes/n1",
  n2: "/api/v1/nodes/n2",
  "pod-1": "/api/v1/namespaces/team/pods/pod-1",
  "pod-2": "/api/v1/namespaces/team/pods/pod-2",
  "mounted-1": "/api/v1/namespaces/team/secrets/mounted-1",
};

export async function nodeOutcomes(server: AuthorizationServer): Promise<Map<string, NodeRow>> {
  const { admin } = server;
  await seed(admin, nodeSeeds);
  const node = server.client("system:node:n1", ["system:nodes"]);
  const uids = await uidsBy(admin);
  // What the authorizer knows of pods and volumes follows the writes.
  for (const target of [
    "/api/v1/namespaces/team/secrets/volume-1",
    "/apis/storage.k8s.io/v1/volumeattachments/attachment-1",
  ])
    await until(`${target} to be the node's`, async () => (await node.ask({ method: "GET", target })).status === 200);
  const mirror = { path: "/api/v1/namespaces/team/pods", object: withUids(mirrorPod("mirror", {}), uids) };
  await seed(node, [mirror]);
  await until("the mirror pod to be the node's", async () => {
    const target = "/api/v1/namespaces/team/pods/mirror";
    return (await node.ask({ method: "GET", target })).status === 200;
  });
  const rows = new Map<string, NodeRow>();
  for (const request of nodeRequests) rows.set(request.name, await rowOf(node, request, uids));
  const newNode = server.client("system:node:n9", ["system:nodes"]);
  for (const request of newNodeRequests) rows.set(request.name, await rowOf(newNode, request, uids));
  return rows;
}

async function rowOf(client: RawHttp, request: NamedRequest, uids: ReadonlyMap<string, string>): Promise<NodeRow> {
  const { status, body } = await client.ask({
    ...request,
    ...("body" in request ? { body: withUids(request.body, uids) } : {}),
  });
  const reason = status >= 400 && body.startsWith("{") ? (JSON.parse(body) as { reason?: string }).reason : undefined;
  return reason ? [status, reason] : [status];
}

async function uidsBy(admin: RawHttp): Promise<Map<string, string>> {
  const uids = new Map<string, string>();
  for (const [name, target] of Object.entries(uidOf)) {
    const { body } = await admin.ask({ method: "GET", target });
    uids.set(name, (JSON.parse(body) as { metadata: { uid: string } }).metadata.uid);
  }
  return uids;
}

/** Puts the uids in place of their names, `UID:n1`. */
const withUids = <T>(value: T, uids: ReadonlyMap<string, string>): T =>
  JSON.parse(JSON.stringify(value).replaceAll(/UID:([\w-]+)/g, (_, name: string) => uids.get(name) ?? name));
