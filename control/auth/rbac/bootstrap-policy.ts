// Makes the roles and bindings every cluster starts with, and tops them up at each start: what is missing is added,
// what a user added stays, and an object whose autoupdate annotation is not "true" is left alone.

import type { Call } from "../../../plugins/kit/base/call.ts";
import { isFault } from "../../../plugins/kit/base/fault.ts";
import type { ObjectClient } from "../object-client.ts";
import { controllerRoles } from "./bootstrap-controllers.ts";
import { namespacedBootstrapRoles } from "./bootstrap-namespaced.ts";
import { bootstrapClusterRoleBindings, bootstrapClusterRoles, retiredClusterRoles } from "./bootstrap-roles.ts";
import { coverageOf } from "./covers.ts";
import { type ClusterRole, type Role, type RoleBinding, type Subject, rbacGroup, rbacVersion } from "./objects.ts";

const autoUpdateAnnotation = "rbac.authorization.kubernetes.io/autoupdate";

type PolicyObject = ClusterRole | Role | RoleBinding;

const meta = (name: string, extra: { namespace?: string; labels?: Record<string, string> } = {}) => ({
  name,
  ...(extra.namespace ? { namespace: extra.namespace } : {}),
  annotations: { [autoUpdateAnnotation]: "true" },
  labels: { "kubernetes.io/bootstrapping": "rbac-defaults", ...extra.labels },
});

/** `u:` user, `g:` group, `s:namespace/name` service account. */
function subjectOf(text: string): Subject {
  const name = text.slice(2);
  if (text.startsWith("g:")) return { apiGroup: rbacGroup, kind: "Group", name };
  if (text.startsWith("u:")) return { apiGroup: rbacGroup, kind: "User", name };
  const slash = name.indexOf("/");
  return { kind: "ServiceAccount", name: name.slice(slash + 1), namespace: name.slice(0, slash) };
}

/** Every object of the bootstrap policy, roles before the bindings that name them. */
export function bootstrapPolicy(): PolicyObject[] {
  const objects: PolicyObject[] = [];
  for (const { name, rules, labels, aggregates } of bootstrapClusterRoles()) {
    objects.push({
      apiVersion: rbacVersion,
      kind: "ClusterRole",
      metadata: meta(name, labels ? { labels } : {}),
      ...(aggregates
        ? {
            aggregationRule: {
              clusterRoleSelectors: [{ matchLabels: { [`${rbacGroup}/aggregate-to-${aggregates}`]: "true" } }],
            },
          }
        : {}),
      rules,
    });
  }
  const bindings: RoleBinding[] = [];
  const bind = (name: string, role: string, subjects: readonly string[]) =>
    bindings.push({
      apiVersion: rbacVersion,
      kind: "ClusterRoleBinding",
      metadata: meta(name),
      roleRef: { apiGroup: rbacGroup, kind: "ClusterRole", name: role },
      subjects: subjects.map(subjectOf),
    });
  for (const [name, { role, subjects }] of Object.entries(bootstrapClusterRoleBindings))
    bind(name, role ?? name, subjects);
  for (const [account, rules] of Object.entries(controllerRoles())) {
    const name = `system:controller:${account}`;
    objects.push({ apiVersion: rbacVersion, kind: "ClusterRole", metadata: meta(name), rules });
    bind(name, name, [`s:kube-system/${account}`]);
  }
  for (const { namespace, name, rules, boundTo, binding = name } of namespacedBootstrapRoles()) {
    objects.push({ apiVersion: rbacVersion, kind: "Role", metadata: meta(name, { namespace }), rules });
    bindings.push({
      apiVersion: rbacVersion,
      kind: "RoleBinding",
      metadata: meta(binding, { namespace }),
      roleRef: { apiGroup: rbacGroup, kind: "Role", name },
      subjects: boundTo.map(subjectOf),
    });
  }
  return [...objects, ...bindings];
}

