// What the admission steps do to real writes: the assembled control plane, asked by the real kubectl.

import t from "tap";
import { systemUser } from "../../control/auth/assemble.ts";
import { uninterrupted as call } from "../../plugins/kit/base/call.ts";
import { ApiClient } from "../../plugins/kit/kube/client/api-client.ts";
import { systemClock } from "../../plugins/kit/base/clock.ts";
import { resources } from "../../plugins/kit/kube/objects/resources.ts";
import type { ResourceQuota } from "../../plugins/kit/quota/scopes.ts";
import { startControl, until } from "../harness/control.ts";
import { kubectlFor, withKubectl as only } from "../harness/control-kubectl.ts";

const started = await startControl();
t.teardown(() => started.close());
const kubectl = kubectlFor(started);

t.test(
  "a pod gets its account, token volume, tolerations and priority; quota and PodSecurity refuse",
  only,
  async (t) => {
    await kubectl("create", "namespace", "held");
    const pod = (name: string, spec: object = {}) => ({
      apiVersion: "v1",
      kind: "Pod",
      metadata: { name, namespace: "held" },
      spec: { containers: [{ name: "a", image: "i" }], ...spec },
    });
    t.match(await kubectl.create(pod("one")), /pod\/one created/);
    const stored = JSON.parse(await kubectl("get", "pod", "one", "-n", "held", "-o", "json"));
    t.equal(stored.spec.serviceAccountName, "default");
    t.match(stored.spec.volumes[0].name, /^kube-api-access-/);
    t.equal(stored.spec.tolerations.length, 2);
    t.equal(stored.spec.priority, 0);
    t.match(await kubectl("get", "priorityclass", "-o", "name"), /system-node-critical/);
    await kubectl("label", "namespace", "held", "pod-security.kubernetes.io/enforce=baseline");
    t.match(
      await kubectl.create(pod("two", { hostNetwork: true })),
      /violates PodSecurity "baseline:latest": host namespaces \(hostNetwork=true\)/,
    );
    t.match(
      await kubectl.create({ ...pod("x"), metadata: { name: "x", namespace: "nowhere" } }),
      /namespaces "nowhere" not found/,
    );
  },
);

t.test("a pod without containers is told so, whatever steps look at it first", async (t) => {
  const client = new ApiClient({ fetch: started.control.fetchAs(systemUser), clock: systemClock });
  const named = (name: string, namespace = "") => ({ metadata: { name, ...(namespace ? { namespace } : {}) } });
  await client.create(resources.namespaces, named("empty"), call);
  const limits = [{ type: "Container", default: { cpu: "1" } }];
  await client.request(
    "/api/v1/namespaces/empty/limitranges",
    { method: "POST", body: JSON.stringify({ ...named("l"), spec: { limits } }) },
    call,
  );
  const account = { namespace: "empty", name: "default" };
  await until(() => client.get(resources.serviceaccounts, account, call).then(Boolean, () => false));
  for (const spec of [{ schedulerName: "x" }, { containers: null }, { containers: [] }]) {
    await t.rejects(client.create(resources.pods, { ...named("p", "empty"), spec } as never, call), {
      code: "invalid",
      message: /spec\.containers: Required value/,
    });
  }
});

t.test("a quota is kept, charged by creates and given back by deletes", only, async (t) => {
  await kubectl("create", "namespace", "small");
  await kubectl("create", "quota", "q", "--hard=configmaps=3,pods=1", "-n", "small");
  const used = (what: string) => kubectl("get", "quota", "q", "-n", "small", "-o", `jsonpath={.status.used.${what}}`);
  await until(async () => (await used("configmaps")) === "1");
  t.match(await kubectl("create", "configmap", "a", "-n", "small"), /created/);
  t.match(await kubectl("create", "configmap", "b", "-n", "small"), /created/);
  t.match(
    await kubectl("create", "configmap", "c", "-n", "small"),
    /exceeded quota: q, requested: configmaps=1, used: configmaps=3, limited: configmaps=3/,
  );
  await kubectl("delete", "configmap", "a", "-n", "small");
  await until(async () => (await used("configmaps")) === "2");
  t.match(await kubectl("create", "configmap", "c", "-n", "small"), /created/);
});

t.test("policies in CEL are enforced as soon as they are there", only, async (t) => {
  const group = "admissionregistration.k8s.io/v1";
  const rules = [{ operations: ["CREATE"], apiGroups: [""], apiVersions: ["v1"], resources: ["configmaps"] }];
  const policy = {
    apiVersion: group,
    kind: "ValidatingAdmissionPolicy",
    metadata: { name: "named" },
    spec: {
      matchConstraints: { resourceRules: rules },
      validations: [{ expression: "object.metadata.name.startsWith('ok-') || request.namespace != 'default'" }],
    },
  };
  t.match(await kubectl.create(policy), /created/);
  t.match(
    await kubectl.create({
      apiVersion: group,
      kind: "ValidatingAdmissionPolicyBinding",
      metadata: { name: "named" },
      spec: { policyName: "named", validationActions: ["Deny"] },
    }),
    /created/,
  );
  await until(async () => /denied request: failed expression/.test(await kubectl("create", "configmap", "bad")));
  t.match(await kubectl("create", "configmap", "ok-1"), /created/);
});

t.test("the namespaces everything rests on cannot be deleted", only, async (t) => {
  t.match(
    await kubectl("delete", "namespace", "kube-system"),
    /namespaces "kube-system" is forbidden: this namespace may not be deleted/,
  );
  t.match(await kubectl("get", "namespace", "kube-system", "-o", "jsonpath={.status.phase}"), /^Active$/);
});

t.test("forty creates at once take exactly the places that a quota has left", async (t) => {
  const client = new ApiClient({ fetch: started.control.fetchAs(systemUser), clock: systemClock });
  const namespace = "crowd";
  await client.create(
    resources.namespaces,
    { apiVersion: "v1", kind: "Namespace", metadata: { name: namespace } },
    call,
  );
  const hard = { secrets: "10" };
  const quota = { apiVersion: "v1", kind: "ResourceQuota", metadata: { name: "q", namespace }, spec: { hard } };
  await client.create(resources.resourcequotas, quota, call, { namespace });
  const used = async () =>
    (await client.get<ResourceQuota>(resources.resourcequotas, { namespace, name: "q" }, call)).status?.used?.secrets;
  await until(async () => (await used()) === "0");
  const outcomes = await Promise.allSettled(
    Array.from({ length: 40 }, (_, index) =>
      client.create(
        resources.secrets,
        { apiVersion: "v1", kind: "Secret", metadata: { name: `s${index}`, namespace } },
        call,
        { namespace },
      ),
    ),
  );
  t.equal(outcomes.filter(({ status }) => status === "fulfilled").length, 10);
  t.equal((await client.list(resources.secrets, { namespace }, call)).items.length, 10);
  t.equal(await used(), "10");
  const refusals = outcomes.flatMap((each) => (each.status === "rejected" ? [String(each.reason)] : []));
  t.ok(
    refusals.every((text) => text.includes("exceeded quota: q")),
    String(refusals[0]),
  );
});
