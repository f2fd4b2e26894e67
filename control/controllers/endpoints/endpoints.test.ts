import t from "tap";
import { resources } from "../../../plugins/kit/kube/objects/resources.ts";
import { controllerRoom, podTemplate } from "../../../test/harness/controllers.ts";
import type { Endpoint } from "../endpoint-slice/desired.ts";
import { subsetsOf } from "./subsets.ts";

t.test("endpointsController() shows ready pods apart from those that are not", async (t) => {
  const room = await controllerRoom(t, ["endpoint-controller", "endpointslicemirroring-controller"], {
    outcome: (pod) => (pod.metadata.name === "slow" ? "running" : "ready"),
  });
  const spec = { selector: { app: "web" }, ports: [{ name: "http", port: 80, targetPort: 8080 }] };
  await room.create(resources.services, { metadata: { name: "web" }, spec });
  for (const name of ["a", "b", "slow"])
    await room.create(resources.pods, { ...podTemplate({}), metadata: { name, labels: { app: "web" } } });
  const found = await room.until(
    resources.endpoints,
    "web",
    ({ subsets }) => subsets?.[0]?.addresses?.length === 2 && subsets[0].notReadyAddresses?.length === 1,
  );
  t.match(found.subsets[0], {
    ports: [{ name: "http", port: 8080, protocol: "TCP" }],
    notReadyAddresses: [{ targetRef: { name: "slow" } }],
  });
  await room.delete(resources.pods, "a");
  await room.until(resources.endpoints, "web", ({ subsets }) => subsets?.[0]?.addresses?.length === 1);
  t.equal(room.list(resources.endpointslices).length, 0, "with a selector nothing is mirrored");
  await room.delete(resources.services, "web");
  await room.until(resources.namespaces, "default", () => !room.get(resources.endpoints, "web"));
});

t.test("endpointSliceMirroringController() mirrors what people write by hand", async (t) => {
  const room = await controllerRoom(t, ["endpoint-controller", "endpointslicemirroring-controller"]);
  const subsets = [
    { addresses: [{ ip: "192.0.2.7" }, { ip: "2001:db8::7" }], ports: [{ port: 5432, protocol: "TCP" }] },
  ];
  await room.create(resources.endpoints, { metadata: { name: "database" }, subsets });
  await room.create(resources.services, { metadata: { name: "database" }, spec: { ports: [{ port: 5432 }] } });
  await room.until(resources.namespaces, "default", () => room.list(resources.endpointslices).length === 2);
  const slice = () => room.list(resources.endpointslices).find(({ addressType }) => addressType === "IPv4");
  t.match(slice(), {
    metadata: { labels: { "kubernetes.io/service-name": "database" } },
    endpoints: [{ addresses: ["192.0.2.7"], conditions: { ready: true } }],
    ports: [{ port: 5432 }],
  });
  await room.patch(resources.endpoints, "database", {
    subsets: [{ addresses: [{ ip: "192.0.2.8" }], ports: [{ port: 5432, protocol: "TCP" }] }],
  });
  await room.until(
    resources.namespaces,
    "default",
    () => room.list(resources.endpointslices).length === 1 && slice().endpoints[0].addresses[0] === "192.0.2.8",
  );
  await room.delete(resources.services, "database");
  await room.until(resources.namespaces, "default", () => room.list(resources.endpointslices).length === 0);
  await room.until(resources.namespaces, "default", () => !room.get(resources.endpoints, "database"));
});

t.test("endpointsController() shows a service that nobody stands behind, until it is deleted", async (t) => {
  const room = await controllerRoom(t, ["endpoint-controller", "endpointslice-controller"]);
  const spec = { selector: { app: "none" }, ports: [{ port: 80 }] };
  await room.create(resources.services, { metadata: { name: "lonely" }, spec });
  const found = await room.until(resources.endpoints, "lonely", () => true);
  t.notOk("subsets" in found, "what is empty is not shown");
  const made = room.get(resources.services, found.metadata.name ?? "").metadata.creationTimestamp;
  t.same(found.metadata.annotations, { "endpoints.kubernetes.io/last-change-trigger-time": made });
  const slices = () => room.list(resources.endpointslices);
  await room.until(resources.namespaces, "default", () => slices().length === 1);
  t.match(slices()[0], { endpoints: [], ports: [], metadata: { labels: { "kubernetes.io/service-name": "lonely" } } });
  t.same(slices()[0]?.metadata.annotations, found.metadata.annotations, "slices tell it too");
  await room.create(resources.endpoints, { metadata: { name: "by-hand" } });
  await room.delete(resources.services, "lonely");
  await room.until(resources.namespaces, "default", () => !room.get(resources.endpoints, "lonely"));
  t.ok(room.get(resources.endpoints, "by-hand"), "what people write by hand is theirs");
});

t.test("subsetsOf() shows a port that only some pods have by itself", async (t) => {
  const endpoint = (ip: string): Endpoint => ({
    addresses: [ip],
    conditions: { ready: true, serving: true, terminating: false },
  });
  const http = { name: "http", port: 80, protocol: "TCP" };
  const metrics = { name: "metrics", port: 90, protocol: "TCP" };
  const groups = new Map([
    ["both", { ports: [http, metrics], endpoints: new Map([["a", endpoint("10.0.0.1")]]) }],
    ["one", { ports: [http], endpoints: new Map([["b", endpoint("10.0.0.2")]]) }],
  ]);
  t.same(subsetsOf(groups).subsets, [
    { addresses: [{ ip: "10.0.0.1" }, { ip: "10.0.0.2" }], ports: [http] },
    { addresses: [{ ip: "10.0.0.1" }], ports: [metrics] },
  ]);
});