/** What the stored object must become; undefined when it is good as it is. Pure. */
export function toppedUp(stored: PolicyObject, wanted: PolicyObject): PolicyObject | undefined {
  if (stored.metadata.annotations?.[autoUpdateAnnotation] !== "true") return undefined;
  const next = structuredClone(stored);
  next.metadata.labels = { ...stored.metadata.labels, ...wanted.metadata.labels };
  if ("roleRef" in wanted && "roleRef" in next) {
    const has = new Set((next.subjects ?? []).map(subjectIdentity));
    const missing = (wanted.subjects ?? []).filter((subject) => !has.has(subjectIdentity(subject)));
    if (missing.length > 0) next.subjects = [...(next.subjects ?? []), ...missing];
  } else if ("aggregationRule" in wanted && wanted.aggregationRule && !("roleRef" in next)) {
    // The rules of an aggregated role belong to the aggregation controller.
    const role = next as ClusterRole;
    const has = new Set((role.aggregationRule?.clusterRoleSelectors ?? []).map((each) => JSON.stringify(each)));
    const missing = (wanted.aggregationRule.clusterRoleSelectors ?? []).filter(
      (each) => !has.has(JSON.stringify(each)),
    );
    if (missing.length > 0) {
      role.aggregationRule = {
        clusterRoleSelectors: [...(role.aggregationRule?.clusterRoleSelectors ?? []), ...missing],
      };
    }
  } else if (!("roleRef" in next) && !("roleRef" in wanted)) {
    const { missing } = coverageOf(next.rules ?? [], wanted.rules ?? []);
    if (missing.length > 0) next.rules = [...(next.rules ?? []), ...missing];
  }
  return JSON.stringify(next) === JSON.stringify(stored) ? undefined : next;
}

function subjectIdentity({ kind, name, namespace }: Subject): string {
  return `${kind}/${namespace ?? ""}/${name}`;
}

const plurals: Record<string, string> = {
  ClusterRole: "clusterroles",
  ClusterRoleBinding: "clusterrolebindings",
  Role: "roles",
  RoleBinding: "rolebindings",
};

/** Brings the whole policy up to date; safe to run from several servers at once and at every start. */
export async function reconcileBootstrapPolicy(client: ObjectClient, call: Call): Promise<void> {
  for (const wanted of bootstrapPolicy()) await reconcileOne(client, wanted, call);
  for (const name of retiredClusterRoles)
    for (const kind of ["ClusterRoleBinding", "ClusterRole"]) await retire(client, kind, name, call);
}

/** Takes away what earlier versions made, unless somebody made it their own. */
async function retire(client: ObjectClient, kind: string, name: string, call: Call): Promise<void> {
  const ref = { group: rbacGroup, version: "v1", plural: plurals[kind] ?? "", kind, namespaced: false };
  try {
    const { metadata } = await client.get<PolicyObject>(ref, { name }, call);
    if (metadata.annotations?.[autoUpdateAnnotation] === "true") await client.delete(ref, { name }, call);
  } catch (error) {
    if (!isFault(error, "not-found")) throw error;
  }
}

async function reconcileOne(client: ObjectClient, wanted: PolicyObject, call: Call): Promise<void> {
  const { name = "", namespace } = wanted.metadata;
  const namespaced = namespace !== undefined;
  const ref = { group: rbacGroup, version: "v1", plural: plurals[wanted.kind] ?? "", kind: wanted.kind, namespaced };
  const at = { name, ...(namespaced ? { namespace } : {}) };
  for (;;) {
    call.signal.throwIfAborted();
    try {
      const stored = await client.get<PolicyObject>(ref, at, call);
      const isRebound =
        "roleRef" in stored && "roleRef" in wanted && JSON.stringify(stored.roleRef) !== JSON.stringify(wanted.roleRef);
      if (isRebound && stored.metadata.annotations?.[autoUpdateAnnotation] === "true") {
        // A binding's role cannot be changed in place.
        await client.delete(ref, at, call);
        continue;
      }
      const next = toppedUp(stored, wanted);
      if (next) await client.update(ref, next, call);
      return;
    } catch (error) {
      if (isFault(error, "conflict")) continue;
      if (!isFault(error, "not-found")) throw error;
    }
    try {
      await client.create(ref, wanted, call);
      return;
    } catch (error) {
      // Another server made it in between: look again.
      if (!isFault(error, "already-exists")) throw error;
    }
  }
}
