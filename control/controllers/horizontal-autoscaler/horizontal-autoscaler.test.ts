import t from "tap";
import { FakeClock } from "../../../plugins/kit/base/clock.ts";
import { resources } from "../../../plugins/kit/kube/objects/resources.ts";
import type { Pod } from "../../../plugins/kit/kube/objects/types.ts";
import { controllerRoom, podTemplate } from "../../../test/harness/controllers.ts";
import { decide, type Past } from "./behavior.ts";
import type { Autoscaler, PodMetrics } from "./objects.ts";
import { proposeReplicas } from "./replicas.ts";

const now = Date.UTC(2026, 0, 1, 12);
const pod = (
  name: string,
  how: { phase?: string; ready?: string; startedAgoMs?: number; request?: string } = {},
): Pod =>
  ({
    metadata: { name },
    spec: { containers: [{ name: "main", resources: { requests: { cpu: how.request ?? "1000m" } } }] },
    status: {
      phase: how.phase ?? "Running",
      startTime: new Date(now - (how.startedAgoMs ?? 3_600_000)).toISOString(),
      conditions: [
        { type: "Ready", status: how.ready ?? "True", lastTransitionTime: new Date(now - 3_500_000).toISOString() },
      ],
    },
  }) as unknown as Pod;
const usage = (name: string, cpu: string): PodMetrics => ({
  metadata: { name },
  timestamp: new Date(now).toISOString(),
  window: "30s",
  containers: [{ name: "main", usage: { cpu } }],
});
const cpu = (utilization: number) => ({ resource: "cpu", utilization });

t.test("proposeReplicas() asks for as many as the load needs", async (t) => {
  const rows: {
    name: string;
    pods: Pod[];
    metrics: PodMetrics[];
    target: number;
    current: number;
    expected: number;
  }[] = [
    {
      name: "three busy pods",
      pods: ["a", "b", "c"].map((one) => pod(one)),
      metrics: [usage("a", "300m"), usage("b", "500m"), usage("c", "700m")],
      target: 30,
      current: 3,
      expected: 5,
    },
    {
      name: "within a tenth nothing moves",
      pods: ["a", "b"].map((one) => pod(one)),
      metrics: [usage("a", "540m"), usage("b", "540m")],
      target: 50,
      current: 2,
      expected: 2,
    },
    {
      name: "idle pods",
      pods: ["a", "b", "c", "d"].map((one) => pod(one)),
      metrics: ["a", "b", "c", "d"].map((one) => usage(one, "100m")),
      target: 50,
      current: 4,
      expected: 1,
    },
    {
      name: "a pod that is not ready does not speak for more",
      pods: [pod("a"), pod("b"), pod("c", { ready: "False", startedAgoMs: 60_000 })],
      metrics: [usage("a", "700m"), usage("b", "700m"), usage("c", "900m")],
      target: 50,
      current: 3,
      expected: 3,
    },
    {
      name: "a silent pod is busy when shrinking",
      pods: [pod("a"), pod("b")],
      metrics: [usage("a", "100m")],
      target: 100,
      current: 2,
      expected: 2,
    },
    {
      name: "a silent pod is idle when growing",
      pods: [pod("a"), pod("b")],
      metrics: [usage("a", "1500m")],
      target: 50,
      current: 2,
      expected: 3,
    },
    {
      name: "a failed pod does not count",
      pods: [pod("a"), pod("b", { phase: "Failed" })],
      metrics: [usage("a", "1000m")],
      target: 50,
      current: 1,
      expected: 2,
    },
  ];
  for (const row of rows)
    t.equal(proposeReplicas(row.current, cpu(row.target), row.pods, row.metrics, now).replicas, row.expected, row.name);
  t.match(proposeReplicas(1, cpu(50), [pod("a")], [usage("a", "250m")], now), { average: 250, utilization: 25 });
  t.equal(
    proposeReplicas(
      2,
      { resource: "cpu", average: 100 },
      [pod("a"), pod("b")],
      [usage("a", "300m"), usage("b", "300m")],
      now,
    ).replicas,
    6,
  );
  t.throws(() => proposeReplicas(1, cpu(50), [pod("a")], [], now), { code: "unavailable" });
  const plain = { ...pod("a"), spec: { containers: [{ name: "main" }] } } as unknown as Pod;
  t.throws(
    () => proposeReplicas(1, cpu(50), [plain], [usage("a", "1")], now),
    /missing request for cpu in container main of Pod a/,
  );
});

