import t from "tap";
import { uninterrupted } from "../../plugins/kit/base/call.ts";
import { ApiClient } from "../../plugins/kit/kube/client/api-client.ts";
import { systemClock } from "../../plugins/kit/base/clock.ts";
import { noLog } from "../../plugins/kit/base/log.ts";
import type { Node } from "../../plugins/kit/kube/objects/types.ts";
import { makeNamespaces } from "../../test/harness/agent-node.ts";
import { admin, startApi } from "../../test/harness/api-server.ts";
import { NodeLease } from "./lease.ts";

const path = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/node";

t.test("NodeLease.renew() makes a lost lease again", async (t) => {
  const api = await startApi();
  t.teardown(() => api.close());
  await makeNamespaces(api, "kube-node-lease");
  const client = new ApiClient({ fetch: api.server.fetchAs(admin), clock: systemClock, log: noLog });
  let uid = "first";
  const node = () => ({ metadata: { name: "node", uid } }) as unknown as Node;
  const lease = new NodeLease({ client, nodeName: "node", node, clock: systemClock, log: noLog });
  const stored = async () => (await api.ask("GET", path)).body;

  await lease.renew(uninterrupted);
  await lease.renew(uninterrupted);
  t.match(await stored(), { spec: { holderIdentity: "node" }, metadata: { ownerReferences: [{ uid: "first" }] } });

  await api.ask("DELETE", path);
  await lease.renew(uninterrupted);
  t.match(await stored(), { spec: { holderIdentity: "node" } }, "deleted by somebody");

  uid = "second";
  await api.ask("DELETE", path);
  await lease.renew(uninterrupted);
  t.match(await stored(), { metadata: { ownerReferences: [{ uid: "second" }] } }, "gone with the node it belonged to");

  const changed = await stored();
  await api.ask("PUT", path, { ...changed, spec: { ...changed.spec, leaseDurationSeconds: 7 } });
  await lease.renew(uninterrupted);
  t.match(await stored(), { spec: { leaseDurationSeconds: 40 } }, "written by somebody else");
});
