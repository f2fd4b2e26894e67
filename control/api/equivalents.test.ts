// What admission is told of other groups and versions that serve the objects of a request.

import t from "tap";
import type { AdmissionPlugin, AdmissionRequest } from "../../plugins/kit/contracts/admission.ts";
import { uninterrupted } from "../../plugins/kit/base/call.ts";
import { type Json, startApi } from "../../test/harness/api-server.ts";
import { until } from "../../test/harness/until.ts";

t.test("equivalentsOf() names the other versions of a resource and converts there and back", async (t) => {
  const seen: AdmissionRequest[] = [];
  const witness: AdmissionPlugin = {
    name: "witness",
    handles: () => true,
    validate: (request) => void seen.push(request),
  };
  const api = await startApi({ admission: [witness] });
  t.teardown(() => api.close());
  const made = await api.ask("POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", {
    metadata: { name: "boats.example.com" },
    spec: {
      group: "example.com",
      scope: "Namespaced",
      names: { plural: "boats", kind: "Boat" },
      versions: ["v1", "v2"].map((name) => ({
        name,
        served: true,
        storage: name === "v2",
        schema: { openAPIV3Schema: { type: "object", "x-kubernetes-preserve-unknown-fields": true } },
      })),
    },
  });
  t.equal(made.status, 201, made.text);
  const boats = "/apis/example.com/v1/namespaces/default/boats";
  await until("the versions to be served", async () => (await api.ask("GET", boats)).status === 200);
  const asked = async (path: string, body: Json) => {
    seen.length = 0;
    const answer = await api.ask("POST", path, body);
    t.equal(answer.status, 201, answer.text);
    const request = seen.at(-1);
    const [other, ...more] = request?.equivalents ?? [];
    if (!request?.object || !other) return t.fail(`${path}: nothing is equivalent`);
    t.same(more, []);
    const converted = await other.to(request.object, uninterrupted);
    t.match(await other.from(converted, uninterrupted), body, "and back");
    return { other, converted };
  };
  const metadata = { name: "a" };
  const spec = { maxReplicas: 3, scaleTargetRef: { kind: "Deployment", name: "a", apiVersion: "apps/v1" } };
  const scaler = { ...spec, targetCPUUtilizationPercentage: 60 };
  const rows: { name: string; path: string; body: Json; expected: Json }[] = [
    {
      name: "horizontal pod autoscalers",
      path: "/apis/autoscaling/v1/namespaces/default/horizontalpodautoscalers",
      body: { apiVersion: "autoscaling/v1", metadata, spec: scaler },
      expected: {
        other: { group: "autoscaling", version: "v2", resource: "horizontalpodautoscalers" },
        converted: {
          apiVersion: "autoscaling/v2",
          spec: { metrics: [{ resource: { target: { averageUtilization: 60 } } }] },
        },
      },
    },
    {
      name: "events of both groups",
      path: "/api/v1/namespaces/default/events",
      body: { apiVersion: "v1", metadata, involvedObject: { namespace: "default" }, message: "m" },
      expected: {
        other: { group: "events.k8s.io", version: "v1", kind: "Event" },
        converted: { apiVersion: "events.k8s.io/v1", note: "m" },
      },
    },
    {
      name: "custom resources",
      path: boats,
      body: { apiVersion: "example.com/v1", kind: "Boat", metadata, hull: 1 },
      expected: { other: { version: "v2", kind: "Boat" }, converted: { apiVersion: "example.com/v2", hull: 1 } },
    },
  ];
  for (const { name, path, body, expected } of rows) t.match(await asked(path, body), expected, name);
});