const autoscaler = (behavior: Autoscaler["spec"]["behavior"] = {}, maxReplicas = 100): Autoscaler => ({
  metadata: { name: "web" },
  spec: { scaleTargetRef: { kind: "Deployment", name: "web" }, minReplicas: 1, maxReplicas, behavior },
});

t.test("decide() stabilizes, and keeps to the pace of the policies", async (t) => {
  const none: Past = { asked: [], changes: [] };
  const asked = (...rows: [number, number][]): Past => ({
    asked: rows.map(([ago, replicas]) => ({ at: now - ago * 1000, replicas })),
    changes: [],
  });
  const changed = (...rows: [number, number][]): Past => ({
    asked: [],
    changes: rows.map(([ago, by]) => ({ at: now - ago * 1000, by })),
  });
  const slowDown = {
    scaleDown: { stabilizationWindowSeconds: 0, policies: [{ type: "Pods", value: 2, periodSeconds: 60 }] },
  };
  const rows: {
    name: string;
    of: Autoscaler;
    current: number;
    wish: number;
    past: Past;
    expected: number;
    reason?: string;
  }[] = [
    {
      name: "four at once when small",
      of: autoscaler(),
      current: 1,
      wish: 50,
      past: none,
      expected: 5,
      reason: "ScaleUpLimit",
    },
    {
      name: "double when large",
      of: autoscaler(),
      current: 20,
      wish: 90,
      past: none,
      expected: 40,
      reason: "ScaleUpLimit",
    },
    {
      name: "what was added in the period counts",
      of: autoscaler(),
      current: 20,
      wish: 90,
      past: changed([5, 10]),
      expected: 20,
      reason: "ScaleUpLimit",
    },
    {
      name: "never above the maximum",
      of: autoscaler({}, 30),
      current: 20,
      wish: 90,
      past: none,
      expected: 30,
      reason: "TooManyReplicas",
    },
    {
      name: "five minutes of more hold it",
      of: autoscaler(),
      current: 10,
      wish: 2,
      past: asked([200, 8]),
      expected: 8,
    },
    {
      name: "after that it shrinks at once",
      of: autoscaler(),
      current: 10,
      wish: 2,
      past: asked([301, 8]),
      expected: 2,
    },
    {
      name: "two a minute",
      of: autoscaler(slowDown),
      current: 10,
      wish: 1,
      past: none,
      expected: 8,
      reason: "ScaleDownLimit",
    },
    {
      name: "and no more in that minute",
      of: autoscaler(slowDown),
      current: 8,
      wish: 1,
      past: changed([30, -2]),
      expected: 8,
      reason: "ScaleDownLimit",
    },
    {
      name: "never below the minimum",
      of: autoscaler(),
      current: 3,
      wish: 0,
      past: none,
      expected: 1,
      reason: "TooFewReplicas",
    },
    {
      name: "growing can wait, too",
      of: autoscaler({ scaleUp: { stabilizationWindowSeconds: 60 } }),
      current: 2,
      wish: 5,
      past: asked([30, 3]),
      expected: 3,
    },
    {
      name: "disabled",
      of: autoscaler({ scaleDown: { selectPolicy: "Disabled", stabilizationWindowSeconds: 0 } }),
      current: 5,
      wish: 2,
      past: none,
      expected: 5,
    },
    {
      name: "the slowest of the policies",
      of: autoscaler({
        scaleUp: {
          selectPolicy: "Min",
          policies: [
            { type: "Pods", value: 1, periodSeconds: 60 },
            { type: "Percent", value: 100, periodSeconds: 60 },
          ],
        },
      }),
      current: 4,
      wish: 9,
      past: none,
      expected: 5,
    },
  ];
  for (const row of rows) {
    const decision = decide(row.of, row.current, row.wish, row.past, now);
    t.equal(decision.replicas, row.expected, row.name);
    if (row.reason) t.equal(decision.limitReason, row.reason, row.name);
  }
});

