// Claims and volumes through the real API: bound, released, protected, provisioned and removed.

import t from "tap";
import { removalOf, resizeOf } from "../../../plugins/kit/kube/objects/local-path.ts";
import { resources } from "../../../plugins/kit/kube/objects/resources.ts";
import { type ControllerRoom, controllerRoom } from "../../../test/harness/controllers.ts";
import { until } from "../../../test/harness/until.ts";

const { persistentvolumes: volumes, persistentvolumeclaims: claims } = resources;
const names = [
  "persistent-volume-binder",
  "pvc-protection-controller",
  "pv-protection-controller",
  "ephemeral-volume-controller",
  "local-path-provisioner",
  "expand-controller",
];

const volume = (name: string, storage: string, more: object = {}) => ({
  metadata: { name },
  spec: {
    capacity: { storage },
    accessModes: ["ReadWriteOnce"],
    persistentVolumeReclaimPolicy: "Retain",
    hostPath: { path: `/volumes/${name}` },
    ...more,
  },
});
const claim = (name: string, storage: string, more: object = {}, annotations: Record<string, string> = {}) => ({
  metadata: { name, annotations, finalizers: ["kubernetes.io/pvc-protection"] },
  spec: { accessModes: ["ReadWriteOnce"], resources: { requests: { storage } }, storageClassName: "", ...more },
});
const boundTo = (room: ControllerRoom, name: string) =>
  room
    .until(claims, name, (object) => object.status?.phase === "Bound")
    .then((object) => object.spec.volumeName as string);

t.test("the binder gives each claim the smallest volume that does", async (t) => {
  const room = await controllerRoom(t, names);
  await room.create(volumes, volume("large", "10Gi"));
  await room.create(volumes, volume("small", "1Gi"));
  await room.create(volumes, volume("middle", "5Gi"));
  await room.create(volumes, volume("block", "4Gi", { volumeMode: "Block" }));
  await room.create(claims, claim("wants-four", "4Gi"));
  t.equal(await boundTo(room, "wants-four"), "middle");
  const middle = await room.until(volumes, "middle", (object) => object.status?.phase === "Bound");
  t.match(middle.spec.claimRef, { namespace: "default", name: "wants-four" });

  await room.create(claims, claim("asks-by-name", "1Gi", { volumeName: "large" }));
  t.equal(await boundTo(room, "asks-by-name"), "large");
  await room.create(claims, claim("too-big", "1Ti"));
  await room.untilEvent("FailedBinding");
  t.equal(room.get(claims, "too-big").status.phase, "Pending");
  await room.create(volumes, volume("huge", "2Ti"));
  t.equal(await boundTo(room, "too-big"), "huge", "a volume that comes later is found");
});

t.test("the binder respects labels, access modes and volumes that are kept for somebody", async (t) => {
  const room = await controllerRoom(t, names);
  await room.create(volumes, { ...volume("gold", "1Gi"), metadata: { name: "gold", labels: { tier: "gold" } } });
  await room.create(volumes, volume("kept", "1Gi", { claimRef: { namespace: "default", name: "owner" } }));
  await room.create(volumes, volume("shared", "1Gi", { accessModes: ["ReadWriteMany"] }));
  await room.create(claims, claim("many", "1Gi", { accessModes: ["ReadWriteMany"] }));
  t.equal(await boundTo(room, "many"), "shared");
  await room.create(claims, claim("picky", "1Gi", { selector: { matchLabels: { tier: "silver" } } }));
  await room.create(claims, claim("gilded", "1Gi", { selector: { matchLabels: { tier: "gold" } } }));
  t.equal(await boundTo(room, "gilded"), "gold");
  await room.create(claims, claim("owner", "1Gi"));
  t.equal(await boundTo(room, "owner"), "kept");
  t.equal(room.get(claims, "picky").status.phase, "Pending");
});

t.test(
  "protection keeps a claim while a pod uses it; then the volume is released, and stays under Retain",
  async (t) => {
    const room = await controllerRoom(t, names, { kubelet: false });
    await room.create(volumes, volume("disk", "1Gi"));
    await room.create(claims, claim("data", "1Gi"));
    await boundTo(room, "data");
    await room.create(resources.pods, {
      metadata: { name: "user" },
      spec: {
        nodeName: "node",
        containers: [{ name: "c", image: "i" }],
        volumes: [{ name: "data", persistentVolumeClaim: { claimName: "data" } }],
      },
    });
    await room.delete(claims, "data");
    t.ok(room.get(claims, "data").metadata.deletionTimestamp, "still there");
    await room.delete(resources.pods, "user", { gracePeriodSeconds: 0 });
    await until("the claim to go", () => room.get(claims, "data") === undefined);
    const disk = await room.until(volumes, "disk", (object) => object.status?.phase === "Released");
    t.equal(disk.spec.claimRef.name, "data", "nobody else gets it by itself");
  },
);

t.test("a claim whose volume is gone is lost", async (t) => {
  const room = await controllerRoom(t, names);
  await room.create(volumes, volume("disk", "1Gi"));
  await room.create(claims, claim("data", "1Gi"));
  await boundTo(room, "data");
  await room.patch(volumes, "disk", { metadata: { finalizers: null } });
  await room.delete(volumes, "disk");
  await room.until(claims, "data", (object) => object.status?.phase === "Lost");
  t.match((await room.untilEvent("ClaimLost")).type, "Warning");
});

