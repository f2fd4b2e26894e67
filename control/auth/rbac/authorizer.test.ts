import t from "tap";
import { MemoryInformer } from "../../../test/harness/memory-informer.ts";
import { uninterrupted } from "../../../plugins/kit/base/call.ts";
import { aggregatedRules } from "./aggregation.ts";
import { describeRefusal, rbacAuthorizer } from "./authorizer.ts";
import { bootstrapPolicy } from "./bootstrap-policy.ts";
import type { ClusterRole, Role, RoleBinding } from "./objects.ts";
import { RuleResolver } from "./resolver.ts";

const byLabels = (selector: { matchLabels?: Record<string, string> }, labels: Record<string, string> | undefined) =>
  Object.entries(selector.matchLabels ?? {}).every(([key, value]) => labels?.[key] === value);

/** The policy of a fresh cluster, aggregation done, with a few bindings of its own. */
function freshCluster() {
  const objects = bootstrapPolicy();
  const clusterRoles = objects.filter((object) => object.kind === "ClusterRole") as ClusterRole[];
  for (let round = 0; round < 3; round++) {
    for (const role of clusterRoles) role.rules = aggregatedRules(role, clusterRoles, byLabels) ?? role.rules ?? [];
  }
  const bind = (name: string, role: string, subject: object, namespace = "shop"): RoleBinding => ({
    apiVersion: "rbac.authorization.k8s.io/v1",
    kind: "RoleBinding",
    metadata: { name, namespace },
    roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: role },
    subjects: [subject as { kind: string; name: string }],
  });
  const views = {
    clusterRoles: new MemoryInformer(clusterRoles),
    roles: new MemoryInformer(objects.filter((object) => object.kind === "Role") as Role[]),
    clusterRoleBindings: new MemoryInformer(
      objects.filter((object) => object.kind === "ClusterRoleBinding") as RoleBinding[],
    ),
    roleBindings: new MemoryInformer<RoleBinding>([
      ...(objects.filter((object) => object.kind === "RoleBinding") as RoleBinding[]),
      bind("viewers", "view", { kind: "User", name: "vera" }),
      bind("editors", "edit", { kind: "Group", name: "shop-team" }),
      bind("admins", "admin", { kind: "ServiceAccount", name: "robot" }),
      bind("lost", "no-such-role", { kind: "User", name: "lost" }),
    ]),
  };
  const resolver = new RuleResolver(views);
  return { views, resolver, authorizer: rbacAuthorizer(resolver) };
}

const all = "system:authenticated";
const people = {
  admin: { name: "kubernetes-admin", groups: ["system:masters", all] },
  vera: { name: "vera", groups: [all] },
  eddi: { name: "eddi", groups: ["shop-team", all] },
  robot: { name: "system:serviceaccount:shop:robot", groups: ["system:serviceaccounts", all] },
  nobody: { name: "system:anonymous", groups: ["system:unauthenticated"] },
  scheduler: { name: "system:kube-scheduler", groups: [all] },
  jobs: { name: "system:serviceaccount:kube-system:job-controller", groups: ["system:serviceaccounts", all] },
  sets: { name: "system:serviceaccount:kube-system:statefulset-controller", groups: ["system:serviceaccounts", all] },
  volumes: {
    name: "system:serviceaccount:kube-system:persistent-volume-binder",
    groups: ["system:serviceaccounts", all],
  },
  growing: { name: "system:serviceaccount:kube-system:expand-controller", groups: ["system:serviceaccounts", all] },
  server: { name: "kube-apiserver-kubelet-client", groups: [all] },
  joining: { name: "system:bootstrap:abcdef", groups: ["system:bootstrappers:skiff:default-node-token", all] },
  node: { name: "system:node:pi", groups: ["system:nodes", all] },
} as const;

// who | verb | resource (group/plural/sub) or path | namespace | allowed
const matrix: [keyof typeof people, string, string, string, boolean][] = [
  ["admin", "delete", "core/nodes", "", true],
  ["admin", "get", "/metrics", "", true],
  ["admin", "frobnicate", "any.group/things", "shop", true],
  ["vera", "get", "core/pods", "shop", true],
  ["vera", "watch", "apps/deployments", "shop", true],
  ["vera", "get", "core/pods/log", "shop", true],
  ["vera", "get", "core/secrets", "shop", false],
  ["vera", "create", "core/pods", "shop", false],
  ["vera", "create", "core/pods/exec", "shop", false],
  ["vera", "get", "core/pods", "other", false],
  ["vera", "list", "core/pods", "", false],
  ["vera", "get", "rbac.authorization.k8s.io/roles", "shop", false],
  ["vera", "create", "authorization.k8s.io/selfsubjectaccessreviews", "", true],
  ["vera", "get", "/api/v1", "", true],
  ["vera", "get", "/openapi/v3", "", true],
  ["vera", "get", "/metrics", "", false],
  ["eddi", "create", "core/pods", "shop", true],
  ["eddi", "get", "core/secrets", "shop", true],
  ["eddi", "create", "core/pods/exec", "shop", true],
  ["eddi", "create", "core/serviceaccounts/token", "shop", true],
  ["eddi", "impersonate", "core/serviceaccounts", "shop", true],
  ["eddi", "create", "rbac.authorization.k8s.io/rolebindings", "shop", false],
  ["eddi", "update", "core/resourcequotas", "shop", false],
  ["eddi", "deletecollection", "batch/jobs", "shop", true],
  ["eddi", "update", "core/pods/status", "shop", false],
  ["robot", "create", "rbac.authorization.k8s.io/rolebindings", "shop", true],
  ["robot", "create", "rbac.authorization.k8s.io/clusterrolebindings", "", false],
  ["robot", "create", "core/namespaces", "", false],
  ["robot", "get", "core/namespaces", "shop", true],
  ["robot", "get", "/openid/v1/jwks", "", true],
  ["nobody", "get", "/version", "", true],
  ["nobody", "get", "/healthz", "", true],
  ["nobody", "get", "/api", "", false],
  ["nobody", "get", "core/pods", "shop", false],
  ["scheduler", "create", "core/pods/binding", "shop", true],
  ["scheduler", "create", "core/pods", "shop", false],
  ["scheduler", "get", "core/secrets", "shop", false],
  ["jobs", "create", "core/pods", "shop", true],
  ["jobs", "update", "batch/jobs/status", "shop", true],
  ["jobs", "get", "core/secrets", "shop", false],
  ["scheduler", "update", "core/persistentvolumes", "", true],
  ["scheduler", "watch", "core/secrets", "", false],
  ["sets", "update", "core/pods/finalizers", "shop", true],
  ["sets", "watch", "core/persistentvolumeclaims", "shop", true],
  ["volumes", "update", "core/persistentvolumes", "", true],
  ["volumes", "get", "core/secrets", "shop", false],
  ["volumes", "create", "core/services", "shop", false],
  ["growing", "patch", "core/persistentvolumeclaims/status", "shop", true],
  ["growing", "get", "core/secrets", "shop", false],
  ["server", "create", "core/nodes/proxy", "", true],
  ["server", "create", "core/nodes/checkpoint", "", true],
  ["server", "get", "core/secrets", "shop", false],
  ["joining", "create", "certificates.k8s.io/certificatesigningrequests", "", true],
  ["joining", "create", "certificates.k8s.io/certificatesigningrequests/nodeclient", "", true],
  ["joining", "get", "core/nodes", "", false],
  ["node", "create", "certificates.k8s.io/certificatesigningrequests/selfnodeclient", "", true],
  ["node", "get", "core/secrets", "shop", false],
];

