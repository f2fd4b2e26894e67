// The whole way of a claim on a storage driver that attaches, with real pods: the scheduler picks a node, a volume is made and bound,
// attached, mounted; its data is there for the next pod; and it is detached only after the node has let go of it.

import { mkdirSync, mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import t from "tap";
import type { Json } from "../harness/api-server.ts";
import { startCsiDriver } from "../harness/csi-driver.ts";
import { busyboxImage, busyboxImageName, imageArchive } from "../harness/images.ts";
import { startSkiff } from "../harness/skiff.ts";
import { until } from "../harness/until.ts";

const driverName = "folders.test";
const volumeHandle = "one";
const patience = "--timeout=120s";
const patienceMs = 120_000;

t.test("a claim is provisioned, bound, attached, mounted, and let go in order", { timeout: 400_000 }, async (t) => {
  const dataDir = mkdtempSync(join(tmpdir(), "skiff-attached-"));
  mkdirSync(join(dataDir, "images"));
  writeFileSync(join(dataDir, "images", "busybox.tar"), await imageArchive(busyboxImage()));
  const skiff = await startSkiff({ dataDir, flags: ["--runtime=native"] });
  t.teardown(async () => {
    if (!t.passing()) process.stderr.write(skiff.log().split("\n").slice(-60).join("\n"));
    await skiff.stop();
    driver.close();
    skiff.remove();
  });
  const driver = await startCsiDriver({
    name: driverName,
    dir: join(dataDir, "csi-driver"),
    registryDir: join(dataDir, "plugins_registry"),
  });
  const get = async (...args: string[]): Promise<Json> => JSON.parse(await skiff.kubectl("get", ...args, "-o", "json"));
  await until(
    "the node to know the driver",
    async () => (await get("csinode", skiff.nodeName)).spec.drivers.length > 0,
    patienceMs,
  );
  const claimSpec = {
    storageClassName: "folders",
    accessModes: ["ReadWriteOnce"],
    resources: { requests: { storage: "1Mi" } },
  };
  const pod = (name: string, command: string) => ({
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name },
    spec: {
      restartPolicy: "Never",
      terminationGracePeriodSeconds: 1,
      containers: [
        {
          name: "c",
          image: busyboxImageName,
          imagePullPolicy: "Never",
          command: ["sh", "-c", command],
          volumeMounts: [{ name: "data", mountPath: "/data" }],
        },
      ],
      volumes: [{ name: "data", persistentVolumeClaim: { claimName: "data" } }],
    },
  });
  await skiff.apply(
    {
      apiVersion: "storage.k8s.io/v1",
      kind: "CSIDriver",
      metadata: { name: driverName },
      spec: { attachRequired: true },
    },
    {
      apiVersion: "storage.k8s.io/v1",
      kind: "StorageClass",
      metadata: { name: "folders" },
      provisioner: driverName,
      volumeBindingMode: "WaitForFirstConsumer",
    },
    { apiVersion: "v1", kind: "PersistentVolumeClaim", metadata: { name: "data" }, spec: claimSpec },
    pod("writer", "echo kept > /data/note; exec sleep 100000"),
  );

  // What the driver's provisioner does when the scheduler has chosen a node.
  const claim = await until(
    "the scheduler's choice",
    async () => {
      const found = await get("pvc", "data");
      return found.metadata.annotations?.["volume.kubernetes.io/selected-node"] === skiff.nodeName ? found : undefined;
    },
    patienceMs,
  );
  await skiff.apply({
    apiVersion: "v1",
    kind: "PersistentVolume",
    metadata: { name: "pv-data", annotations: { "pv.kubernetes.io/provisioned-by": driverName } },
    spec: {
      storageClassName: "folders",
      accessModes: ["ReadWriteOnce"],
      capacity: { storage: "1Mi" },
      claimRef: {
        apiVersion: "v1",
        kind: "PersistentVolumeClaim",
        namespace: "default",
        name: "data",
        uid: claim.metadata.uid,
      },
      csi: { driver: driverName, volumeHandle },
    },
  });
  const attachments = async (): Promise<Json[]> => (await get("volumeattachments")).items;
  /** What the driver's attacher does. */
  const attach = async () => {
    const [found] = await until(
      "an attachment",
      async () => {
        const all = await attachments();
        return all.length === 1 ? all : undefined;
      },
      patienceMs,
    );
    t.match(found.spec, {
      attacher: driverName,
      nodeName: skiff.nodeName,
      source: { persistentVolumeName: "pv-data" },
    });
    const status = JSON.stringify({ status: { attached: true } });
    await skiff.kubectl(
      "patch",
      "volumeattachment",
      found.metadata.name,
      "--subresource=status",
      "--type=merge",
      "-p",
      status,
    );
  };
  await attach();
  await skiff.kubectl("wait", "--for=condition=Ready", "pod/writer", patience);
  await until(
    "the note",
    () => readFileSync(join(driver.folder(volumeHandle), "note"), "utf8") === "kept\n",
    patienceMs,
  );
  const unique = `kubernetes.io/csi/${driverName}^${volumeHandle}`;
  const { status } = await get("node", skiff.nodeName);
  t.same(status.volumesAttached, [{ name: unique, devicePath: "" }]);
  await until(
    "the node to say that it uses it",
    async () => (await get("node", skiff.nodeName)).status.volumesInUse?.[0] === unique,
    patienceMs,
  );

  await skiff.kubectl("delete", "pod", "writer", patience);
  await until("it to be detached", async () => (await attachments()).length === 0, patienceMs);
  t.ok(
    driver.calls.some(({ method }) => method === "unstage"),
    "after the node let go of it",
  );
  t.notOk((await get("node", skiff.nodeName)).status.volumesAttached);

  await skiff.apply(pod("reader", "cat /data/note"));
  await attach();
  await skiff.kubectl("wait", "--for=jsonpath={.status.phase}=Succeeded", "pod/reader", patience);
  t.equal(await skiff.kubectl("logs", "reader"), "kept\n");
  await until("it to be detached from a pod that ended", async () => (await attachments()).length === 0, patienceMs);
});
