import t from "tap";
import { FakeClock } from "../../../plugins/kit/base/clock.ts";
import { resources } from "../../../plugins/kit/kube/objects/resources.ts";
import type { Pod } from "../../../plugins/kit/kube/objects/types.ts";
import { controllerRoom, podTemplate } from "../../../test/harness/controllers.ts";
import type { Budget } from "./objects.ts";
import { budgetStatus } from "./status.ts";

const pod = (name: string, status = "True"): Pod =>
  ({ metadata: { name }, status: { phase: "Running", conditions: [{ type: "Ready", status }] } }) as unknown as Pod;
const pods = (count: number) => Array.from({ length: count }, (_, index) => pod(`p${index}`));

t.test("budgetStatus() allows what the budget leaves", async (t) => {
  const rows: {
    spec: NonNullable<Budget["spec"]>;
    healthy: number;
    expected: number;
    desired: number;
    allowed: number;
  }[] = [
    { spec: { minAvailable: 2 }, healthy: 3, expected: 3, desired: 2, allowed: 1 },
    { spec: { minAvailable: 5 }, healthy: 3, expected: 3, desired: 5, allowed: 0 },
    { spec: { minAvailable: "50%" }, healthy: 3, expected: 3, desired: 2, allowed: 1 },
    { spec: { maxUnavailable: 1 }, healthy: 3, expected: 3, desired: 2, allowed: 1 },
    { spec: { maxUnavailable: "30%" }, healthy: 10, expected: 10, desired: 7, allowed: 3 },
    { spec: { maxUnavailable: 1 }, healthy: 2, expected: 4, desired: 3, allowed: 0 },
    { spec: { maxUnavailable: 1 }, healthy: 0, expected: 0, desired: 0, allowed: 0 },
  ];
  for (const row of rows) {
    const status = budgetStatus({ metadata: {}, spec: row.spec }, pods(row.healthy), row.expected, 0);
    t.match(status, { desiredHealthy: row.desired, disruptionsAllowed: row.allowed }, JSON.stringify(row));
  }
  const taken: Budget = {
    metadata: {},
    spec: { minAvailable: 1 },
    status: {
      disruptedPods: { p0: "1970-01-01T00:00:00Z", gone: "1970-01-01T00:00:00Z" },
      disruptionsAllowed: 0,
      currentHealthy: 0,
      desiredHealthy: 0,
      expectedPods: 0,
    },
  };
  t.match(budgetStatus(taken, pods(3), 3, 1000), { currentHealthy: 2, disruptedPods: { p0: /1970/ } });
  t.equal(budgetStatus(taken, pods(3), 3, 121_000).currentHealthy, 3, "forgotten after two minutes");
});

t.test("disruptionController() and the eviction subresource hold to the budget", async (t) => {
  const room = await controllerRoom(t, ["disruption-controller", "replicaset-controller"]);
  const matchLabels = { app: "web" };
  await room.create(resources.replicasets, {
    metadata: { name: "web" },
    spec: { replicas: 3, selector: { matchLabels }, template: podTemplate(matchLabels) },
  });
  await room.create(resources.poddisruptionbudgets, {
    metadata: { name: "web" },
    spec: { maxUnavailable: 1, selector: { matchLabels } },
  });
  await room.until(resources.poddisruptionbudgets, "web", ({ status }) => status?.disruptionsAllowed === 1);
  const evict = (name: string) =>
    room.api.ask("POST", `/api/v1/namespaces/default/pods/${name}/eviction`, {
      apiVersion: "policy/v1",
      kind: "Eviction",
      metadata: { name },
    });
  const [first, second] = room.pods();
  const answers = await Promise.all([evict(first?.metadata.name ?? ""), evict(second?.metadata.name ?? "")]);
  t.same(
    answers.map(({ status }) => status).sort((a, b) => a - b),
    [201, 429],
  );
  await room.until(
    resources.poddisruptionbudgets,
    "web",
    ({ status }) => status.disruptionsAllowed === 1 && status.currentHealthy === 3,
  );
});

