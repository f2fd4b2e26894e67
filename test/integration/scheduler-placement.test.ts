// What happens between a decision and its binding: steps of plugins, and volumes that are taken at once.

import t, { type Test } from "tap";
import { configurationFrom } from "../../control/scheduler/configuration.ts";
import { uninterrupted } from "../../plugins/kit/base/call.ts";
import { resources } from "../../plugins/kit/kube/objects/resources.ts";
import type { PersistentVolume, PersistentVolumeClaim, Pod } from "../../plugins/kit/kube/objects/types.ts";
import type { PlacementPlugin } from "../../plugins/kit/contracts/scheduling.ts";
import { schedulerCluster } from "../harness/scheduler-cluster.ts";
import { availablePlugins, requesting } from "../harness/scheduling.ts";
import { until } from "../harness/until.ts";

const available = await availablePlugins();

const start = (t: Test, placement: PlacementPlugin[], config: object = {}) =>
  schedulerCluster(t, configurationFrom(config, { ...available, placement }, "config"));

const waits = (pod: Pod) =>
  pod.status?.conditions?.find(({ type, status }) => type === "PodScheduled" && status === "False");

t.test("a placement plugin holds pods until all of a gang are there, and a pod that is deleted lets go", async (t) => {
  const held = new Map<string, () => void>();
  const undone: string[] = [];
  const gang: PlacementPlugin = {
    name: "Gang",
    unreserve: ({ metadata }) => undone.push(metadata.name ?? ""),
    permit: ({ metadata }) => {
      if (!metadata.name?.startsWith("gang-")) return undefined;
      return new Promise((resolve) => {
        held.set(metadata.name ?? "", () => resolve(undefined));
        if (held.size === 3) for (const go of held.values()) go();
      });
    },
  };
  const { client, addNode, addPod, get } = await start(t, [gang]);
  await addNode("a", "3");
  await addPod("gang-1", requesting("1"));
  await addPod("gang-2", requesting("1"));
  await until("two to be held", () => held.size === 2);
  t.notOk((await get("gang-1")).spec?.nodeName, "room is taken, and not more");
  await addPod("big", requesting("2"));
  await until("another to find no room", async () => waits(await get("big"))?.message?.includes("Insufficient cpu"));
  await client.delete(resources.pods, { namespace: "default", name: "gang-2" }, uninterrupted, {
    gracePeriodSeconds: 0,
  });
  await until("room to be given back", () => undone.includes("gang-2"));
  await until("the other to get it", async () => (await get("big")).spec?.nodeName === "a");
  held.delete("gang-2");
  await addNode("b", "2");
  await addPod("gang-3", requesting("1"));
  await addPod("gang-4", requesting("1"));
  for (const name of ["gang-1", "gang-3", "gang-4"])
    await until("the gang to be bound", async () => (await get(name)).spec?.nodeName);
});

t.test("a refusal by reserve or permit is told, leaves nothing taken, and the pod is tried again", async (t) => {
  let isOpen = false;
  const steps: string[] = [];
  const guard: PlacementPlugin = {
    name: "Guard",
    reserve: ({ metadata }) => (metadata.name === "reserved" && !isOpen ? "not yet" : undefined),
    unreserve: ({ metadata }) => steps.push(`undo ${metadata.name}`),
    permit: async ({ metadata }) => (metadata.name === "permitted" && !isOpen ? "not now" : undefined),
    bound: ({ metadata }) => steps.push(`bound ${metadata.name}`),
  };
  const { addNode, addPod, get } = await start(t, [guard]);
  await addNode("a", "1");
  await addPod("reserved", requesting("1"));
  const told = await until("it to be told", async () => waits(await get("reserved")));
  t.match(told, { reason: "Unschedulable", message: "0/1 nodes are available: 1 not yet." });
  await addPod("permitted", requesting("1"));
  const later = await until("it to be told", async () => waits(await get("permitted")));
  t.match(later, { reason: "Unschedulable", message: "0/1 nodes are available: 1 not now." });
  await addPod("free", requesting("1"));
  await until("a third to get the room", async () => (await get("free")).spec?.nodeName === "a");
  isOpen = true;
  await addNode("b", "2");
  await until("the first to be bound", async () => (await get("reserved")).spec?.nodeName === "b");
  await until("the second to be bound", async () => (await get("permitted")).spec?.nodeName === "b");
  t.ok(steps.includes("undo reserved") && steps.includes("undo permitted") && steps.includes("bound free"));
});

