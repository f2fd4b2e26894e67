// Metrics of pods, objects and the world outside, through the real API; the test plays the adapters that serve them.

import t from "tap";
import { FakeClock } from "../../../plugins/kit/clock.ts";
import { resources } from "../../../plugins/kit/objects/resources.ts";
import type { Json } from "../../../test/harness/api-server.ts";
import { type ControllerRoom, controllerRoom, podTemplate } from "../../../test/harness/controllers.ts";
import { proposeForTotal } from "./replicas.ts";

const autoscalers = resources.horizontalpodautoscalers;

t.test("proposeForTotal() shares a number out over the pods", async (t) => {
  const pods = { ready: 3, reported: 4 };
  const rows: [string, number, { value?: number; average?: number }, number][] = [
    ["twice the value, for the pods that are ready", 20_000, { value: 10_000 }, 6],
    ["within a tenth of the value", 10_900, { value: 10_000 }, 4],
    ["a tenth of the value", 1_000, { value: 10_000 }, 1],
    ["as many as the average needs", 45_000, { average: 5_000 }, 9],
    ["within a tenth of the average", 21_000, { average: 5_000 }, 4],
    ["nothing to do", 0, { average: 5_000 }, 0],
  ];
  for (const [name, total, target, expected] of rows)
    t.equal(proposeForTotal(4, total, target, pods).replicas, expected, name);
});

interface Adapter {
  /** Answers by what stands between the version and the query; absent paths are not found. */
  values: Record<string, Json[]>;
  readonly asked: string[];
}

async function room(t: Parameters<typeof controllerRoom>[0], adapter: Adapter, clock: FakeClock) {
  const made: ControllerRoom = await controllerRoom(
    t,
    ["horizontal-pod-autoscaler", "deployment-controller", "replicaset-controller"],
    {
      clock,
      answer: ({ url }) => {
        const { pathname, search } = new URL(url);
        const match = /^\/apis\/((?:custom|external)\.metrics\.k8s\.io)\/(\w+)\/(.*)$/.exec(
          decodeURIComponent(pathname),
        );
        if (!match) return undefined;
        adapter.asked.push(decodeURIComponent(`${match[2]}/${match[3]}${search}`));
        const items = match[2] === "v1beta1" ? adapter.values[match[3] ?? ""] : undefined;
        if (!items)
          return Response.json({ kind: "Status", status: "Failure", reason: "NotFound", code: 404 }, { status: 404 });
        return Response.json({ kind: "MetricValueList", metadata: {}, items });
      },
    },
  );
  const matchLabels = { app: "web" };
  await made.create(resources.deployments, {
    metadata: { name: "web" },
    spec: { replicas: 2, selector: { matchLabels }, template: podTemplate(matchLabels) },
  });
  await made.until(resources.deployments, "web", ({ status }) => status?.availableReplicas === 2);
  return made;
}

const scaler = (name: string, metrics: Json[]) => ({
  metadata: { name },
  spec: {
    scaleTargetRef: { apiVersion: "apps/v1", kind: "Deployment", name: "web" },
    minReplicas: 1,
    maxReplicas: 10,
    metrics,
  },
});
const podsMetric = {
  type: "Pods",
  pods: { metric: { name: "requests" }, target: { type: "AverageValue", averageValue: "10" } },
};
const objectMetric = {
  type: "Object",
  object: {
    metric: { name: "hits" },
    describedObject: { apiVersion: "networking.k8s.io/v1", kind: "Ingress", name: "gate" },
    target: { type: "Value", value: "100" },
  },
};
const externalMetric = {
  type: "External",
  external: {
    metric: { name: "queue", selector: { matchLabels: { name: "orders" } } },
    target: { type: "AverageValue", averageValue: "30" },
  },
};

