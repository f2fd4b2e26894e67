// Volumes of a CSI driver through the real API; the test plays the driver's attacher and the nodes.

import t from "tap";
import { FakeClock } from "../../../plugins/kit/base/clock.ts";
import { resources } from "../../../plugins/kit/kube/objects/resources.ts";
import type { Json } from "../../../test/harness/api-server.ts";
import { type ControllerRoom, type ControllerRoomOptions, controllerRoom } from "../../../test/harness/controllers.ts";
import { until } from "../../../test/harness/until.ts";

const { volumeattachments: attachments, nodes, pods } = resources;
const driver = "disk.csi.example.com";
const inUse = `kubernetes.io/csi/${driver}^handle-data`;

interface Setting {
  readonly accessModes?: string[];
  readonly attachRequired?: boolean;
}

async function setUp(
  t: Parameters<typeof controllerRoom>[0],
  { accessModes = ["ReadWriteOnce"], attachRequired }: Setting = {},
  options: ControllerRoomOptions = {},
): Promise<ControllerRoom> {
  const room = await controllerRoom(t, ["attachdetach-controller"], { kubelet: false, nodes: ["a", "b"], ...options });
  const annotations = { "volumes.kubernetes.io/controller-managed-attach-detach": "true" };
  for (const name of ["a", "b"]) await room.patch(nodes, name, { metadata: { annotations } });
  if (attachRequired !== undefined)
    await room.create(resources.csidrivers, { metadata: { name: driver }, spec: { attachRequired } });
  const claim = await room.create(resources.persistentvolumeclaims, {
    metadata: { name: "data" },
    spec: { accessModes, resources: { requests: { storage: "1Gi" } }, volumeName: "pv-data", storageClassName: "" },
  });
  await room.create(resources.persistentvolumes, {
    metadata: { name: "pv-data" },
    spec: {
      accessModes,
      capacity: { storage: "1Gi" },
      csi: { driver, volumeHandle: "handle-data" },
      claimRef: { namespace: "default", name: "data", uid: claim.metadata.uid },
    },
  });
  return room;
}

const use = (room: ControllerRoom, name: string, nodeName: string) =>
  room.create(pods, {
    metadata: { name },
    spec: {
      nodeName,
      containers: [{ name: "c", image: "i" }],
      volumes: [{ name: "data", persistentVolumeClaim: { claimName: "data" } }],
    },
  });
const stop = (room: ControllerRoom, name: string) => room.delete(pods, name, { gracePeriodSeconds: 0 });

/** What the driver's attacher does: holds the object, and says when the disk is there. */
async function attach(room: ControllerRoom, nodeName: string): Promise<Json> {
  const found = await attachmentOn(room, nodeName);
  await room.patch(attachments, found.metadata.name, { status: { attached: true } }, "status");
  return found;
}
const attachmentOn = (room: ControllerRoom, nodeName: string): Promise<Json> =>
  until(`an attachment on ${nodeName}`, () => room.list(attachments).find(({ spec }) => spec.nodeName === nodeName));
const untilGone = (room: ControllerRoom) =>
  until("the attachment to go", () => (room.list(attachments).length === 0 ? true : undefined));
const setInUse = (room: ControllerRoom, nodeName: string, names: string[]) =>
  room.patch(nodes, nodeName, { status: { volumesInUse: names } }, "status");

t.test("a volume is attached where its pod is, told to the node, and detached when node and pod let go", async (t) => {
  const room = await setUp(t, { attachRequired: true });
  await use(room, "web", "a");
  const made = await attachmentOn(room, "a");
  t.match(made.spec, { attacher: driver, nodeName: "a", source: { persistentVolumeName: "pv-data" } });
  // sha256 of "handle-data" + driver + "a": the name that kubelets compute for themselves.
  t.equal(made.metadata.name, "csi-871ee6cab121d6f6d521aaae2bfd1200af54d9f7ac88f158d37961e87d26b3e7");
  t.notOk(room.get(nodes, "a").status.volumesAttached, "not before the driver says so");
  await attach(room, "a");
  await room.until(nodes, "a", ({ status }) => status.volumesAttached?.[0]?.name === inUse);
  t.match((await room.untilEvent("SuccessfulAttachVolume")).involvedObject, { kind: "Pod", name: "web" });

  await setInUse(room, "a", [inUse]);
  await stop(room, "web");
  await use(room, "other", "a");
  await stop(room, "other");
  t.ok(room.get(nodes, "a").status.volumesAttached, "the node still has it mounted");
  t.ok(room.get(attachments, made.metadata.name));
  await setInUse(room, "a", []);
  await untilGone(room);
  t.notOk(room.get(nodes, "a").status.volumesAttached?.length, "taken out of the node's list first");
});