t.test("a plugin binds in the API's place, and a profile without a binder says so", async (t) => {
  const nothing: PlacementPlugin = { name: "Nothing", bind: async () => false };
  const own: PlacementPlugin = {
    name: "Own",
    bind: async ({ metadata }, node, { client }, call) => {
      const { namespace = "", name = "" } = metadata;
      if (name === "mine") return false;
      const target = { kind: "Node", name: node.metadata.name };
      const binding = { apiVersion: "v1", kind: "Binding", metadata: { name }, target };
      await client.create(resources.pods, binding as never, call, { namespace, name, subresource: "binding" });
      return true;
    },
  };
  const config = { profiles: [{ plugins: { bind: { disabled: [{ name: "DefaultBinder" }] } } }] };
  const { addNode, addPod, get } = await start(t, [nothing, own], config);
  await addNode("a");
  await addPod("p", requesting("1"));
  await until("it to be bound", async () => (await get("p")).spec?.nodeName === "a");
  await addPod("mine", requesting("1"));
  const told = await until("it to be told", async () => waits(await get("mine")));
  t.match(told, { reason: "SchedulerError", message: /no plugin bound the pod/ });
});

t.test("two pods that wait for static volumes choose different ones at once", async (t) => {
  const { client, addNode, addPod, get } = await start(t, []);
  await addNode("n");
  const create = (ref: (typeof resources)[keyof typeof resources], object: object, namespace?: string) =>
    client.create(ref, object as never, uninterrupted, namespace ? { namespace } : {});
  await create(resources.storageclasses, {
    apiVersion: "storage.k8s.io/v1",
    kind: "StorageClass",
    metadata: { name: "by-hand" },
    provisioner: "kubernetes.io/no-provisioner",
    volumeBindingMode: "WaitForFirstConsumer",
  });
  const status = { phase: "Available" };
  for (const name of ["v1", "v2"]) {
    const made = await client.create<PersistentVolume>(
      resources.persistentvolumes,
      {
        apiVersion: "v1",
        kind: "PersistentVolume",
        metadata: { name },
        spec: {
          capacity: { storage: "1Gi" },
          accessModes: ["ReadWriteOnce"],
          storageClassName: "by-hand",
          hostPath: { path: "/tmp" },
        },
      } as never,
      uninterrupted,
    );
    const at = { name: made.metadata.name ?? "", subresource: "status" };
    await client.patch(resources.persistentvolumes, at, { type: "merge", body: { status } }, uninterrupted);
  }
  for (const name of ["c1", "c2"])
    await create(
      resources.persistentvolumeclaims,
      {
        apiVersion: "v1",
        kind: "PersistentVolumeClaim",
        metadata: { name },
        spec: {
          accessModes: ["ReadWriteOnce"],
          storageClassName: "by-hand",
          resources: { requests: { storage: "1Gi" } },
        },
      },
      "default",
    );
  const volumesOf = async () => {
    const { items } = await client.list<PersistentVolume>(resources.persistentvolumes, {}, uninterrupted);
    return items.map(({ spec }) => spec?.claimRef?.name ?? "").sort((a, b) => (a < b ? -1 : 1));
  };
  for (const name of ["c1", "c2"])
    await addPod(`p-${name}`, { volumes: [{ name: "v", persistentVolumeClaim: { claimName: name } }] });
  await until("both volumes to be reserved", async () => (await volumesOf()).join() === "c1,c2");
  t.notOk(waits(await get("p-c1")) ?? waits(await get("p-c2")), "neither had to be tried again");
  // Nobody else is here to complete the binding.
  for (const name of ["c1", "c2"]) {
    const { items } = await client.list<PersistentVolume>(resources.persistentvolumes, {}, uninterrupted);
    const volumeName = items.find(({ spec }) => spec?.claimRef?.name === name)?.metadata.name;
    const body = {
      metadata: { annotations: { "pv.kubernetes.io/bind-completed": "yes" } },
      spec: { volumeName },
    };
    await client.patch<PersistentVolumeClaim>(
      resources.persistentvolumeclaims,
      { namespace: "default", name },
      { type: "merge", body },
      uninterrupted,
    );
    await until("the pod to be bound", async () => (await get(`p-${name}`)).spec?.nodeName === "n");
  }
});