t.test("the most that pods, an object or the world outside ask for is what it becomes", async (t) => {
  const clock = new FakeClock(Date.now());
  const adapter: Adapter = { values: {}, asked: [] };
  const made = await room(t, adapter, clock);
  const [first, second] = made
    .pods()
    .map(({ metadata }) => ({ describedObject: { kind: "Pod", name: metadata.name } }));
  adapter.values = {
    "namespaces/default/pods/*/requests": [
      { ...first, value: "14" },
      { ...second, value: "16" },
    ],
    "namespaces/default/ingresses.networking.k8s.io/gate/hits": [{ value: "200" }],
    "namespaces/default/queue": [{ value: "100" }, { value: "50" }],
  };
  await made.create(autoscalers, scaler("web", [podsMetric, objectMetric, externalMetric]));
  // 15 of 10 for each pod: 3; 200 of 100 for two pods: 4; 150 in the queue, 30 for each pod: 5.
  await made.until(resources.deployments, "web", ({ spec }) => spec.replicas === 5);
  const { status } = await made.until(autoscalers, "web", (one) => one.status?.desiredReplicas === 5);
  t.match(status.currentMetrics, [
    { type: "Pods", pods: { metric: { name: "requests" }, current: { averageValue: "15" } } },
    { type: "Object", object: { describedObject: { kind: "Ingress", name: "gate" }, current: { value: "200" } } },
    { type: "External", external: { metric: { name: "queue" }, current: { averageValue: "75" } } },
  ]);
  t.match(
    (await made.untilEvent("SuccessfulRescale")).message,
    "New size: 5; reason: external metric queue(name=orders) above target",
  );
  t.ok(
    adapter.asked.includes("v1beta2/namespaces/default/pods/*/requests?labelSelector=app=web"),
    "the newer version first",
  );
  t.ok(adapter.asked.includes("v1beta1/namespaces/default/queue?labelSelector=name=orders"));
});

t.test("metrics that nobody serves are said so, by type; those that are there still let it grow", async (t) => {
  const clock = new FakeClock(Date.now());
  const adapter: Adapter = { values: {}, asked: [] };
  const made = await room(t, adapter, clock);
  const rows: [string, Json, RegExp][] = [
    ["FailedGetPodsMetric", podsMetric, /unable to get metric requests: no custom metrics API/],
    ["FailedGetObjectMetric", objectMetric, /unable to get metric hits: no custom metrics API/],
    ["FailedGetExternalMetric", externalMetric, /unable to get metric queue: no external metrics API/],
  ];
  for (const [reason, metric, message] of rows) {
    const name = reason.toLowerCase();
    await made.create(autoscalers, scaler(name, [metric]));
    const { status } = await made.until(autoscalers, name, (one) => one.status?.conditions?.length > 1);
    const active = status.conditions.find(({ type }: Json) => type === "ScalingActive");
    t.match(active, { status: "False", reason, message });
    await made.untilEvent(reason);
    await made.delete(autoscalers, name);
  }
  adapter.values["namespaces/default/queue"] = [{ value: "5" }];
  await made.create(autoscalers, scaler("low", [podsMetric, externalMetric]));
  await made.until(autoscalers, "low", (one) => one.status?.conditions?.length > 1);
  t.equal(made.get(resources.deployments, "web").spec.replicas, 2, "not below what it is while one cannot be read");
  await made.delete(autoscalers, "low");
  adapter.values["namespaces/default/queue"] = [{ value: "180" }];
  await made.create(autoscalers, scaler("high", [podsMetric, externalMetric]));
  await made.until(resources.deployments, "web", ({ spec }) => spec.replicas === 6);
});

t.test("a container's own use is weighed against its own request", async (t) => {
  const clock = new FakeClock(Date.now());
  const made: ControllerRoom = await controllerRoom(
    t,
    ["horizontal-pod-autoscaler", "deployment-controller", "replicaset-controller"],
    {
      clock,
      answer: ({ url }) => {
        if (!url.includes("/apis/metrics.k8s.io/")) return undefined;
        const items = made.pods().map(({ metadata }) => ({
          metadata: { name: metadata.name },
          timestamp: new Date(clock.now()).toISOString(),
          window: "10s",
          containers: [
            { name: "main", usage: { memory: "150Mi" } },
            { name: "proxy", usage: { memory: "900Mi" } },
          ],
        }));
        return Response.json({ kind: "PodMetricsList", apiVersion: "metrics.k8s.io/v1beta1", metadata: {}, items });
      },
    },
  );
  const matchLabels = { app: "web" };
  const requests = { memory: "100Mi" };
  const containers = ["main", "proxy"].map((name) => ({ name, image: "busybox", resources: { requests } }));
  await made.create(resources.deployments, {
    metadata: { name: "web" },
    spec: { replicas: 2, selector: { matchLabels }, template: podTemplate(matchLabels, { containers }) },
  });
  await made.until(resources.deployments, "web", ({ status }) => status?.availableReplicas === 2);
  const target = { type: "Utilization", averageUtilization: 50 };
  const metric = { type: "ContainerResource", containerResource: { name: "memory", container: "main", target } };
  await made.create(autoscalers, scaler("web", [metric]));
  await made.until(resources.deployments, "web", ({ spec }) => spec.replicas === 6);
  const { status } = await made.until(autoscalers, "web", (one) => one.status?.desiredReplicas);
  t.match(status.currentMetrics, [
    { containerResource: { name: "memory", container: "main", current: { averageUtilization: 150 } } },
  ]);
});
