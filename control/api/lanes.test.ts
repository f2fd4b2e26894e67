// A flood of ordinary requests: the control plane, nodes and leases are answered all the same, the rest is told to come back.

import t from "tap";
import type { AdmissionPlugin, UserInfo } from "../../plugins/kit/admission.ts";
import { type Json, startApi } from "../../test/harness/api-server.ts";
import { until } from "../../test/harness/until.ts";

const configMaps = "/api/v1/namespaces/default/configmaps";
const leases = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases";
const limits = {
  system: { atOnce: 4, waiting: 4 },
  reading: { atOnce: 4, waiting: 4 },
  writing: { atOnce: 4, waiting: 4 },
};

/** Holds creations of config maps until they are released. */
function dam() {
  const open = Promise.withResolvers<void>();
  let held = 0;
  const plugin: AdmissionPlugin = {
    name: "Dam",
    handles: (request) => request.resource === "configmaps",
    mutate: async () => {
      held++;
      await open.promise;
    },
  };
  return { plugin, release: () => open.resolve(), held: () => held };
}

t.test("a flood keeps neither nodes nor leases nor the control plane waiting", async (t) => {
  const { plugin, release, held } = dam();
  const api = await startApi({ admission: [plugin], limits });
  t.teardown(() => api.close());
  const as = (user: UserInfo) => {
    const fetch = api.server.fetchAs(user);
    return async (method: string, path: string, body?: Json, type = "application/json") => {
      const headers: Record<string, string> = body ? { "content-type": type } : {};
      const init = { method, headers, ...(body ? { body: JSON.stringify(body) } : {}) };
      const response = await fetch(new Request(`http://api${path}`, init));
      return { status: response.status, headers: response.headers, body: (await response.json()) as Json };
    };
  };
  const user = as({ name: "eve", groups: ["system:authenticated"] });
  const node = as({ name: "system:node:n1", groups: ["system:nodes", "system:authenticated"] });
  const scheduler = as({ name: "system:kube-scheduler", groups: ["system:authenticated"] });
  await api.ask("POST", "/api/v1/nodes", { metadata: { name: "n1" } });
  const flood = Array.from({ length: 8 }, (_, n) => user("POST", configMaps, { metadata: { name: `c${n}` } }));
  await until("the lane to fill", () => held() === 4);

  const refused = await user("POST", configMaps, { metadata: { name: "one-too-many" } });
  t.match(refused, { status: 429, body: { kind: "Status", reason: "TooManyRequests", code: 429 } });
  t.equal(refused.headers.get("retry-after"), "1");
  t.equal((await user("GET", configMaps)).status, 200, "reading goes on beside writing");
  const heartbeat = { status: { conditions: [{ type: "Ready", status: "True" }] } };
  const beaten = await node("PATCH", "/api/v1/nodes/n1/status", heartbeat, "application/merge-patch+json");
  t.equal(beaten.status, 200, "a node's heartbeat");
  const lease = { metadata: { name: "n1" }, spec: { holderIdentity: "n1" } };
  t.equal((await node("POST", leases, lease)).status, 201, "a node's lease");
  const own = { metadata: { name: "own" }, spec: { holderIdentity: "eve" } };
  t.equal((await user("POST", leases, own)).status, 201, "anyone's leader lease");
  const pod = { metadata: { name: "p" }, spec: { containers: [{ name: "a", image: "x" }] } };
  t.equal((await scheduler("POST", "/api/v1/namespaces/default/pods", pod)).status, 201, "the control plane");

  release();
  t.same(
    (await Promise.all(flood)).map(({ status }) => status),
    Array(8).fill(201),
    "who waited is answered in turn",
  );
  t.equal((await user("POST", configMaps, { metadata: { name: "later" } })).status, 201);
});