t.test("horizontalAutoscalerController() says what it lacks, and keeps to its bounds without metrics", async (t) => {
  const clock = new FakeClock(Date.now());
  const room = await controllerRoom(
    t,
    ["horizontal-pod-autoscaler", "deployment-controller", "replicaset-controller"],
    { clock },
  );
  const labels = { app: "web" };
  await room.create(resources.deployments, {
    metadata: { name: "web" },
    spec: { replicas: 1, selector: { matchLabels: labels }, template: podTemplate(labels) },
  });
  await room.until(resources.deployments, "web", ({ status }) => status?.availableReplicas === 1);
  await room.create(resources.horizontalpodautoscalers, {
    metadata: { name: "web" },
    spec: {
      scaleTargetRef: { apiVersion: "apps/v1", kind: "Deployment", name: "web" },
      minReplicas: 3,
      maxReplicas: 5,
    },
  });
  await room.until(resources.deployments, "web", ({ spec }) => spec.replicas === 3);
  await clock.advance(15_000);
  const told = await room.until(resources.horizontalpodautoscalers, "web", ({ status }) =>
    status.conditions.some(({ type }: { type: string }) => type === "ScalingActive"),
  );
  t.match(
    told.status.conditions.find(({ type }: { type: string }) => type === "ScalingActive"),
    { status: "False", reason: "FailedGetResourceMetric" },
  );
  await room.create(resources.horizontalpodautoscalers, {
    metadata: { name: "lost" },
    spec: { scaleTargetRef: { apiVersion: "apps/v1", kind: "Deployment", name: "nobody" }, maxReplicas: 5 },
  });
  await room.until(
    resources.horizontalpodautoscalers,
    "lost",
    ({ status }) => status?.conditions[0].reason === "FailedGetScale",
  );
});

t.test("horizontalAutoscalerController() leaves pods alone that are not its own alone", async (t) => {
  const clock = new FakeClock(Date.now());
  const room = await controllerRoom(
    t,
    ["horizontal-pod-autoscaler", "deployment-controller", "replicaset-controller"],
    { clock },
  );
  const labels = { app: "web" };
  for (const name of ["web", "twin"])
    await room.create(resources.deployments, {
      metadata: { name },
      spec: { replicas: 1, selector: { matchLabels: labels }, template: podTemplate(labels) },
    });
  await room.until(resources.deployments, "twin", ({ status }) => status?.availableReplicas === 1);
  const scaler = (name: string, of = name) => ({
    metadata: { name },
    spec: { scaleTargetRef: { apiVersion: "apps/v1", kind: "Deployment", name: of }, maxReplicas: 5 },
  });
  const activeOf = ({ status }: { status?: { conditions?: { type: string; reason: string }[] } }) =>
    status?.conditions?.find(({ type }) => type === "ScalingActive");
  const autoscalers = resources.horizontalpodautoscalers;
  await room.create(autoscalers, scaler("web"));
  await room.until(autoscalers, "web", (one) => activeOf(one)?.reason === "FailedGetResourceMetric");
  await room.create(autoscalers, scaler("twin"));
  const message = "pods by selector app=web are controlled by multiple HPAs: [{twin default} {web default}]";
  t.match(activeOf(await room.until(autoscalers, "twin", activeOf)), { reason: "AmbiguousSelector", message });
  t.match(await room.untilEvent("AmbiguousSelector"), { involvedObject: { name: "twin" }, message });
  await clock.advance(15_000);
  await room.until(autoscalers, "web", (one) => activeOf(one)?.reason === "AmbiguousSelector");
  await room.delete(autoscalers, "web");
  await clock.advance(15_000);
  await room.until(autoscalers, "twin", (one) => activeOf(one)?.reason === "FailedGetResourceMetric");
});

