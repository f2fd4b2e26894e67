import fc from "fast-check";
import t from "tap";
import { createRequest, openAdmission, podOf } from "../../test/harness/admission.ts";
import type { MemoryClusterView } from "../../test/harness/memory-cluster-view.ts";
import type { KubeObject } from "../kit/kube/objects/types.ts";
import type { ResourceQuota } from "../kit/quota/scopes.ts";
import { resourceQuota } from "./resource-quota.ts";

const quotas = { group: "", plural: "resourcequotas" };

function putQuota(
  view: MemoryClusterView,
  hard: Record<string, string>,
  over: { name?: string; used?: Record<string, string>; spec?: object } = {},
) {
  const used = over.used ?? Object.fromEntries(Object.keys(hard).map((name) => [name, "0"]));
  view.put(quotas, {
    apiVersion: "v1",
    kind: "ResourceQuota",
    metadata: { name: over.name ?? "q", namespace: "shop" },
    spec: { hard, ...over.spec },
    status: { hard, used },
  });
}

const usedOf = (view: MemoryClusterView, name = "q") =>
  (view.informer<ResourceQuota>(quotas).get("shop", name) as ResourceQuota).status?.used;
const pod = (requests: object = {}, spec: object = {}) =>
  podOf({ containers: [{ name: "a", image: "i", resources: { requests } }], ...spec });

t.test("ResourceQuota charges what fits and refuses in upstream's words", async (t) => {
  const { view, admit, close } = await openAdmission([resourceQuota]);
  t.teardown(close);
  await admit(createRequest(pod(), { resource: "pods" }));
  putQuota(view, { pods: "2", "requests.cpu": "1" });
  await t.rejects(admit(createRequest(pod(), { resource: "pods" })), {
    code: "forbidden",
    message: 'pods "web" is forbidden: failed quota: q: must specify requests.cpu for: a',
  });
  await admit(createRequest(pod({ cpu: "600m" }), { resource: "pods" }));
  t.same(usedOf(view), { pods: "1", "requests.cpu": "600m" });
  await t.rejects(admit(createRequest(pod({ cpu: "500m" }), { resource: "pods" })), {
    message:
      'pods "web" is forbidden: exceeded quota: q, requested: requests.cpu=500m, used: requests.cpu=600m, limited: requests.cpu=1',
  });
  await admit(createRequest(pod({ cpu: "100m" }), { resource: "pods", dryRun: true }));
  t.same(usedOf(view), { pods: "1", "requests.cpu": "600m" }, "a dry run costs nothing");
  await admit(createRequest(pod({ cpu: "400m" }), { resource: "pods" }));
  t.same(usedOf(view), { pods: "2", "requests.cpu": "1" });
});

t.test("ResourceQuota counts objects, services, claims and growth", async (t) => {
  const { view, admit, close } = await openAdmission([resourceQuota]);
  t.teardown(close);
  const hard = {
    configmaps: "1",
    "count/deployments.apps": "1",
    services: "5",
    "services.nodeports": "2",
    "requests.storage": "5Gi",
    "gold.storageclass.storage.k8s.io/requests.storage": "2Gi",
  };
  putQuota(view, hard);
  const make = (kind: string, spec: object) =>
    ({ apiVersion: "v1", kind, metadata: { name: "x", namespace: "shop" }, spec }) as KubeObject;
  const create = (kind: string, resource: string, spec: object, group = "") =>
    admit(createRequest(make(kind, spec), { resource, group }));
  await create("ConfigMap", "configmaps", {});
  await t.rejects(create("ConfigMap", "configmaps", {}), {
    message: /exceeded quota: q, requested: configmaps=1, used: configmaps=1, limited: configmaps=1/,
  });
  await create("Deployment", "deployments", {}, "apps");
  await t.rejects(create("Deployment", "deployments", {}, "apps"), { message: /count\/deployments.apps=1/ });
  await create("Service", "services", { type: "NodePort", ports: [{ port: 1 }, { port: 2 }] });
  await t.rejects(create("Service", "services", { type: "NodePort", ports: [{ port: 1 }] }), {
    message: /services.nodeports=1/,
  });
  const claim = (storage: string) => ({ storageClassName: "gold", resources: { requests: { storage } } });
  await create("PersistentVolumeClaim", "persistentvolumeclaims", claim("1Gi"));
  await t.rejects(create("PersistentVolumeClaim", "persistentvolumeclaims", claim("2Gi")), {
    message: /gold.storageclass/,
  });
  const grow = {
    resource: "persistentvolumeclaims",
    operation: "UPDATE" as const,
    oldObject: make("PersistentVolumeClaim", claim("1Gi")),
  };
  await admit(createRequest(make("PersistentVolumeClaim", claim("2Gi")), grow));
  t.match(usedOf(view), { "requests.storage": "2Gi", "gold.storageclass.storage.k8s.io/requests.storage": "2Gi" });
});

