import t from "tap";
import { MemoryInformer } from "../../../test/harness/memory-informer.ts";
import type { AdmissionRequest } from "../../../plugins/kit/contracts/admission.ts";
import { uninterrupted } from "../../../plugins/kit/base/call.ts";
import type { KubeObject } from "../../../plugins/kit/kube/objects/types.ts";
import { bootstrapPolicy, reconcileBootstrapPolicy, toppedUp } from "./bootstrap-policy.ts";
import { escalationGuard } from "./escalation.ts";
import { type ClusterRole, type PolicyRule, type Role, type RoleBinding, rbacVersion } from "./objects.ts";
import { RuleResolver } from "./resolver.ts";
import { rule } from "./rule.ts";
import { Fault } from "../../../plugins/kit/base/fault.ts";

const podReader = rule("get,list", "core", "pods");
const role = (rules: PolicyRule[], name = "r"): ClusterRole => ({
  apiVersion: rbacVersion,
  kind: "ClusterRole",
  metadata: { name },
  rules,
});

function guardFor(held: PolicyRule[], verbs: string[] = []) {
  const resolver = new RuleResolver({
    clusterRoles: new MemoryInformer([role(held, "held"), role([rule("*", "*", "*")], "big")]),
    roles: new MemoryInformer<Role>(),
    roleBindings: new MemoryInformer<RoleBinding>(),
    clusterRoleBindings: new MemoryInformer<RoleBinding>([
      {
        apiVersion: rbacVersion,
        kind: "ClusterRoleBinding",
        metadata: { name: "b" },
        roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: "held" },
        subjects: [{ kind: "User", name: "bob" }],
      },
    ]),
  });
  return escalationGuard(resolver, async ({ verb }) => verbs.includes(verb));
}

function request(object: unknown, over: Partial<AdmissionRequest> = {}): AdmissionRequest {
  return {
    operation: "CREATE",
    group: "rbac.authorization.k8s.io",
    version: "v1",
    resource: "clusterroles",
    subresource: "",
    kind: "ClusterRole",
    namespace: "",
    name: "r",
    user: { name: "bob", groups: ["dev"] },
    dryRun: false,
    object: object as KubeObject,
    warn() {},
    ...over,
  };
}

const binding = (roleName: string): RoleBinding => ({
  apiVersion: rbacVersion,
  kind: "ClusterRoleBinding",
  metadata: { name: "b2" },
  roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: roleName },
  subjects: [{ kind: "User", name: "eve" }],
});
const bindingRequest = (roleName: string) => request(binding(roleName), { resource: "clusterrolebindings" });

t.test("escalationGuard() lets a user grant only what they hold", async (t) => {
  const guard = guardFor([podReader]);
  await guard.validate?.(request(role([rule("get", "core", "pods")])), uninterrupted);
  await guard.validate?.(request(role([rule("get", "core", "pods", "one")])), uninterrupted);
  await t.rejects(
    Promise.resolve(guard.validate?.(request(role([rule("delete,get", "core", "pods")])), uninterrupted)),
    {
      code: "forbidden",
      message:
        'clusterroles.rbac.authorization.k8s.io "r" is forbidden: user "bob" (groups=["dev"]) is attempting to grant RBAC permissions not currently held:\n{APIGroups:[""], Resources:["pods"], Verbs:["delete"]}',
    },
  );
  await t.rejects(Promise.resolve(guard.validate?.(bindingRequest("big"), uninterrupted)), { code: "forbidden" });
  await guard.validate?.(bindingRequest("held"), uninterrupted);
});

t.test("escalationGuard() honours escalate, bind and system:masters, and unchanged rules", async (t) => {
  const big = role([rule("*", "*", "*")]);
  await guardFor([podReader], ["escalate"]).validate?.(request(big), uninterrupted);
  await guardFor([podReader], ["bind"]).validate?.(bindingRequest("big"), uninterrupted);
  const masters = { name: "root", groups: ["system:masters"] };
  await guardFor([]).validate?.(request(big, { user: masters }), uninterrupted);
  const unchanged = request(big, { operation: "UPDATE", oldObject: structuredClone(big) as unknown as KubeObject });
  await guardFor([]).validate?.(unchanged, uninterrupted);
  const aggregating = { ...role([]), aggregationRule: { clusterRoleSelectors: [] } };
  await t.rejects(Promise.resolve(guardFor([podReader]).validate?.(request(aggregating), uninterrupted)), {
    message: /must have cluster-admin privileges to use an aggregationRule/,
  });
});

