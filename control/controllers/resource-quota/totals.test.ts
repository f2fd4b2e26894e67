import t from "tap";
import type { GroupResource } from "../../../plugins/kit/kube/cluster-view.ts";
import type { KubeObject } from "../../../plugins/kit/kube/objects/types.ts";
import type { ResourceQuota } from "../../../plugins/kit/quota/scopes.ts";
import { countedResource, usedBy } from "./totals.ts";

const pod = (name: string, cpu: string | undefined, over: object = {}): KubeObject =>
  ({
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name, namespace: "shop" },
    spec: { containers: [{ name: "a", image: "i", resources: cpu ? { requests: { cpu } } : {} }] },
    ...over,
  }) as KubeObject;
const quota = (hard: string[], spec: object = {}): ResourceQuota => ({
  apiVersion: "v1",
  kind: "ResourceQuota",
  metadata: { name: "q", namespace: "shop" },
  spec: { hard: Object.fromEntries(hard.map((name) => [name, "100"])), ...spec },
});

/** On its way out, with half a minute after that moment. */
const leavingBy = (deletionTimestamp: string) => ({
  name: "p",
  namespace: "shop",
  deletionTimestamp,
  deletionGracePeriodSeconds: 30,
});

t.test("countedResource() knows what stands behind each name", async (t) => {
  const rows: [string, string][] = [
    ["pods", "/pods"],
    ["requests.cpu", "/pods"],
    ["limits.memory", "/pods"],
    ["count/deployments.apps", "apps/deployments"],
    ["count/configmaps", "/configmaps"],
    ["count/widgets.example.com", "example.com/widgets"],
    ["secrets", "/secrets"],
    ["services.nodeports", "/services"],
    ["requests.storage", "/persistentvolumeclaims"],
    ["gold.storageclass.storage.k8s.io/requests.storage", "/persistentvolumeclaims"],
  ];
  for (const [name, expected] of rows) {
    const { group, plural } = countedResource(name);
    t.equal(`${group}/${plural}`, expected, name);
  }
});

t.test("usedBy() sums what lives, in scope, and nothing for what is done", async (t) => {
  const pods = [
    pod("a", "500m"),
    pod("b", "1"),
    pod("c", undefined),
    pod("done", "4", { status: { phase: "Succeeded" } }),
    pod("leaving", "2", { metadata: leavingBy("2026-01-01T00:00:30Z") }),
    pod("stuck", "8", { metadata: leavingBy("2026-01-01T00:00:00Z") }),
  ];
  const now = Date.parse("2026-01-01T00:00:31Z");
  const list = ({ plural }: GroupResource) => (plural === "pods" ? pods : []);
  t.same(usedBy(quota(["pods", "requests.cpu", "count/pods", "secrets"]), list, now), {
    pods: "4",
    "requests.cpu": "3500m",
    "count/pods": "6",
    secrets: "0",
  });
  t.same(usedBy(quota(["pods"], { scopes: ["BestEffort"] }), list, now), { pods: "1" });
  t.same(usedBy(quota(["pods"], { scopes: ["NotBestEffort"] }), list, now), { pods: "3" });
});

t.test("usedBy() holds to every kind of scope", async (t) => {
  const term = { topologyKey: "zone", labelSelector: {} };
  const affinity = (more: object) => ({
    podAffinity: { requiredDuringSchedulingIgnoredDuringExecution: [{ ...term, ...more }] },
  });
  const containers = [{ name: "a", image: "i", resources: { requests: { cpu: "1" } } }];
  const pods = [
    pod("short", "1", { spec: { containers, activeDeadlineSeconds: 0 } }),
    pod("high", "1", { spec: { containers, priorityClassName: "high" } }),
    pod("low", "1", { spec: { containers, priorityClassName: "low" } }),
    pod("near", "1", { spec: { containers, affinity: affinity({}) } }),
    pod("across", "1", { spec: { containers, affinity: affinity({ namespaces: ["other"] }) } }),
    pod("anywhere", "1", { spec: { containers, affinity: affinity({ namespaceSelector: {} }) } }),
  ];
  const used = (spec: object) =>
    usedBy(quota(["pods"], spec), ({ plural }) => (plural === "pods" ? pods : []), 0)["pods"];
  const expression = (operator: string, values?: string[]) => ({
    scopeSelector: { matchExpressions: [{ scopeName: "PriorityClass", operator, ...(values ? { values } : {}) }] },
  });
  t.equal(used({ scopes: ["Terminating"] }), "1");
  t.equal(used({ scopes: ["NotTerminating"] }), "5");
  t.equal(used({ scopes: ["CrossNamespacePodAffinity"] }), "2");
  t.equal(used(expression("In", ["high", "other"])), "1");
  t.equal(used(expression("NotIn", ["high"])), "5");
  t.equal(used(expression("Exists")), "2");
  t.equal(used(expression("DoesNotExist")), "4");
  t.equal(used({ scopes: ["NotTerminating"], ...expression("Exists") }), "2", "all of them must hold");
  t.same(
    usedBy(quota(["pods", "secrets"], { scopes: ["Terminating"] }), () => pods, 0),
    { pods: "1", secrets: "0" },
  );
});