t.test("ResourceQuota honours scopes", async (t) => {
  const { view, admit, close } = await openAdmission([resourceQuota]);
  t.teardown(close);
  putQuota(view, { pods: "0" }, { spec: { scopes: ["BestEffort"] } });
  const high = { matchExpressions: [{ scopeName: "PriorityClass", operator: "In", values: ["high"] }] };
  putQuota(view, { pods: "0" }, { name: "high", spec: { scopeSelector: high } });
  putQuota(view, { pods: "0" }, { name: "ending", spec: { scopes: ["Terminating"] } });
  await admit(createRequest(pod({ cpu: "1" }), { resource: "pods" }));
  await t.rejects(admit(createRequest(pod(), { resource: "pods" })), { message: /exceeded quota: q,/ });
  await t.rejects(admit(createRequest(pod({ cpu: "1" }, { priorityClassName: "high" }), { resource: "pods" })), {
    message: /exceeded quota: high/,
  });
  await t.rejects(admit(createRequest(pod({ cpu: "1" }, { activeDeadlineSeconds: 5 }), { resource: "pods" })), {
    message: /exceeded quota: ending/,
  });
});

t.test("ResourceQuota refuses while the use is unknown", async (t) => {
  const { view, admit, close } = await openAdmission([resourceQuota]);
  t.teardown(close);
  putQuota(view, { pods: "5" }, { used: {} });
  await t.rejects(admit(createRequest(pod(), { resource: "pods" })), {
    message: /status unknown for quota: q, resources: pods/,
  });
});

t.test("ResourceQuota never overshoots under concurrent creates, of several servers too", async (t) => {
  await fc.assert(
    fc.asyncProperty(
      fc.integer({ min: 0, max: 8 }),
      fc.integer({ min: 0, max: 3000 }),
      fc.array(fc.integer({ min: 1, max: 900 }), { minLength: 1, maxLength: 24 }),
      async (mostPods, mostMilli, asks) => {
        const first = await openAdmission([resourceQuota]);
        const second = await openAdmission([resourceQuota]);
        // Two servers on one store.
        Object.assign(second.view, {
          informer: first.view.informer.bind(first.view),
          read: first.view.read.bind(first.view),
          updateStatus: first.view.updateStatus.bind(first.view),
        });
        try {
          putQuota(first.view, { pods: String(mostPods), "requests.cpu": `${mostMilli}m` });
          putQuota(first.view, { pods: "7" }, { name: "other" });
          const outcomes = await Promise.allSettled(
            asks.map((milli, index) =>
              (index % 2 === 0 ? first : second).admit(createRequest(pod({ cpu: `${milli}m` }), { resource: "pods" })),
            ),
          );
          const accepted = asks.filter((_, index) => outcomes[index]?.status === "fulfilled");
          const sum = accepted.reduce((total, milli) => total + milli, 0);
          if (accepted.length > Math.min(mostPods, 7) || sum > mostMilli)
            throw new Error(`overshot: ${accepted.length} pods, ${sum}m`);
          if (Number(usedOf(first.view)?.pods) < accepted.length) throw new Error("less charged than accepted");
          const conflicts = outcomes.filter(
            (each) => each.status === "rejected" && !/exceeded quota/.test(String(each.reason)),
          );
          if (conflicts.length > 0) throw new Error(String((conflicts[0] as PromiseRejectedResult).reason));
        } finally {
          await first.close();
          await second.close();
        }
      },
    ),
    { numRuns: 40 },
  );
  t.pass();
});
