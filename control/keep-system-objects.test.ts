import t from "tap";
import { uninterrupted as call } from "../plugins/kit/call.ts";
import { ApiClient } from "../plugins/kit/client/api-client.ts";
import { isFault } from "../plugins/kit/fault.ts";
import { type ResourceRef, resources } from "../plugins/kit/objects/resources.ts";
import type { KubeObject } from "../plugins/kit/objects/types.ts";
import { startControl } from "../test/harness/control.ts";
import { until } from "../test/harness/until.ts";

const rows: readonly (readonly [ResourceRef, { namespace?: string; name: string }])[] = [
  [resources.services, { namespace: "default", name: "kubernetes" }],
  [resources.services, { namespace: "kube-system", name: "kube-dns" }],
  [resources.endpoints, { namespace: "default", name: "kubernetes" }],
  [resources.configmaps, { namespace: "kube-public", name: "cluster-info" }],
  [resources.configmaps, { namespace: "kube-system", name: "extension-apiserver-authentication" }],
  [resources.storageclasses, { name: "local-path" }],
  [resources.clusterroles, { name: "system:kube-scheduler" }],
  [resources.clusterrolebindings, { name: "cluster-admin" }],
  [resources.roles, { namespace: "kube-system", name: "extension-apiserver-authentication-reader" }],
  [resources.namespaces, { name: "kube-node-lease" }],
];

t.test("system objects that are deleted come back", async (t) => {
  const control = await startControl({ advertise: { address: "192.0.2.1", port: 6443 } });
  t.teardown(() => control.close());
  const admin = { name: "admin", groups: ["system:masters", "system:authenticated"] };
  const client = new ApiClient({ fetch: control.control.fetchAs(admin) });
  const find = (ref: ResourceRef, at: { namespace?: string; name: string }) =>
    client.get<KubeObject>(ref, at, call).catch((error: unknown) => {
      if (isFault(error, "not-found")) return undefined;
      throw error;
    });
  for (const [ref, at] of rows) {
    const name = `${ref.plural} ${at.name}`;
    // Deleting the Service takes its Endpoints away, which come back, too.
    const before = await until(`${name} to be there`, () => find(ref, at));
    await client.delete(ref, at, call);
    await until(`${name} to come back`, async () => {
      const now = await find(ref, at);
      return now !== undefined && now.metadata.uid !== before.metadata.uid;
    });
  }
});
