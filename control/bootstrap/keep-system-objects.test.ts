import t from "tap";
import { uninterrupted as call } from "../../plugins/kit/base/call.ts";
import { ApiClient } from "../../plugins/kit/kube/client/api-client.ts";
import { isFault } from "../../plugins/kit/base/fault.ts";
import { type ResourceRef, resources } from "../../plugins/kit/kube/objects/resources.ts";
import type { KubeObject } from "../../plugins/kit/kube/objects/types.ts";
import { startControl } from "../../test/harness/control.ts";
import { until } from "../../test/harness/until.ts";

/** Everything of these that a cluster has from its start, but the namespaces that cannot be deleted. */
const kinds: readonly ResourceRef[] = [
  resources.services,
  resources.endpoints,
  resources.endpointslices,
  resources.configmaps,
  resources.priorityclasses,
  resources.storageclasses,
  resources.clusterroles,
  resources.clusterrolebindings,
  resources.roles,
  resources.rolebindings,
  resources.serviceaccounts,
  resources.namespaces,
];
const immortal = ["default", "kube-system", "kube-public"];

t.test("system objects that are deleted come back", { timeout: 120_000 }, async (t) => {
  const control = await startControl({ advertise: { address: "192.0.2.1", port: 6443 } });
  t.teardown(() => control.close());
  const admin = { name: "admin", groups: ["system:masters", "system:authenticated"] };
  const client = new ApiClient({ fetch: control.control.fetchAs(admin) });
  const all = async (ref: ResourceRef) => {
    const { items } = await client.list<KubeObject>(ref, {}, call);
    const named = items.map(({ metadata }) => [`${metadata.namespace ?? ""}/${metadata.name}`, metadata] as const);
    return new Map<string, KubeObject["metadata"]>(
      ref === resources.namespaces ? named.filter(([name]) => !immortal.includes(name.slice(1))) : named,
    );
  };
  // The control plane writes some of them a moment after its start.
  for (const ref of [resources.endpointslices, resources.serviceaccounts, resources.configmaps])
    await until(
      `${ref.plural} to be there`,
      async () => (await all(ref)).size >= (ref === resources.endpointslices ? 1 : 4),
    );
  const isBack = async (ref: ResourceRef, gone: ReadonlyMap<string, KubeObject["metadata"]>) => {
    const now = await all(ref);
    return [...gone].every(([name, { uid }]) => now.has(name) && now.get(name)?.uid !== uid);
  };
  const atFirst = new Map<ResourceRef, readonly string[]>();
  for (const ref of kinds) atFirst.set(ref, [...(await all(ref)).keys()]);
  for (const [ref, names] of atFirst) {
    t.ok(names.length > 0, ref.plural);
    // Each by itself, since one that comes back brings all others with it; of RBAC there are too many, which one label tells.
    const rounds = ref.group === resources.roles.group ? [names] : names.map((name) => [name]);
    for (const round of rounds) {
      // The deletion of a Service takes its Endpoints away, which come back, too.
      const gone = await until(`${round} of ${ref.plural} to be there`, async () => {
        const found = [...(await all(ref))].filter(([name]) => round.includes(name));
        return found.length === round.length && new Map(found);
      });
      for (const { namespace, name = "" } of gone.values())
        await client.delete(ref, { ...(namespace ? { namespace } : {}), name }, call).catch((error: unknown) => {
          if (!isFault(error, "not-found")) throw error;
        });
      await until(`${round} of ${ref.plural} to come back`, () => isBack(ref, gone));
    }
  }
});
