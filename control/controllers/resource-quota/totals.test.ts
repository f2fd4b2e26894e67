import t from "tap";
import type { GroupResource } from "../../../plugins/kit/cluster-view.ts";
import type { KubeObject } from "../../../plugins/kit/objects/types.ts";
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
  ];
  const list = ({ plural }: GroupResource) => (plural === "pods" ? pods : []);
  t.same(usedBy(quota(["pods", "requests.cpu", "count/pods", "secrets"]), list), {
    pods: "3",
    "requests.cpu": "1500m",
    "count/pods": "4",
    secrets: "0",
  });
  t.same(usedBy(quota(["pods"], { scopes: ["BestEffort"] }), list), { pods: "1" });
  t.same(usedBy(quota(["pods"], { scopes: ["NotBestEffort"] }), list), { pods: "2" });
});
