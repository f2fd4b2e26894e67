// The node that shares its process with an API server shows it: `kubectl get nodes` tells its role as it does on any cluster.

import type { UserInfo } from "../../plugins/kit/kube/user-info.ts";
import type { Call } from "../../plugins/kit/base/call.ts";
import { ApiClient } from "../../plugins/kit/kube/client/api-client.ts";
import type { Clock } from "../../plugins/kit/base/clock.ts";
import { isFault } from "../../plugins/kit/base/fault.ts";
import type { Fetch } from "../../plugins/kit/base/fetch.ts";
import type { Log } from "../../plugins/kit/base/log.ts";
import { daemonGroup, daemonUser, type NodeDaemon } from "../../plugins/kit/kube/node-daemon.ts";
import { resources } from "../../plugins/kit/kube/objects/resources.ts";
import type { Node } from "../../plugins/kit/kube/objects/types.ts";
import { systemUser } from "../auth/assemble.ts";

const role = "node-role.kubernetes.io/control-plane";

/** A node may not give itself a role, so the server does. No taint comes with it: on a small box the node runs pods, too. */
export async function tellControlPlaneRole(
  name: string,
  { fetchAs, clock, log }: { fetchAs(user: UserInfo): Fetch; clock: Clock; log: Log },
  call: Call,
): Promise<void> {
  const client = new ApiClient({ fetch: fetchAs(systemUser), clock, log, userAgent: "apiserver" });
  const node = await client.get<Node>(resources.nodes, { name }, call).catch((error: unknown) => {
    // Nothing to show where the node does not register.
    if (!isFault(error, "not-found")) throw error;
  });
  if (!node || node.metadata.labels?.[role] !== undefined) return;
  const body = { metadata: { labels: { [role]: "true" } } };
  await client.patch(resources.nodes, { name }, { type: "merge", body }, call);
}

/** The API in this process with the identities of the node's network daemons; a joined node has certificates of them. */
export function daemonFetches(nodeName: string, fetchAs: (user: UserInfo) => Fetch): Record<NodeDaemon, Fetch> {
  const as = (daemon: NodeDaemon) =>
    fetchAs({ name: daemonUser(daemon, nodeName), groups: [daemonGroup(daemon), "system:authenticated"] });
  return { "service-proxy": as("service-proxy"), "network-policy": as("network-policy") };
}
