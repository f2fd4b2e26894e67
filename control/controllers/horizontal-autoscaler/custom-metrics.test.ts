// Metrics of pods, objects and the world outside, through the real API; the test plays the adapters that serve them.

import t from "tap";
import { FakeClock } from "../../../plugins/kit/base/clock.ts";
import { resources } from "../../../plugins/kit/kube/objects/resources.ts";
import { serve } from "../../../plugins/kit/os/platform/http-server.ts";
import { createCertificate } from "../../../plugins/kit/os/x509.ts";
import type { Json } from "../../../test/harness/api-server.ts";
import { testPki } from "../../../test/harness/certificates.ts";
import { type ControllerRoom, controllerRoom, podTemplate } from "../../../test/harness/controllers.ts";
import { encodeObject } from "../../storage/encoding.ts";
import { storageKey } from "../../storage/keys.ts";
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

/** A server of its own, registered as the one that answers both groups, as an adapter of a monitoring system is. */
async function openAdapter(
  made: ControllerRoom,
  t: Parameters<typeof controllerRoom>[0],
  values: Record<string, Json[]>,
) {
  const certificates = testPki("adapter");
  const validity = { notBefore: Date.now() - 3_600_000, notAfter: Date.now() + 86_400_000 };
  const own = { ...validity, commonName: "adapter", dnsNames: ["adapter.monitoring.svc"] };
  const asked: { path: string; user: string | null; certificate: string | undefined }[] = [];
  const server = await serve({
    listen: { host: "127.0.0.1", port: 0 },
    tls: {
      ...createCertificate(certificates.ca, { ...own, usages: ["server auth"] }),
      clientCa: made.pki.frontProxyCa.cert,
    },
    handler: (request, peer) => {
      const { pathname, search } = new URL(request.url);
      const [, , group = "", version = "", ...rest] = decodeURIComponent(pathname).split("/");
      if (rest.length === 0)
        return Response.json({ kind: "APIResourceList", groupVersion: `${group}/${version}`, resources: [] });
      const user = request.headers.get("x-remote-user");
      asked.push({ path: decodeURIComponent(pathname + search), user, certificate: peer.certificate?.commonName });
      const items = values[rest.join("/")];
      const status = { kind: "Status", status: "Failure", reason: "NotFound", code: 404 };
      return items
        ? Response.json({ kind: "MetricValueList", metadata: {}, items })
        : Response.json(status, { status: 404 });
    },
  });
  t.teardown(() => server.close());
  const namespace = "monitoring";
  await made.create(resources.namespaces, { metadata: { name: namespace } });
  await made.create(resources.services, {
    metadata: { name: "adapter", namespace },
    spec: { ports: [{ port: 443, targetPort: server.port }] },
  });
  // The API takes no endpoints on loopback, and that is where the adapter listens.
  const slice = {
    kind: "EndpointSlice",
    apiVersion: "discovery.k8s.io/v1",
    metadata: { name: "adapter-1", namespace, labels: { "kubernetes.io/service-name": "adapter" } },
    addressType: "IPv4",
    endpoints: [{ addresses: ["127.0.0.1"], conditions: { ready: true } }],
    ports: [{ name: "", port: server.port }],
  };
  const key = storageKey({ group: "discovery.k8s.io", plural: "endpointslices" }, namespace, "adapter-1");
  await made.api.store.put(key, encodeObject(slice), "absent", made.call);
  for (const [group, version] of [
    ["custom.metrics.k8s.io", "v1beta2"],
    ["external.metrics.k8s.io", "v1beta1"],
  ]) {
    const name = `${version}.${group}`;
    await made.create(resources.apiservices, {
      metadata: { name },
      spec: {
        group,
        version,
        groupPriorityMinimum: 100,
        versionPriority: 100,
        service: { namespace, name: "adapter" },
        caBundle: btoa(certificates.ca.cert),
      },
    });
    await made.until(resources.apiservices, name, ({ status }) => status?.conditions?.[0]?.status === "True");
  }
  return asked;
}

t.test("an adapter behind the aggregation layer is asked in the controller's own name", async (t) => {
  const made = await controllerRoom(t, ["horizontal-pod-autoscaler", "deployment-controller", "replicaset-controller"]);
  const matchLabels = { app: "web" };
  await made.create(resources.deployments, {
    metadata: { name: "web" },
    spec: { replicas: 2, selector: { matchLabels }, template: podTemplate(matchLabels) },
  });
  await made.until(resources.deployments, "web", ({ status }) => status?.availableReplicas === 2);
  const described = made.pods().map(({ metadata }) => ({ describedObject: { kind: "Pod", name: metadata.name } }));
  const asked = await openAdapter(made, t, {
    "namespaces/default/pods/*/requests": described.map((pod) => ({ ...pod, value: "15" })),
    "namespaces/default/ingresses.networking.k8s.io/gate/hits": [{ value: "200" }],
    "namespaces/default/queue": [{ value: "150" }],
  });
  await made.create(autoscalers, scaler("web", [podsMetric, objectMetric, externalMetric]));
  await made.until(resources.deployments, "web", ({ spec }) => spec.replicas === 5);
  const { status } = await made.until(autoscalers, "web", (one) => one.status?.desiredReplicas === 5);
  t.match(
    status.currentMetrics.map(({ type }: Json) => type),
    ["Pods", "Object", "External"],
  );
  t.match(asked[0], {
    path: "/apis/custom.metrics.k8s.io/v1beta2/namespaces/default/pods/*/requests?labelSelector=app=web",
    user: "system:serviceaccount:kube-system:horizontal-pod-autoscaler",
    certificate: "front-proxy-client",
  });
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