t.test(
  "escalationGuard() takes a label on a role for handing it out, and finalizers and owners for nothing",
  async (t) => {
    const big = role([rule("*", "*", "*")]);
    const update = (object: object, resource: string, oldObject: object) =>
      guardFor([podReader]).validate?.(
        request(object, { operation: "UPDATE", resource, oldObject: oldObject as KubeObject }),
        uninterrupted,
      );
    const aggregated = { ...big.metadata, labels: { "rbac.authorization.k8s.io/aggregate-to-edit": "true" } };
    await t.rejects(Promise.resolve(update({ ...big, metadata: aggregated }, "clusterroles", big)), {
      code: "forbidden",
    });
    await t.rejects(
      Promise.resolve(update({ ...binding("big"), metadata: aggregated }, "clusterrolebindings", binding("big"))),
      { code: "forbidden" },
    );
    const released = { ...big.metadata, finalizers: ["example.com/hold"], ownerReferences: [], resourceVersion: "2" };
    await update({ ...big, metadata: released }, "clusterroles", big);
  },
);

t.test("toppedUp() adds what is missing, keeps what a user added, and respects autoupdate", async (t) => {
  const wanted = bootstrapPolicy().find((object) => object.metadata.name === "system:basic-user") as ClusterRole;
  t.equal(toppedUp(structuredClone(wanted), wanted), undefined);
  const edited = structuredClone(wanted);
  edited.rules = [podReader];
  const next = toppedUp(edited, wanted) as ClusterRole;
  t.same(next.rules?.[0], podReader);
  t.ok(next.rules?.some((each) => each.resources?.includes("selfsubjectreviews")));
  edited.metadata.annotations = { "rbac.authorization.kubernetes.io/autoupdate": "false" };
  t.equal(toppedUp(edited, wanted), undefined);
});

t.test("reconcileBootstrapPolicy() makes everything once and survives lost races", async (t) => {
  const stored = new Map<string, object>();
  let conflicts = 1;
  const client = {
    async get<T>(ref: { plural: string }, at: { namespace?: string; name: string }): Promise<T> {
      const found = stored.get(`${ref.plural}/${at.namespace ?? ""}/${at.name}`);
      if (!found) throw new Fault("not-found", "no");
      return structuredClone(found) as T;
    },
    async create<T>(ref: { plural: string }, object: object): Promise<T> {
      const { name, namespace } = (object as Role).metadata;
      stored.set(`${ref.plural}/${namespace ?? ""}/${name}`, object);
      return object as T;
    },
    async update<T>(ref: { plural: string }, object: object): Promise<T> {
      if (conflicts-- > 0) throw new Fault("conflict", "late");
      return this.create<T>(ref, object);
    },
    async delete() {},
  };
  await reconcileBootstrapPolicy(client, uninterrupted);
  t.equal(stored.size, bootstrapPolicy().length);
  const discovery = stored.get("clusterroles//system:discovery") as ClusterRole;
  const complete = discovery.rules;
  stored.set("clusterroles//system:discovery", { ...discovery, rules: [] });
  await reconcileBootstrapPolicy(client, uninterrupted);
  t.equal(
    (stored.get("clusterroles//system:discovery") as ClusterRole).rules?.length,
    complete?.[0]?.nonResourceURLs?.length,
  );
});

t.test("escalationGuard() refuses a role of 300 verbs, groups and resources with a short message", async (t) => {
  const many = (prefix: string) => Array.from({ length: 300 }, (_, n) => `${prefix}${n}`);
  const large = role([{ verbs: many("v"), apiGroups: many("g"), resources: many("r") }]);
  const refused = await Promise.resolve(guardFor([podReader]).validate?.(request(large), uninterrupted)).catch(
    (error: Fault) => error,
  );
  t.match(refused, { code: "forbidden", message: /not currently held:\n[^]{1,9000}\n\.\.\. and more$/ });
});
