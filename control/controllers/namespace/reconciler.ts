// Namespace: empties a namespace that is being deleted, in an order in which nothing is made anew, and lets it go when it is empty.

import type { Call } from "../../../plugins/kit/base/call.ts";
import { isFault, toFault } from "../../../plugins/kit/base/fault.ts";
import { type ResourceRef, resources } from "../../../plugins/kit/kube/objects/resources.ts";
import type { KubeList, KubeObject, Namespace } from "../../../plugins/kit/kube/objects/types.ts";
import type { ControllerFactory } from "../../manager/contract.ts";
import { builtInResources, onCustomResource } from "../stored-resources.ts";

const finalizer = "kubernetes";
/** How soon to look again while something is left that its own finalizers or grace period hold. */
const lookAgainMs = 1_000;

/** Owners before what they would make again; whatever pods use, or what guards them, stays until the last of them is gone. */
const first = [
  "cronjobs",
  "deployments",
  "statefulsets",
  "daemonsets",
  "jobs",
  "replicasets",
  "replicationcontrollers",
  "pods",
];

interface Remaining {
  readonly ref: ResourceRef;
  readonly count: number;
  readonly finalizers: Map<string, number>;
}

export const namespaceController: ControllerFactory = ({ client, informers, clock }) => {
  const namespaces = informers.for<Namespace>(resources.namespaces);
  const contents = new Map<string, ResourceRef>();
  const add = (ref: ResourceRef) => {
    if (ref.namespaced) contents.set(`${ref.group}/${ref.plural}`, ref);
  };
  builtInResources.forEach(add);
  onCustomResource(informers, add);

  function ordered(): ResourceRef[] {
    const rank = ({ plural }: ResourceRef) => first.indexOf(plural) + 1 || first.length + 1;
    return [...contents.values()].sort((a, b) => rank(a) - rank(b));
  }

  async function empty(namespace: string, call: Call): Promise<{ remaining: Remaining[]; failures: string[] }> {
    const remaining: Remaining[] = [];
    const failures: string[] = [];
    for (const ref of ordered()) {
      const isForPods = !first.includes(ref.plural);
      if (isForPods && remaining.some((left) => left.ref.plural === "pods")) break;
      try {
        const left = await deleteAll(ref, namespace, call);
        if (left) remaining.push(left);
      } catch (error) {
        // A custom resource whose definition went away has no objects any more.
        if (!isFault(error, "not-found")) failures.push(`${ref.plural}: ${toFault(error, "delete").message}`);
      }
    }
    return { remaining, failures };
  }

  async function deleteAll(ref: ResourceRef, namespace: string, call: Call): Promise<Remaining | undefined> {
    if (informers.for(ref).list(namespace).length === 0) return undefined;
    const path = (await client.list<KubeObject>(ref, { namespace }, call)) as KubeList;
    for (const object of path.items) {
      if (object.metadata.deletionTimestamp) continue;
      const at = { namespace, name: object.metadata.name ?? "" };
      try {
        await client.delete(ref, at, call, { propagationPolicy: "Background" });
      } catch (error) {
        if (!isFault(error, "not-found")) throw error;
      }
    }
    const left = informers.for<KubeObject>(ref).list(namespace);
    if (left.length === 0) return undefined;
    const finalizers = new Map<string, number>();
    for (const object of left)
      for (const name of object.metadata.finalizers ?? []) finalizers.set(name, (finalizers.get(name) ?? 0) + 1);
    return { ref, count: left.length, finalizers };
  }

  async function report(
    namespace: Namespace,
    remaining: readonly Remaining[],
    failures: readonly string[],
    call: Call,
  ): Promise<void> {
    const conditions = conditionsFor(namespace, remaining, failures, clock.now());
    if (JSON.stringify(conditions) === JSON.stringify(namespace.status?.conditions)) return;
    const object = { ...namespace, status: { ...namespace.status, conditions } };
    try {
      await client.update(resources.namespaces, object as unknown as KubeObject, call, { subresource: "status" });
    } catch (error) {
      // Changed meanwhile: told again on the next look.
      if (!isFault(error, "conflict", "not-found")) throw error;
    }
  }

  return {
    name: "namespace",
    workers: 5,
    wakes: [{ resource: resources.namespaces, keys: (namespace: Namespace) => [namespace.metadata.name ?? ""] }],
    async reconcile(name, call) {
      const namespace = namespaces.get("", name);
      if (!namespace?.metadata.deletionTimestamp || !namespace.spec?.finalizers?.includes(finalizer)) return undefined;
      const { remaining, failures } = await empty(name, call);
      if (remaining.length > 0 || failures.length > 0) {
        await report(namespace, remaining, failures, call);
        return lookAgainMs;
      }
      const newest = namespaces.get("", name);
      if (!newest) return undefined;
      const finalizers = newest.spec?.finalizers?.filter((item) => item !== finalizer) ?? [];
      const object = { ...newest, spec: { ...newest.spec, finalizers } };
      try {
        await client.update(resources.namespaces, object as unknown as KubeObject, call, { subresource: "finalize" });
      } catch (error) {
        if (!isFault(error, "not-found")) throw error;
      }
      return undefined;
    },
  };
};

export function conditionsFor(
  namespace: Namespace,
  remaining: readonly Remaining[],
  failures: readonly string[],
  now: number,
) {
  const counts = remaining.map(
    ({ ref, count }) => `${ref.group ? `${ref.plural}.${ref.group}` : ref.plural}. has ${count} resource instances`,
  );
  const finalizers = new Map<string, number>();
  for (const { finalizers: found } of remaining)
    for (const [name, count] of found) finalizers.set(name, (finalizers.get(name) ?? 0) + count);
  const held = [...finalizers].map(([name, count]) => `${name} in ${count} resource instances`);
  const rows = [
    ["NamespaceDeletionDiscoveryFailure", false, "ResourcesDiscovered", "All resources successfully discovered"],
    [
      "NamespaceDeletionGroupVersionParsingFailure",
      false,
      "ParsedGroupVersions",
      "All legacy kube types successfully parsed",
    ],
    failures.length > 0
      ? [
          "NamespaceDeletionContentFailure",
          true,
          "ContentDeletionFailed",
          `Failed to delete all resource types, ${failures.length} remaining: ${failures.join(", ")}`,
        ]
      : [
          "NamespaceDeletionContentFailure",
          false,
          "ContentDeleted",
          "All content successfully deleted, may be waiting on finalization",
        ],
    remaining.length > 0
      ? ["NamespaceContentRemaining", true, "SomeResourcesRemain", `Some resources are remaining: ${counts.join(", ")}`]
      : ["NamespaceContentRemaining", false, "ContentRemoved", "All content successfully removed"],
    held.length > 0
      ? [
          "NamespaceFinalizersRemaining",
          true,
          "SomeFinalizersRemain",
          `Some content in the namespace has finalizers remaining: ${held.join(", ")}`,
        ]
      : ["NamespaceFinalizersRemaining", false, "ContentHasNoFinalizers", "All content-preserving finalizers finished"],
  ] as const;
  const time = new Date(now).toISOString().replace(/\.\d+Z$/, "Z");
  return rows.map(([type, isTrue, reason, message]) => {
    const status = isTrue ? "True" : "False";
    const known = namespace.status?.conditions?.find((condition) => condition.type === type);
    const lastTransitionTime = known?.status === status ? known.lastTransitionTime : time;
    return { type, status, lastTransitionTime, reason, message };
  });
}