t.test(
  "unhealthyPodEvictionPolicy says whether pods that do not serve may go from a budget that is spent",
  async (t) => {
    const room = await controllerRoom(t, ["disruption-controller"], { kubelet: false });
    const pod = async (name: string, app: string, isReady: boolean) => {
      const made = podTemplate({}, { nodeName: "n" });
      await room.create(resources.pods, { ...made, metadata: { name, labels: { app } } });
      const conditions = [{ type: "Ready", status: isReady ? "True" : "False" }];
      await room.patch(resources.pods, name, { status: { phase: "Running", conditions } }, "status");
    };
    const evict = async (name: string) =>
      (
        await room.api.ask("POST", `/api/v1/namespaces/default/pods/${name}/eviction`, {
          apiVersion: "policy/v1",
          kind: "Eviction",
          metadata: { name },
          deleteOptions: { gracePeriodSeconds: 0 },
        })
      ).status;
    const budget = async (app: string, minAvailable: number, unhealthyPodEvictionPolicy?: string) => {
      const selector = { matchLabels: { app } };
      const policy = unhealthyPodEvictionPolicy ? { unhealthyPodEvictionPolicy } : {};
      await room.create(resources.poddisruptionbudgets, {
        metadata: { name: app },
        spec: { minAvailable, selector, ...policy },
      });
      await room.until(resources.poddisruptionbudgets, app, ({ status }) => status?.observedGeneration === 1);
    };
    for (const [app, minAvailable, policy, sick, well] of [
      ["guarded", 2, undefined, 429, 429],
      ["healthy", 1, "IfHealthyBudget", 201, 429],
      ["usual", 1, undefined, 201, 429],
      ["always", 2, "AlwaysAllow", 201, 429],
    ] as const) {
      await pod(`${app}-sick`, app, false);
      await pod(`${app}-well`, app, true);
      await budget(app, minAvailable, policy);
      await room.until(resources.poddisruptionbudgets, app, ({ status }) => status?.currentHealthy === 1);
      t.equal(await evict(`${app}-well`), well, `${app}: one that serves`);
      t.equal(await evict(`${app}-sick`), sick, `${app}: one that does not`);
    }
  },
);

t.test("disruptionController() warns of pods that no controller sizes", async (t) => {
  const room = await controllerRoom(t, ["disruption-controller"]);
  await room.create(resources.pods, { ...podTemplate({}, {}), metadata: { name: "lone", labels: { app: "lone" } } });
  await room.create(resources.poddisruptionbudgets, {
    metadata: { name: "lone" },
    spec: { minAvailable: "50%", selector: { matchLabels: { app: "lone" } } },
  });
  await room.untilEvent("UnmanagedPods");
  await room.until(resources.poddisruptionbudgets, "lone", ({ status }) => status?.disruptionsAllowed === 0);
});

t.test("staleDisruptionController() takes a disruption that never came back, but not the node's own", async (t) => {
  const clock = new FakeClock(Date.now());
  const room = await controllerRoom(t, ["disruption-controller"], { clock, kubelet: false });
  const mark = async (name: string, reason: string) => {
    await room.create(resources.pods, { ...podTemplate({}, { nodeName: "node" }), metadata: { name } });
    const lastTransitionTime = new Date(clock.now()).toISOString().replace(/\.\d+Z$/, "Z");
    const condition = { type: "DisruptionTarget", status: "True", reason, message: "why", lastTransitionTime };
    await room.patch(resources.pods, name, { status: { phase: "Running", conditions: [condition] } }, "status");
  };
  await mark("evicted", "EvictionByEvictionAPI");
  await mark("ended", "TerminationByKubelet");
  const targetOf = (name: string) =>
    room.get(resources.pods, name).status.conditions.find(({ type }: { type: string }) => type === "DisruptionTarget");
  await clock.advance(60_000);
  t.equal(targetOf("evicted").status, "True", "it may still come");
  await clock.advance(70_000);
  await room.until(resources.pods, "evicted", () => targetOf("evicted").status === "False");
  t.notOk(targetOf("evicted").reason);
  t.equal(targetOf("ended").status, "True");
});
