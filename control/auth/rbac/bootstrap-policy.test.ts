import t from "tap";
import { uninterrupted } from "../../../plugins/kit/base/call.ts";
import { Fault } from "../../../plugins/kit/base/fault.ts";
import { reconcileBootstrapPolicy } from "./bootstrap-policy.ts";
import { bootstrapClusterRoleBindings } from "./bootstrap-roles.ts";

interface Stored {
  metadata: { name?: string; namespace?: string; annotations?: Record<string, string> };
}

function memoryClient() {
  const stored = new Map<string, Stored>();
  const keyOf = (ref: { plural: string }, at: { namespace?: string; name?: string }) =>
    `${ref.plural}/${at.namespace ?? ""}/${at.name}`;
  const client = {
    async get<T>(ref: { plural: string }, at: { namespace?: string; name: string }): Promise<T> {
      const found = stored.get(keyOf(ref, at));
      if (!found) throw new Fault("not-found", "no");
      return structuredClone(found) as T;
    },
    async create<T>(ref: { plural: string }, object: object): Promise<T> {
      stored.set(keyOf(ref, (object as Stored).metadata), object as Stored);
      return object as T;
    },
    async update<T>(ref: { plural: string }, object: object): Promise<T> {
      return this.create<T>(ref, object);
    },
    async delete(ref: { plural: string }, at: { namespace?: string; name: string }) {
      stored.delete(keyOf(ref, at));
    },
  };
  return { stored, client };
}

t.test("reconcileBootstrapPolicy() takes away what earlier versions gave to every node", async (t) => {
  const { stored, client } = memoryClient();
  const annotations = { "rbac.authorization.kubernetes.io/autoupdate": "true" };
  const metadata = { name: "skiff:node-network" };
  for (const kind of ["clusterroles", "clusterrolebindings"])
    stored.set(`${kind}//skiff:node-network`, { metadata: { ...metadata, annotations } });
  await reconcileBootstrapPolicy(client, uninterrupted);
  t.notOk(stored.has("clusterroles//skiff:node-network"));
  t.notOk(stored.has("clusterrolebindings//skiff:node-network"));
  stored.set("clusterroles//skiff:node-network", { metadata });
  await reconcileBootstrapPolicy(client, uninterrupted);
  t.ok(stored.has("clusterroles//skiff:node-network"), "what somebody made by hand is theirs");
});

t.test("no role is bound to the group of nodes but the renewal of their own certificates", async (t) => {
  const bound = Object.entries(bootstrapClusterRoleBindings).filter(([, { subjects }]) =>
    subjects.includes("g:system:nodes"),
  );
  t.same(
    bound.map(([name]) => name),
    ["skiff:node-autoapprove-certificate-rotation"],
  );
});