t.test(
  "horizontalAutoscalerController() says when what it points at tells no selector, or takes no size",
  async (t) => {
    const clock = new FakeClock(Date.now());
    let selector = "";
    const room = await controllerRoom(t, ["horizontal-pod-autoscaler"], {
      clock,
      kubelet: false,
      answer: ({ url, method }) => {
        if (!url.endsWith("/scale")) return undefined;
        const at = { kind: "Scale", apiVersion: "autoscaling/v1", metadata: { name: "web", namespace: "default" } };
        const refusal = { kind: "Status", status: "Failure", reason: "Forbidden", message: "not so many", code: 403 };
        return method === "GET"
          ? Response.json({ ...at, spec: { replicas: 1 }, status: { replicas: 1, selector } })
          : Response.json(refusal, { status: 403 });
      },
    });
    const autoscalers = resources.horizontalpodautoscalers;
    const spec = { scaleTargetRef: { apiVersion: "apps/v1", kind: "Deployment", name: "web" }, maxReplicas: 5 };
    await room.create(autoscalers, { metadata: { name: "web" }, spec });
    const conditionIs = (type: string, reason: string) =>
      room.until(autoscalers, "web", ({ status }) =>
        status?.conditions?.some((one: { type: string; reason: string }) => one.type === type && one.reason === reason),
      );
    await conditionIs("ScalingActive", "InvalidSelector");
    t.match(await room.untilEvent("SelectorRequired"), { message: "selector is required" });
    selector = "app=web";
    await room.patch(autoscalers, "web", { spec: { minReplicas: 2 } });
    await conditionIs("AbleToScale", "FailedUpdateScale");
    t.match(
      (await room.untilEvent("FailedRescale")).message,
      /^New size: 2; reason: .*MinReplicas; error: .*not so many/,
    );
  },
);

t.test("horizontalAutoscalerController() grows with the load and shrinks when it has been low for long", async (t) => {
  const clock = new FakeClock(Date.now());
  let load = "900m";
  const room = await controllerRoom(
    t,
    ["horizontal-pod-autoscaler", "deployment-controller", "replicaset-controller"],
    {
      clock,
      answer: ({ url }) => {
        if (!url.includes("/apis/metrics.k8s.io/")) return undefined;
        const items = room.pods().map(({ metadata }) => ({
          metadata: { name: metadata.name },
          timestamp: new Date(clock.now()).toISOString(),
          window: "10s",
          containers: [{ name: "main", usage: { cpu: load, memory: "1Mi" } }],
        }));
        return Response.json({ kind: "PodMetricsList", apiVersion: "metrics.k8s.io/v1beta1", metadata: {}, items });
      },
    },
  );
  const matchLabels = { app: "web" };
  const containers = [{ name: "main", image: "busybox", resources: { requests: { cpu: "1" } } }];
  await room.create(resources.deployments, {
    metadata: { name: "web" },
    spec: { replicas: 2, selector: { matchLabels }, template: podTemplate(matchLabels, { containers }) },
  });
  await room.until(resources.deployments, "web", ({ status }) => status?.availableReplicas === 2);
  await clock.advance(10 * 60_000);
  await room.create(resources.horizontalpodautoscalers, {
    metadata: { name: "web" },
    spec: {
      scaleTargetRef: { apiVersion: "apps/v1", kind: "Deployment", name: "web" },
      minReplicas: 1,
      maxReplicas: 10,
      metrics: [
        { type: "Resource", resource: { name: "cpu", target: { type: "Utilization", averageUtilization: 50 } } },
      ],
    },
  });
  await room.until(resources.deployments, "web", ({ spec }) => spec.replicas === 4);
  const grown = await room.until(
    resources.horizontalpodautoscalers,
    "web",
    ({ status }) => status?.desiredReplicas === 4,
  );
  t.match(grown.status.currentMetrics, [{ resource: { name: "cpu", current: { averageUtilization: 90 } } }]);
  await room.until(resources.deployments, "web", ({ status }) => status?.availableReplicas === 4);
  load = "50m";
  for (let waited = 0; waited < 240; waited += 15) await clock.advance(15_000);
  t.equal(room.get(resources.deployments, "web").spec.replicas, 4, "a short calm changes nothing");
  for (let waited = 0; waited < 360 && room.get(resources.deployments, "web").spec.replicas === 4; waited += 15)
    await clock.advance(15_000);
  await room.until(resources.deployments, "web", ({ spec }) => spec.replicas === 1);
});