t.test("an ephemeral volume becomes a claim that its pod owns", async (t) => {
  const room = await controllerRoom(t, names, { kubelet: false });
  const template = { metadata: { labels: { a: "b" } }, spec: claim("x", "1Gi").spec };
  const pod = await room.create(resources.pods, {
    metadata: { name: "web" },
    spec: {
      containers: [{ name: "c", image: "i" }],
      volumes: [{ name: "scratch", ephemeral: { volumeClaimTemplate: template } }],
    },
  });
  const made = await room.until(claims, "web-scratch", () => true);
  t.match(made.metadata, { labels: { a: "b" }, ownerReferences: [{ kind: "Pod", uid: pod.metadata.uid }] });
});

const localPathClass = {
  metadata: { name: "local-path" },
  provisioner: "skiff.io/local-path",
  reclaimPolicy: "Delete",
  volumeBindingMode: "WaitForFirstConsumer",
  allowVolumeExpansion: true,
};
const rootAnnotation = { metadata: { annotations: { "skiff.io/local-path-root": "/data" } } };
const chosen = { "volume.kubernetes.io/selected-node": "node" };

t.test("a volume under Recycle is emptied by a pod and free again; one that cannot be is failed", async (t) => {
  const room = await controllerRoom(t, names, { kubelet: false });
  const recycled = { persistentVolumeReclaimPolicy: "Recycle" };
  await room.create(volumes, volume("disk", "1Gi", recycled));
  await room.create(claims, claim("data", "1Gi"));
  await boundTo(room, "data");
  await room.delete(claims, "data");
  const pod = await room.until(resources.pods, "recycler-for-disk", () => true);
  t.match(pod.spec.volumes, [{ hostPath: { path: "/volumes/disk" } }]);
  t.equal(room.get(volumes, "disk").status.phase, "Released");
  await room.patch(resources.pods, "recycler-for-disk", { status: { phase: "Succeeded" } }, "status");
  const free = await room.until(volumes, "disk", ({ status }) => status.phase === "Available");
  t.notOk(free.spec.claimRef);
  await until("the pod to go", () => room.get(resources.pods, "recycler-for-disk") === undefined);

  await room.create(claims, claim("again", "1Gi"));
  await boundTo(room, "again");
  await room.delete(claims, "again");
  await room.until(resources.pods, "recycler-for-disk", () => true);
  const failed = { status: { phase: "Failed", message: "no such directory" } };
  await room.patch(resources.pods, "recycler-for-disk", failed, "status");
  const status = await room.until(volumes, "disk", (object) => object.status.phase === "Failed");
  t.match(status.status, { reason: "VolumeFailedRecycle", message: /no such directory/ });
  t.equal((await room.untilEvent("VolumeFailedRecycle")).type, "Warning");
});

t.test("a claim of local-path grows: the volume, then the directory on its node, then the claim says so", async (t) => {
  const room = await controllerRoom(t, names);
  await room.create(resources.storageclasses, localPathClass);
  await room.patch(resources.nodes, "node", rootAnnotation);
  await room.create(claims, claim("data", "1Gi", { storageClassName: "local-path" }, chosen));
  const name = await boundTo(room, "data");
  await room.patch(claims, "data", { spec: { resources: { requests: { storage: "2Gi" } } } });
  const asked = await room.until(resources.nodes, "node", ({ metadata }) => metadata.annotations?.[resizeOf(name)]);
  t.equal(asked.metadata.annotations[resizeOf(name)], String(2 * 2 ** 30));
  t.equal(room.get(volumes, name).spec.capacity.storage, "2Gi");
  const waiting = await room.until(claims, "data", ({ status }) => status.conditions);
  t.match(waiting.status, { capacity: { storage: "1Gi" }, conditions: [{ type: "Resizing", status: "True" }] });
  await room.patch(resources.nodes, "node", { metadata: { annotations: { [resizeOf(name)]: null } } });
  const grown = await room.until(claims, "data", ({ status }) => status.capacity.storage === "2Gi");
  t.notOk(grown.status.conditions);
  await room.untilEvent("VolumeResizeSuccessful");
  await t.rejects(
    room.patch(claims, "data", { spec: { resources: { requests: { storage: "1Gi" } } } }),
    /field can not be less than status.capacity/,
  );
});

t.test("a claim whose volume nobody here can enlarge says that it waits for somebody else", async (t) => {
  const room = await controllerRoom(t, names);
  await room.create(volumes, volume("disk", "1Gi"));
  await room.create(claims, claim("data", "1Gi"));
  await boundTo(room, "data");
  await room.patch(claims, "data", { spec: { resources: { requests: { storage: "2Gi" } } } });
  t.match((await room.untilEvent("ExternalExpanding")).message, /waiting for an external controller/);
});

t.test("local-path waits for a node, makes a volume there, and has the node remove it", async (t) => {
  const room = await controllerRoom(t, names);
  await room.create(resources.storageclasses, localPathClass);
  await room.patch(resources.nodes, "node", rootAnnotation);
  await room.create(claims, claim("data", "1Gi", { storageClassName: "local-path" }));
  await room.untilEvent("WaitForFirstConsumer");
  t.equal(room.list(volumes).length, 0);
  await room.patch(claims, "data", { metadata: { annotations: chosen } });
  const name = await boundTo(room, "data");
  t.equal(room.get(volumes, name).spec.hostPath.path, `/data/${name}`);

  await room.delete(claims, "data");
  await room.until(resources.nodes, "node", ({ metadata }) => metadata.annotations?.[removalOf(name)] === "asked");
  t.ok(room.get(volumes, name), "the object stays until the directory is gone");
  await room.patch(resources.nodes, "node", { metadata: { annotations: { [removalOf(name)]: null } } });
  await until("the volume to go", () => room.get(volumes, name) === undefined);
});
