// Evictions and disruption budgets.

import t from "tap";
import { startApi, type TestApi } from "../../test/harness/api-server.ts";

const pods = "/api/v1/namespaces/default/pods";
const budgets = "/apis/policy/v1/namespaces/default/poddisruptionbudgets";
const merge = { "content-type": "application/merge-patch+json" };

async function runningPod(api: TestApi, name: string): Promise<void> {
  await api.ask("POST", pods, {
    metadata: { name, labels: { app: "web" } },
    spec: { containers: [{ name: "c", image: "i" }] },
  });
  const status = { phase: "Running", conditions: [{ type: "Ready", status: "True" }] };
  await api.ask("PATCH", `${pods}/${name}/status`, { status }, merge);
}

const evict = (api: TestApi, name: string) =>
  api.ask("POST", `${pods}/${name}/eviction`, { apiVersion: "policy/v1", kind: "Eviction", metadata: { name } });

t.test("podEviction deletes a pod that no budget speaks of", async (t) => {
  const api = await startApi();
  t.teardown(() => api.close());
  await runningPod(api, "a");
  t.equal((await evict(api, "a")).status, 201);
  t.equal((await api.ask("GET", `${pods}/a`)).status, 404);
  t.equal((await evict(api, "a")).status, 404);
});

t.test("podEviction spends the budget and then answers 429", async (t) => {
  const api = await startApi();
  t.teardown(() => api.close());
  await runningPod(api, "a");
  await runningPod(api, "b");
  await api.ask("POST", budgets, {
    metadata: { name: "keep" },
    spec: { minAvailable: 1, selector: { matchLabels: { app: "web" } } },
  });
  const early = await evict(api, "a");
  t.equal(early.status, 429, "nobody has counted yet");
  const status = {
    disruptionsAllowed: 1,
    currentHealthy: 2,
    desiredHealthy: 1,
    expectedPods: 2,
    observedGeneration: 1,
  };
  await api.ask("PATCH", `${budgets}/keep/status`, { status }, merge);
  t.equal((await evict(api, "a")).status, 201);
  const refused = await evict(api, "b");
  t.equal(refused.status, 429);
  t.match(refused.body, {
    reason: "TooManyRequests",
    message: "Cannot evict pod as it would violate the pod's disruption budget.",
    details: {
      causes: [
        { reason: "DisruptionBudget", message: "The disruption budget keep needs 1 healthy pods and has 2 currently" },
      ],
    },
  });
  const budget = (await api.ask("GET", `${budgets}/keep`)).body;
  t.equal(budget.status.disruptionsAllowed, 0);
  t.ok(budget.status.disruptedPods.a);
});

t.test("podEviction lets a pod go that is not running, whatever the budget", async (t) => {
  const api = await startApi();
  t.teardown(() => api.close());
  await runningPod(api, "a");
  await api.ask("PATCH", `${pods}/a/status`, { status: { phase: "Failed" } }, merge);
  await api.ask("POST", budgets, {
    metadata: { name: "keep" },
    spec: { minAvailable: 1, selector: { matchLabels: { app: "web" } } },
  });
  t.equal((await evict(api, "a")).status, 201);
});

t.test("podEviction says on the pod why it goes, and holds to what the caller knew", async (t) => {
  const api = await startApi();
  t.teardown(() => api.close());
  await api.ask("POST", pods, {
    metadata: { name: "a", finalizers: ["example.com/wait"] },
    spec: { nodeName: "n", containers: [{ name: "c", image: "i" }] },
  });
  const status = { phase: "Running", conditions: [{ type: "Ready", status: "True" }] };
  const { body } = await api.ask("PATCH", `${pods}/a/status`, { status }, merge);
  const evictAs = (resourceVersion: string, query = "") =>
    api.ask("POST", `${pods}/a/eviction${query}`, {
      apiVersion: "policy/v1",
      kind: "Eviction",
      metadata: { name: "a" },
      deleteOptions: { preconditions: { resourceVersion } },
    });
  t.equal((await evictAs("1")).status, 409, "another version");
  t.equal((await evictAs(body.metadata.resourceVersion, "?dryRun=All")).status, 201);
  t.same((await api.ask("GET", `${pods}/a`)).body.status.conditions.length, 1, "a dry run leaves no mark");
  t.equal((await evictAs(body.metadata.resourceVersion)).status, 201);
  t.match((await api.ask("GET", `${pods}/a`)).body, {
    metadata: { deletionTimestamp: String },
    status: {
      conditions: [{ type: "Ready" }, { type: "DisruptionTarget", status: "True", reason: "EvictionByEvictionAPI" }],
    },
  });
});
