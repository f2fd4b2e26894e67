import t from "tap";
import { resources } from "../../../plugins/kit/kube/objects/resources.ts";
import type { Json } from "../../../test/harness/api-server.ts";
import { controllerRoom, type ControllerRoom, podTemplate } from "../../../test/harness/controllers.ts";

const names = ["generic-garbage-collector", "deployment-controller", "replicaset-controller", "namespace-controller"];
const deployment: Json = {
  metadata: { name: "web" },
  spec: { replicas: 3, selector: { matchLabels: { app: "web" } }, template: podTemplate({ app: "web" }) },
};

async function running(t: { teardown(then: () => Promise<void> | void): void }): Promise<ControllerRoom> {
  const room = await controllerRoom(t, names);
  await room.create(resources.deployments, deployment);
  await room.until(resources.deployments, "web", ({ status }) => status?.availableReplicas === 3);
  return room;
}
const nothingLeft = (room: ControllerRoom) =>
  room.until(resources.namespaces, "default", () =>
    [resources.deployments, resources.replicasets, resources.pods].every((ref) => room.list(ref).length === 0),
  );

t.test("garbageCollector() cascades in the background", async (t) => {
  const room = await running(t);
  await room.delete(resources.deployments, "web", { propagationPolicy: "Background" });
  await nothingLeft(room);
});

t.test("garbageCollector() keeps the owner until all is gone in the foreground", async (t) => {
  const room = await running(t);
  let isEarly = false;
  room.api.server.informers.for<Json>(resources.deployments).onEvent(({ type }) => {
    if (type === "delete") isEarly = room.list(resources.replicasets).length > 0;
  });
  await room.delete(resources.deployments, "web", { propagationPolicy: "Foreground" });
  await nothingLeft(room);
  t.notOk(isEarly);
});

t.test("garbageCollector() leaves orphans alone", async (t) => {
  const room = await running(t);
  await room.delete(resources.deployments, "web", { propagationPolicy: "Orphan" });
  await room.until(resources.namespaces, "default", () => room.list(resources.deployments).length === 0);
  await room.until(
    resources.namespaces,
    "default",
    () => room.list(resources.replicasets)[0]?.metadata.ownerReferences === undefined,
  );
  t.equal(room.pods().length, 3);
});

t.test("garbageCollector() leaves a cycle of owners be, and takes it away when it is deleted", async (t) => {
  const room = await controllerRoom(t, names);
  const made: Json[] = [];
  for (const name of ["a", "b"]) made.push(await room.create(resources.configmaps, { metadata: { name }, data: {} }));
  const owner = (one: Json) => ({
    apiVersion: "v1",
    kind: "ConfigMap",
    name: one.metadata.name,
    uid: one.metadata.uid,
    blockOwnerDeletion: true,
  });
  await room.patch(resources.configmaps, "a", { metadata: { ownerReferences: [owner(made[1])] } });
  await room.patch(resources.configmaps, "b", { metadata: { ownerReferences: [owner(made[0])] } });
  await room.create(resources.configmaps, {
    metadata: { name: "lost", ownerReferences: [{ ...owner(made[0]), uid: "nobody", name: "gone" }] },
  });
  await room.until(resources.namespaces, "default", () => !room.get(resources.configmaps, "lost"));
  t.ok(room.get(resources.configmaps, "a") && room.get(resources.configmaps, "b"));
  await room.delete(resources.configmaps, "a", { propagationPolicy: "Foreground" });
  await room.until(
    resources.namespaces,
    "default",
    () => !room.get(resources.configmaps, "a") && !room.get(resources.configmaps, "b"),
  );
});

t.test("namespaceController() empties a namespace and lets it go", async (t) => {
  const room = await controllerRoom(t, names);
  await room.create(resources.namespaces, { metadata: { name: "much" } });
  await room.create(resources.deployments, { ...deployment, metadata: { name: "web", namespace: "much" } });
  await room.create(resources.configmaps, {
    metadata: { name: "held", namespace: "much", finalizers: ["example.com/hold"] },
  });
  await room.until(resources.namespaces, "default", () => room.list(resources.pods, "much").length === 3);
  await room.delete(resources.namespaces, "much");
  const waiting = await room.until(resources.namespaces, "much", ({ status }) =>
    status?.conditions?.some(
      ({ type, status: answer }: Json) => type === "NamespaceFinalizersRemaining" && answer === "True",
    ),
  );
  t.match(JSON.stringify(waiting.status.conditions), /example.com\/hold/);
  await room.patch(resources.configmaps, "held", { metadata: { finalizers: null } }, undefined, "much");
  await room.until(resources.namespaces, "default", () => !room.get(resources.namespaces, "much"));
});
