// A pod with a volume of a storage driver, on a real containerd: the node tells the cluster of the driver, waits for the attachment, and lets
// the volume go also when the agent was killed in between.

import { readFileSync } from "node:fs";
import { join } from "node:path";
import t from "tap";
import { mountsBelow } from "../../plugins/kit/os/platform/mount.ts";
import { attachmentName } from "../../plugins/volume/csi/volume-request.ts";
import { withoutContainerd } from "../harness/containerd.ts";
import { startCsiDriver } from "../harness/csi-driver.ts";
import { busyboxImageName as image } from "../harness/images.ts";
import { RoughNode } from "../harness/rough-node.ts";

t.setTimeout(300_000);
const driverName = "folders.test";
const volumeHandle = "v1";

t.test("a pod on a storage driver's volume", { skip: withoutContainerd(), timeout: 300_000 }, async (t) => {
  const node = await RoughNode.open(t);
  const post = async (path: string, body: object) => {
    const { status, text } = await node.api.ask("POST", path, body);
    if (status !== 201) throw new Error(text);
  };
  node.startAgent();
  const driver = await startCsiDriver({
    name: driverName,
    dir: join(node.containerd.dir, "csi"),
    registryDir: join(node.dataDir, "plugins_registry"),
    capabilities: [1, 2, 3],
  });
  t.teardown(() => driver.close());

  await node.becomes("the node's drivers to be told", async () => {
    const { status } = await node.api.ask("GET", "/apis/storage.k8s.io/v1/csinodes/node");
    return status === 200;
  });
  const { body: csiNode } = await node.api.ask("GET", "/apis/storage.k8s.io/v1/csinodes/node");
  t.match(csiNode.spec.drivers, [
    {
      name: driverName,
      nodeID: `id-of-${driverName}`,
      topologyKeys: [`${driverName}/zone`],
      allocatable: { count: 7 },
    },
  ]);
  t.match(csiNode.metadata.ownerReferences, [{ kind: "Node", name: "node" }]);
  const { body: nodeObject } = await node.api.ask("GET", "/api/v1/nodes/node");
  t.equal(nodeObject.metadata.labels[`${driverName}/zone`], "shed");
  t.match(JSON.parse(nodeObject.metadata.annotations["csi.volume.kubernetes.io/nodeid"]), {
    [driverName]: `id-of-${driverName}`,
  });

  const storage = "/apis/storage.k8s.io/v1";
  await post(`${storage}/csidrivers`, {
    apiVersion: "storage.k8s.io/v1",
    kind: "CSIDriver",
    metadata: { name: driverName },
    spec: { attachRequired: true },
  });
  await post("/api/v1/persistentvolumes", {
    apiVersion: "v1",
    kind: "PersistentVolume",
    metadata: { name: "pv" },
    spec: {
      capacity: { storage: "1Mi" },
      accessModes: ["ReadWriteOnce"],
      claimRef: { namespace: "default", name: "claim", uid: "" },
      csi: { driver: driverName, volumeHandle },
    },
  });
  await post("/api/v1/namespaces/default/persistentvolumeclaims", {
    apiVersion: "v1",
    kind: "PersistentVolumeClaim",
    metadata: { name: "claim" },
    spec: { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "1Mi" } }, volumeName: "pv" },
  });
  const claimPath = "/api/v1/namespaces/default/persistentvolumeclaims/claim";
  const { body: claim } = await node.api.ask("GET", claimPath);
  const merge = { "content-type": "application/merge-patch+json" };
  await node.api.ask(
    "PATCH",
    `${claimPath}/status`,
    { status: { phase: "Bound", capacity: { storage: "1Mi" } } },
    merge,
  );
  const bound = { spec: { claimRef: { uid: claim.metadata.uid } } };
  await node.api.ask("PATCH", "/api/v1/persistentvolumes/pv", bound, merge);

  await node.create("user", {
    containers: [
      {
        name: "main",
        image,
        command: ["sh", "-c", "echo kept > /data/note; trap 'exit 0' TERM; while true; do sleep 0.1; done"],
        volumeMounts: [{ name: "data", mountPath: "/data" }],
      },
    ],
    volumes: [{ name: "data", persistentVolumeClaim: { claimName: "claim" } }],
  });
  await node.becomes("an event that says what is awaited", async () => {
    const { body } = await node.api.ask("GET", "/api/v1/namespaces/default/events");
    return (body.items as { message: string }[]).some(({ message }) => /not attached to this node yet/.test(message));
  });
  const attachment = attachmentName({ driverName, volumeHandle }, "node");
  await post(`${storage}/volumeattachments`, {
    apiVersion: "storage.k8s.io/v1",
    kind: "VolumeAttachment",
    metadata: { name: attachment },
    spec: { attacher: driverName, nodeName: "node", source: { persistentVolumeName: "pv" } },
  });
  const attached = { status: { attached: true, attachmentMetadata: { slot: "3" } } };
  await node.api.ask("PATCH", `${storage}/volumeattachments/${attachment}/status`, attached, merge);
  await node.ready("user");
  t.equal(readFileSync(join(driver.folder(volumeHandle), "note"), "utf8"), "kept\n");
  t.match(driver.calls.find(({ method }) => method === "publish")?.request.publishContext, { slot: "3" });

  // As an outside resizer does it: the volume first, then the claim says that the node's turn has come.
  await node.api.ask("PATCH", "/api/v1/persistentvolumes/pv", { spec: { capacity: { storage: "2Mi" } } }, merge);
  const pending = {
    allocatedResources: { storage: "2Mi" },
    allocatedResourceStatuses: { storage: "NodeResizePending" },
    conditions: [{ type: "FileSystemResizePending", status: "True" }],
  };
  await node.api.ask("PATCH", `${claimPath}/status`, { status: pending }, merge);
  // What files may show of the pod has changed, so its volumes are looked at now rather than within the minute.
  const touched = { metadata: { annotations: { touched: "yes" } } };
  await node.api.ask("PATCH", "/api/v1/namespaces/default/pods/user", touched, merge);
  await node.becomes("the claim to have what the volume has", async () => {
    const { body } = await node.api.ask("GET", claimPath);
    return body.status.capacity.storage === "2Mi";
  });
  const { body: grown } = await node.api.ask("GET", claimPath);
  t.same([grown.status.allocatedResourceStatuses, grown.status.conditions], [undefined, undefined]);
  t.match(
    driver.calls.filter(({ method }) => method === "expand"),
    { length: 1 },
  );

  await node.killAgent();
  await node.remove("user");
  driver.failing = "unpublish";
  node.startAgent();
  await node.becomes("the driver to be asked", () => driver.calls.at(-1)?.method === "unpublish");
  await node.killAgent();
  driver.failing = undefined;
  node.startAgent();
  await node.gone("user");
  await node.nothingLeft();
  t.equal(driver.calls.filter(({ method }) => method === "unstage").length, 1);
  t.same(mountsBelow(node.dataDir), [], "nothing is staged any more");
});