function questionOf(verb: string, what: string, namespace: string) {
  if (what.startsWith("/")) return { verb, path: what };
  const [group = "", plural = "", subresource = ""] = what.split("/");
  const place = { version: "v1", plural, subresource, namespace, name: "" };
  return { verb, resource: { group: group === "core" ? "" : group, ...place } };
}

t.test("rbacAuthorizer() answers the matrix of who, verb and resource on a fresh cluster", async (t) => {
  const { authorizer } = freshCluster();
  for (const [who, verb, what, namespace, isAllowed] of matrix) {
    const asked = { user: people[who], ...questionOf(verb, what, namespace) };
    const { answer, reason } = await authorizer.authorize(asked, uninterrupted);
    t.equal(answer, isAllowed ? "allow" : "no-opinion", `${who} ${verb} ${what} in "${namespace}": ${reason}`);
  }
});

t.test("rbacAuthorizer() names the binding, role and subject that allow", async (t) => {
  const { authorizer } = freshCluster();
  const ask = (user: (typeof people)[keyof typeof people]) =>
    authorizer.authorize({ user, ...questionOf("get", "core/pods", "shop") }, uninterrupted);
  t.equal(
    (await ask(people.admin)).reason,
    'RBAC: allowed by ClusterRoleBinding "cluster-admin" of ClusterRole "cluster-admin" to Group "system:masters"',
  );
  t.equal(
    (await ask(people.robot)).reason,
    'RBAC: allowed by RoleBinding "admins/shop" of ClusterRole "admin" to ServiceAccount "robot/shop"',
  );
});

t.test("rbacAuthorizer() tells of a role that nobody made, and sees it once made", async (t) => {
  const { authorizer, views } = freshCluster();
  const lost = { user: { name: "lost", groups: [] }, ...questionOf("get", "core/pods", "shop") };
  const before = await authorizer.authorize(lost, uninterrupted);
  t.match(before, { answer: "no-opinion", reason: /clusterrole.rbac.authorization.k8s.io "no-such-role" not found/ });
  views.clusterRoles.put({
    apiVersion: "rbac.authorization.k8s.io/v1",
    kind: "ClusterRole",
    metadata: { name: "no-such-role" },
    rules: [{ verbs: ["get"], apiGroups: [""], resources: ["pods"], resourceNames: ["one"] }],
  });
  t.equal((await authorizer.authorize(lost, uninterrupted)).answer, "no-opinion", "another name");
  const named = { ...lost, resource: { ...questionOf("get", "core/pods", "shop").resource!, name: "one" } };
  t.equal((await authorizer.authorize(named, uninterrupted)).answer, "allow", "the name of the rule");
});

t.test("describeRefusal() words a refusal as upstream does", async (t) => {
  const { group: _, ...rest } = questionOf("list", "core/pods", "shop").resource!;
  t.equal(
    describeRefusal({ user: people.vera, verb: "list", resource: { group: "", ...rest } }, ""),
    'User "vera" cannot list resource "pods" in API group "" in the namespace "shop"',
  );
  t.equal(describeRefusal({ user: people.vera, verb: "get", path: "/x" }, ""), 'User "vera" cannot get path "/x"');
});

t.test("rbacAuthorizer() never takes one user for another, whatever their names hold", async (t) => {
  const { authorizer } = freshCluster();
  const ask = (name: string, groups: string[], namespace: string) =>
    authorizer.authorize(
      {
        user: { name, groups },
        verb: "create",
        resource: { group: "", version: "v1", plural: "pods", subresource: "", namespace, name: "" },
      },
      uninterrupted,
    );
  t.equal((await ask("eve", ["shop-team", all], "shop")).answer, "allow");
  t.equal((await ask("eve\0shop-team", [all], "shop")).answer, "no-opinion");
  t.equal((await ask("shop-team", [all], "shop\0eve")).answer, "no-opinion");
});
