// Volumes of a storage driver behind its sockets: registered through the folder, staged once, published for each pod, and taken away by an
// agent that has nothing in memory.

import { chmodSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import t from "tap";
import { SocketFolder } from "../../agent/plugin-sockets/plugin-sockets.ts";
import { noRecorder } from "../../agent/model/recorder.ts";
import { VolumeGrowth } from "../../agent/volumes/growth.ts";
import { openVolumeManager } from "../../agent/volumes/manager.ts";
import { within } from "../../plugins/kit/base/call.ts";
import type { ApiClient } from "../../plugins/kit/kube/client/api-client.ts";
import { systemClock } from "../../plugins/kit/base/clock.ts";
import { Fault } from "../../plugins/kit/base/fault.ts";
import { noLog } from "../../plugins/kit/base/log.ts";
import { type NodeDriver, nodeDriversKind } from "../../plugins/kit/contracts/node-drivers.ts";
import { mountsBelow, unmount } from "../../plugins/kit/os/platform/mount.ts";
import type { AnyPlugin } from "../../plugins/kit/base/plugin.ts";
import { pluginSocketsKind } from "../../plugins/kit/contracts/plugin-sockets.ts";
import { type CsiDriverObject, type PodObjects, podObjectsKind } from "../../plugins/kit/contracts/pod-objects.ts";
import { openPlugins } from "../../plugins/kit/base/registry.ts";
import { volumeKind } from "../../plugins/kit/contracts/volume.ts";
import { csi } from "../../plugins/volume/csi/csi.ts";
import { attachmentName } from "../../plugins/volume/csi/volume-request.ts";
import { startCsiDriver, type TestCsiDriver } from "../harness/csi-driver.ts";
import { testPod } from "../harness/pod-room.ts";
import { until } from "../harness/until.ts";

const patienceMs = 60_000;
const call = () => within(patienceMs);
const skip = canMount();

function canMount(): string | false {
  return process.getuid?.() === 0 ? false : "needs root to mount";
}

const source = { driver: "folders.test", volumeHandle: "v1", fsType: "ext4", volumeAttributes: { shape: "round" } };
const persistentVolume = (spec: object = {}) => ({
  apiVersion: "v1",
  kind: "PersistentVolume",
  metadata: { name: "pv" },
  spec: { csi: source, accessModes: ["ReadWriteOnce"], claimRef: { uid: "claim" }, ...spec },
});
const claim = {
  metadata: { name: "claim", uid: "claim", namespace: "default" },
  spec: { volumeName: "pv" },
  status: { phase: "Bound" },
};
const podWithClaim = (uid: string, securityContext = {}) =>
  testPod(
    "web",
    { volumes: [{ name: "data", persistentVolumeClaim: { claimName: "claim" } }], securityContext },
    { uid },
  );

interface World {
  driverObject: CsiDriverObject | undefined;
  attachment: { status?: { attached?: boolean; attachmentMetadata?: Record<string, string> } } | undefined;
  volume: object;
  claim: object;
}

async function openRoom(t: { teardown(then: () => unknown): void }) {
  const root = mkdtempSync(join(tmpdir(), "skiff-csi-"));
  const registryDir = join(root, "plugins_registry");
  const world: World = {
    driverObject: { spec: { attachRequired: false, volumeLifecycleModes: ["Persistent", "Ephemeral"] } },
    attachment: undefined,
    volume: persistentVolume(),
    claim,
  };
  const missing = (what: string) => new Fault("not-found", `${what} not found`);
  const objects = {
    csiDriver: async () => world.driverObject ?? Promise.reject(missing("driver")),
    volumeAttachment: async (name: string) => {
      if (name !== attachmentName({ driverName: source.driver, volumeHandle: source.volumeHandle }, "node"))
        throw missing(name);
      return world.attachment ?? Promise.reject(missing(name));
    },
    persistentVolumeClaim: async () => world.claim,
    persistentVolume: async () => world.volume,
    secret: async (_: string, name: string) => ({ metadata: { name }, data: { key: btoa(`of ${name}`) } }),
    token: async ({ audiences }: { audiences: string[] }) => ({
      token: `for ${audiences[0]}`,
      issuedAt: 0,
      expiresAt: 0,
    }),
  } as unknown as PodObjects;
  const client = {
    update: async (_: unknown, object: object) => {
      world.claim = object;
      return object;
    },
  } as unknown as ApiClient;
  const node = { drivers: new Map<string, NodeDriver>() };

  const start = async () => {
    const stop = new AbortController();
    const sockets = new SocketFolder({ dir: registryDir, clock: systemClock, log: noLog });
    const nodeDrivers = {
      nodeName: "node",
      set: (driver: NodeDriver) => void node.drivers.set(driver.name, driver),
      remove: (name: string) => void node.drivers.delete(name),
    };
    const own: AnyPlugin[] = [
      { kind: podObjectsKind, name: "test", open: () => objects },
      { kind: pluginSocketsKind, name: "test", open: () => sockets },
      { kind: nodeDriversKind, name: "test", open: () => nodeDrivers },
      csi as AnyPlugin,
    ];
    const stateDir = join(root, "state");
    const plugins = await openPlugins({ plugins: own, log: noLog, clock: systemClock, stateDir }, call());
    const manager = openVolumeManager({
      root,
      plugins: plugins.all(volumeKind),
      objects,
      growth: new VolumeGrowth({ objects, client, recorder: noRecorder, clock: systemClock }),
      clock: systemClock,
      log: noLog,
    });
    const refreshing = manager.run({ signal: stop.signal });
    const running = sockets.run({ signal: stop.signal });
    return {
      manager,
      close: async () => {
        stop.abort();
        await Promise.all([running, refreshing]);
        await plugins.close();
      },
    };
  };
  let agent = await start();
  const driver = await startCsiDriver({
    name: source.driver,
    dir: join(root, "driver"),
    registryDir,
    capabilities: [1, 2, 3],
  });
  const registered = () => until("the driver to be registered", () => driver.told.at(-1)?.pluginRegistered, patienceMs);
  await registered();
  t.teardown(async () => {
    await agent.close();
    driver.close();
    for (const path of mountsBelow(root).reverse()) unmount(path);
    rmSync(root, { recursive: true, force: true });
  });
  return {
    root,
    driver,
    world,
    node,
    registered,
    manager: () => agent.manager,
    restart: async () => {
      await agent.close();
      driver.told.length = 0;
      agent = await start();
      await registered();
    },
  };
}

const methods = (driver: TestCsiDriver) =>
  driver.calls.map(({ method }) => method).filter((method) => /stage|publish/.test(method));
const last = (driver: TestCsiDriver, wanted: string) =>
  driver.calls.findLast(({ method }) => method === wanted)?.request;

t.test(
  "csi: a persistent volume is staged once, published for each pod, and let go by the last",
  { skip },
  async (t) => {
    const { driver, manager, restart, root, node } = await openRoom(t);
    t.same(node.drivers.get(source.driver), {
      name: source.driver,
      nodeId: "id-of-folders.test",
      maxVolumes: 7,
      topology: { "folders.test/zone": "shed" },
    });

    const one = await manager().mount(podWithClaim("one"), call());
    const path = one.get("data")?.hostPath ?? "";
    writeFileSync(join(path, "note"), "kept");
    t.equal(readFileSync(join(driver.folder("v1"), "note"), "utf8"), "kept");
    t.same(manager().inUse(), ["kubernetes.io/csi/folders.test^v1"]);
    t.match(last(driver, "stage"), {
      volumeId: "v1",
      volumeContext: { shape: "round" },
      volumeCapability: { mount: { fsType: "ext4" }, accessMode: { mode: 1 } },
    });
    t.equal(last(driver, "publish").stagingTargetPath, last(driver, "stage").stagingTargetPath);

    const before = driver.calls.length;
    await manager().mount(podWithClaim("one"), call());
    t.same(
      driver.calls.slice(before).filter(({ method }) => /stage|publish/.test(method)),
      [],
      "what is there is not asked for again",
    );
    await manager().mount(podWithClaim("two"), call());
    await restart();
    await manager().unmountAll("one", call());
    t.notOk(methods(driver).includes("unstage"), "another pod uses it");
    t.notOk(existsSync(path));
    await manager().unmountAll("two", call());
    t.equal(methods(driver).at(-1), "unstage");
    await manager().unmountAll("two", call());
    t.same(mountsBelow(join(root, "pods")), []);
    t.same(mountsBelow(join(root, "state")), []);
    t.equal(readFileSync(join(driver.folder("v1"), "note"), "utf8"), "kept", "the data is the driver's");
  },
);

t.test(
  "csi: whatever fails half-way is completed later, also by an agent that was started since",
  { skip },
  async (t) => {
    const { driver, manager, restart, root } = await openRoom(t);
    driver.failing = "publish";
    await t.rejects(manager().mount(podWithClaim("one"), call()), /told to fail/);
    await restart();
    driver.failing = undefined;
    await manager().mount(podWithClaim("one"), call());

    for (const failing of ["unpublish", "unstage"]) {
      driver.failing = failing;
      await t.rejects(manager().unmountAll("one", call()), /told to fail/);
      await restart();
    }
    driver.failing = undefined;
    t.same(await manager().podsWithVolumes(call()), ["one"]);
    await manager().unmountAll("one", call());
    t.same(await manager().podsWithVolumes(call()), []);
    t.same(mountsBelow(root), []);

    driver.failing = "stage";
    await t.rejects(manager().mount(podWithClaim("one"), call()), /told to fail/);
    driver.failing = undefined;
    await manager().unmountAll("one", call());
    t.same(await manager().podsWithVolumes(call()), [], "one that never came up goes too");
  },
);

t.test("csi: attachment, secrets, pod facts, tokens and groups as the driver's object says", { skip }, async (t) => {
  const { driver, manager, world } = await openRoom(t);
  const nodeStageSecretRef = { name: "stage", namespace: "default" };
  const nodePublishSecretRef = { name: "publish", namespace: "default" };
  world.volume = persistentVolume({
    csi: { ...source, nodeStageSecretRef, nodePublishSecretRef },
    mountOptions: ["noatime"],
  });
  world.driverObject = { spec: { podInfoOnMount: true, tokenRequests: [{ audience: "vault" }] } };
  await t.rejects(manager().mount(podWithClaim("one"), call()), /not attached to this node yet/);
  t.same(methods(driver), [], "the driver is not asked before");
  world.attachment = { status: { attached: false } };
  await t.rejects(manager().mount(podWithClaim("one"), call()), /not attached to this node yet/);
  world.attachment = { status: { attached: true, attachmentMetadata: { device: "/dev/x" } } };

  mkdirSync(driver.folder("v1"), { recursive: true });
  writeFileSync(join(driver.folder("v1"), "file"), "");
  chmodSync(join(driver.folder("v1"), "file"), 0o600);
  const mounted = await manager().mount(podWithClaim("one", { fsGroup: 4242 }), call());
  const file = statSync(join(mounted.get("data")?.hostPath ?? "", "file"));
  t.equal(file.gid, 4242, "the node gives a ReadWriteOnce volume with a file system to the group");
  t.equal(file.mode & 0o777, 0o660);
  t.match(last(driver, "stage"), { secrets: { key: "of stage" }, publishContext: { device: "/dev/x" } });
  const published = last(driver, "publish");
  t.match(published, {
    secrets: { key: "of publish" },
    publishContext: { device: "/dev/x" },
    volumeCapability: { mount: { mountFlags: ["noatime"] } },
    volumeContext: { shape: "round", "csi.storage.k8s.io/pod.uid": "one", "csi.storage.k8s.io/ephemeral": "false" },
  });
  t.match(JSON.parse(published.volumeContext["csi.storage.k8s.io/serviceAccount.tokens"]), {
    vault: { token: "for vault" },
  });
  t.match(await manager().usage("kubernetes.io/csi", join(mounted.get("data")?.hostPath ?? "", ".."), call()), {
    capacityBytes: 1000,
    usedBytes: 300,
    inodesFree: 7,
  });
  await manager().unmountAll("one", call());

  world.driverObject = { spec: { attachRequired: false, fsGroupPolicy: "None" } };
  await manager().mount(podWithClaim("two", { fsGroup: 4343 }), call());
  t.equal(statSync(join(driver.folder("v1"), "file")).gid, 4242, "fsGroupPolicy None leaves files alone");
  await manager().unmountAll("two", call());
});

t.test(
  "csi: a volume written into the pod has no staging, and only drivers that say so take it",
  { skip },
  async (t) => {
    const { driver, manager, world, root } = await openRoom(t);
    const volumes = [{ name: "inline", csi: { driver: source.driver, volumeAttributes: { a: "b" } } }];
    world.driverObject = { spec: {} };
    await t.rejects(manager().mount(testPod("web", { volumes }, { uid: "one" }), call()), /"Ephemeral" not supported/);
    world.driverObject = { spec: { volumeLifecycleModes: ["Ephemeral"], podInfoOnMount: true } };
    await manager().mount(testPod("web", { volumes }, { uid: "one" }), call());
    t.same(methods(driver), ["publish"]);
    t.match(last(driver, "publish"), {
      volumeId: /^csi-[0-9a-f]{64}$/,
      volumeContext: { a: "b", "csi.storage.k8s.io/ephemeral": "true" },
    });
    await manager().unmountAll("one", call());
    t.equal(methods(driver).at(-1), "unpublish");
    t.same(mountsBelow(root), []);
  },
);

t.test("csi: a volume in use grows when the one behind it has, and the claim is told", { skip }, async (t) => {
  const { driver, manager, world } = await openRoom(t);
  const sized = (storage: string, more = {}) => persistentVolume({ capacity: { storage }, ...more });
  world.claim = { ...claim, status: { phase: "Bound", capacity: { storage: "1Gi" } } };
  world.volume = sized("1Gi");
  const mounted = await manager().mount(podWithClaim("one"), call());
  t.equal(last(driver, "expand"), undefined);

  const nodeExpandSecretRef = { name: "expand", namespace: "default" };
  world.volume = sized("2Gi", { csi: { ...source, nodeExpandSecretRef } });
  const allocated = { allocatedResources: { storage: "2Gi" } };
  const waiting = { ...allocated, allocatedResourceStatuses: { storage: "NodeResizePending" } };
  world.claim = { ...claim, status: { phase: "Bound", capacity: { storage: "1Gi" }, ...waiting } };
  driver.failing = "expand";
  manager().wake("one");
  const errors = () =>
    (world.claim as { status: { conditions?: { type: string; message: string }[] } }).status.conditions;
  await until(
    "the failure to be told",
    () => errors()?.some(({ message }) => /told to fail/.test(message)),
    patienceMs,
  );
  driver.failing = undefined;
  manager().wake("one");
  await until("the claim to have the size", () => !JSON.stringify(world.claim).includes("1Gi"), patienceMs);
  t.same(world.claim, {
    ...claim,
    apiVersion: "v1",
    kind: "PersistentVolumeClaim",
    status: { phase: "Bound", capacity: { storage: "2Gi" }, ...allocated },
  });
  t.match(last(driver, "expand"), {
    volumeId: "v1",
    volumePath: mounted.get("data")?.hostPath,
    stagingTargetPath: last(driver, "stage").stagingTargetPath,
    capacityRange: { requiredBytes: 2n * 1024n ** 3n },
    volumeCapability: { mount: { fsType: "ext4" }, accessMode: { mode: 1 } },
    secrets: { key: "of expand" },
  });
  await manager().unmountAll("one", call());
});

t.test("csi: a driver that goes away is taken out, and its volumes wait for it", { skip }, async (t) => {
  const { driver, manager, node, root } = await openRoom(t);
  await manager().mount(podWithClaim("one"), call());
  driver.close();
  await until("the driver to be out", () => node.drivers.size === 0, patienceMs);
  await t.rejects(manager().unmountAll("one", call()), /not found in the list of registered CSI drivers/);
  const again = await startCsiDriver({
    name: source.driver,
    dir: join(root, "driver"),
    registryDir: join(root, "plugins_registry"),
  });
  t.teardown(() => again.close());
  await until("the driver to be back", () => node.drivers.size === 1, patienceMs);
  await manager().unmountAll("one", call());
  t.same(mountsBelow(join(root, "pods")), []);
});