t.test("an attachment that somebody else made is left alone", async (t) => {
  const room = await setUp(t);
  await use(room, "web", "a");
  const made = await attach(room, "a");
  const spec = { attacher: "other.example.com", nodeName: "a", source: { persistentVolumeName: "pv-other" } };
  await room.create(attachments, { metadata: { name: "by-hand" }, spec });
  await stop(room, "web");
  await until("its own to go", () => room.get(attachments, made.metadata.name) === undefined);
  t.ok(room.get(attachments, "by-hand"));
});

t.test("a driver that needs no attaching gets none, and a pod that ended keeps nothing", async (t) => {
  const room = await setUp(t, { attachRequired: false });
  await use(room, "web", "a");
  await room.patch(resources.csidrivers, driver, { metadata: { labels: { seen: "yes" } } });
  t.same(room.list(attachments), []);

  const other = await setUp(t);
  await use(other, "job", "a");
  await attach(other, "a");
  await other.patch(pods, "job", { status: { phase: "Succeeded" } }, "status");
  await untilGone(other);
  t.ok(other.get(pods, "job"), "the pod's object is still there");
});

t.test("a volume for one node waits until it has left the other; a shared one does not", async (t) => {
  const room = await setUp(t);
  await use(room, "first", "a");
  await attach(room, "a");
  await room.until(nodes, "a", ({ status }) => status.volumesAttached);
  await use(room, "second", "b");
  const told = await room.untilEvent("FailedAttachVolume");
  t.equal(told.message, 'Multi-Attach error for volume "pv-data" Volume is already used by pod(s) first');
  t.equal(room.list(attachments).length, 1);
  await stop(room, "first");
  await attachmentOn(room, "b");
  t.equal(room.list(attachments).length, 1);

  const shared = await setUp(t, { accessModes: ["ReadWriteMany"] });
  await use(shared, "first", "a");
  await use(shared, "second", "b");
  await attachmentOn(shared, "a");
  await attachmentOn(shared, "b");
});

t.test("what the driver cannot attach is told on the pod, once", async (t) => {
  const room = await setUp(t);
  await use(room, "web", "a");
  const { metadata } = await attachmentOn(room, "a");
  const attachError = { message: "rpc error: disk not found", time: new Date().toISOString() };
  await room.patch(attachments, metadata.name, { status: { attachError } }, "status");
  const told = await room.untilEvent("FailedAttachVolume");
  t.equal(told.message, 'AttachVolume.Attach failed for volume "pv-data" : rpc error: disk not found');
  await room.patch(attachments, metadata.name, { metadata: { labels: { again: "1" } } });
  await room.patch(nodes, "a", { status: { volumesInUse: ["kubernetes.io/csi/x^y"] } }, "status");
  t.equal(room.list(resources.events).filter(({ reason }) => reason === "FailedAttachVolume").length, 1);
});

t.test("a silent node loses what it holds after six minutes, one out of service at once", async (t) => {
  const clock = new FakeClock(Date.now());
  const room = await setUp(t, {}, { clock });
  await use(room, "web", "a");
  const made = await attach(room, "a");
  await room.until(nodes, "a", ({ status }) => status.volumesAttached);
  await setInUse(room, "a", [inUse]);
  await stop(room, "web");
  await clock.advance(20 * 60_000);
  t.ok(room.get(attachments, made.metadata.name), "a node that answers is never robbed");
  await room.patch(nodes, "a", { status: { conditions: [{ type: "Ready", status: "Unknown" }] } }, "status");
  await untilGone(room);

  await use(room, "web", "b");
  await attach(room, "b");
  await room.until(nodes, "b", ({ status }) => status.volumesAttached);
  await setInUse(room, "b", [inUse]);
  await room.patch(nodes, "b", { status: { conditions: [{ type: "Ready", status: "Unknown" }] } }, "status");
  await stop(room, "web");
  await clock.advance(5 * 60_000);
  t.equal(room.list(attachments).length, 1, "it may come back");
  const taint = { key: "node.kubernetes.io/out-of-service", value: "nodeshutdown", effect: "NoExecute" };
  await room.patch(nodes, "b", { spec: { taints: [taint] } });
  await untilGone(room);
});

t.test("a node that is gone holds nothing once its pods are gone too", async (t) => {
  const room = await setUp(t);
  await use(room, "web", "a");
  await attach(room, "a");
  await setInUse(room, "a", [inUse]);
  await room.delete(nodes, "a");
  t.equal(room.list(attachments).length, 1);
  await stop(room, "web");
  await untilGone(room);
});
