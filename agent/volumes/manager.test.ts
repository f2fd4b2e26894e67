import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { queryObjects } from "node:v8";
import t from "tap";
import { uninterrupted } from "../../plugins/kit/base/call.ts";
import { FakeClock } from "../../plugins/kit/base/clock.ts";
import { Fault } from "../../plugins/kit/base/fault.ts";
import { noLog } from "../../plugins/kit/base/log.ts";
import type { Plugin } from "../../plugins/kit/base/plugin.ts";
import { mountsBelow, unmount } from "../../plugins/kit/os/platform/mount.ts";
import { type PodObjects, podObjectsKind } from "../../plugins/kit/contracts/pod-objects.ts";
import type { VolumePlugin } from "../../plugins/kit/contracts/volume.ts";
import { volumes } from "../../plugins/volume/index.ts";
import type { AgentPod } from "../model/agent-pod.ts";
import { openVolumeManager } from "./manager.ts";

interface World {
  root: string;
  clock: FakeClock;
  configMaps: Map<string, Record<string, string>>;
  tokens: number;
  open(): ReturnType<typeof openVolumeManager>;
}

async function world(t: { teardown(then: () => void): void }): Promise<World> {
  const root = mkdtempSync(join(tmpdir(), "skiff-volumes-"));
  t.teardown(() => {
    for (const point of mountsBelow(root).reverse()) unmount(point);
    rmSync(root, { recursive: true });
  });
  const clock = new FakeClock();
  const here: World = {
    root,
    clock,
    configMaps: new Map(),
    tokens: 0,
    open: () => openVolumeManager({ root, plugins, objects, clock, log: noLog }),
  };
  const absent = (what: string) => Promise.reject(new Fault("not-found", `${what} not found`));
  const objects = {
    configMap: async (namespace: string, name: string) => {
      const data = here.configMaps.get(name);
      return data ? { metadata: { namespace, name }, data } : absent(`configmaps "${name}"`);
    },
    secret: async () => ({ metadata: {}, data: { password: Buffer.from("s3cret").toString("base64") } }),
    persistentVolumeClaim: async (_: string, name: string) => ({
      metadata: { name, uid: "claim" },
      spec: { volumeName: "pv" },
      status: { phase: "Bound" },
    }),
    persistentVolume: async () => ({
      metadata: { name: "pv", annotations: { "pv.beta.kubernetes.io/gid": "77" } },
      spec: { claimRef: { uid: "claim" }, local: { path: join(root, "disk") }, capacity: {} },
    }),
    token: async () => ({ token: `token-${++here.tokens}`, issuedAt: clock.now(), expiresAt: clock.now() + 3_600_000 }),
    trustBundle: () => absent("bundle"),
    node: () => undefined,
  } as unknown as PodObjects;
  const all = ({ name }: { name: string }) => (name === podObjectsKind.name ? [objects] : []);
  const host = { settings: undefined, log: noLog, clock, stateDir: root, all, onClose: () => {} };
  const plugins: VolumePlugin[] = [];
  for (const plugin of volumes as Plugin<VolumePlugin>[]) plugins.push(await plugin.open(host as never, uninterrupted));
  return here;
}

function pod(specVolumes: object[], more: object = {}): AgentPod {
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name: "p", namespace: "n", uid: "uid-1", labels: { app: "web" } },
    spec: {
      containers: [{ name: "c", image: "i", volumeMounts: [{ name: "data", mountPath: "/d" }] }],
      volumes: specVolumes,
      ...more,
    },
  } as unknown as AgentPod;
}

t.test(
  "mount() makes every volume appear and unmountAll() leaves nothing, also by a manager that knows nothing",
  async (t) => {
    const here = await world(t);
    here.configMaps.set("settings", { "app.conf": "x=1" });
    mkdirSync(join(here.root, "disk"));
    const mounted = await here.open().mount(
      pod([
        { name: "data", emptyDir: {} },
        { name: "memory", emptyDir: { medium: "Memory", sizeLimit: "1Mi" } },
        { name: "settings", configMap: { name: "settings" } },
        { name: "secret", secret: { secretName: "s", defaultMode: 0o400 } },
        { name: "self", downwardAPI: { items: [{ path: "labels", fieldRef: { fieldPath: "metadata.labels" } }] } },
        {
          name: "token",
          projected: { sources: [{ serviceAccountToken: { path: "token" } }, { configMap: { name: "settings" } }] },
        },
        { name: "claim", persistentVolumeClaim: { claimName: "claim" } },
        { name: "picture", image: { reference: "img:1" } },
      ]),
      uninterrupted,
    );
    const text = (name: string, file: string) => readFileSync(join(mounted.get(name)?.hostPath ?? "", file), "utf8");
    t.equal(text("settings", "app.conf"), "x=1");
    t.equal(text("secret", "password"), "s3cret");
    t.equal(text("self", "labels"), 'app="web"');
    t.equal(text("token", "token"), "token-1");
    t.equal(text("token", "app.conf"), "x=1");
    t.equal(mounted.get("claim")?.hostPath, join(here.root, "disk"));
    t.same(mounted.get("picture"), { hostPath: "", image: { reference: "img:1" }, readOnly: true });
    t.equal(statSync(mounted.get("data")?.hostPath ?? "").mode & 0o7777, 0o777);
    t.equal(mountsBelow(here.root).length, 4, "memory, secret, self and token are in memory");

    const later = here.open();
    t.same(await later.podsWithVolumes(uninterrupted), ["uid-1"]);
    await later.unmountAll("uid-1", uninterrupted);
    t.same(mountsBelow(here.root), []);
    t.same(readdirSync(join(here.root, "pods")), []);
    t.ok(existsSync(join(here.root, "disk")), "what belongs to the node stays");
    await later.unmountAll("uid-1", uninterrupted);
  },
);

t.test("mount() gives fsGroup the files", async (t) => {
  const here = await world(t);
  const mounted = await here.open().mount(
    pod(
      [
        { name: "data", emptyDir: {} },
        { name: "secret", secret: { secretName: "s" } },
      ],
      { securityContext: { fsGroup: 4321 } },
    ),
    uninterrupted,
  );
  t.equal(statSync(mounted.get("data")?.hostPath ?? "").gid, 4321);
  const file = statSync(join(mounted.get("secret")?.hostPath ?? "", "password"));
  t.equal(file.gid, 4321);
  t.equal(file.mode & 0o440, 0o440);
});

t.test("mount() applies fsGroup once for a pod, also across a restart of the agent", async (t) => {
  const here = await world(t);
  mkdirSync(join(here.root, "disk/sub"), { recursive: true });
  const own = pod(
    [
      { name: "data", emptyDir: {} },
      { name: "claim", persistentVolumeClaim: { claimName: "claim" } },
    ],
    { securityContext: { fsGroup: 4321 } },
  );
  const manager = here.open();
  const mounted = await manager.mount(own, uninterrupted);
  const dirs = [mounted.get("data")?.hostPath ?? "", join(here.root, "disk/sub")];
  const modes = () => dirs.map((dir) => (statSync(dir).mode & 0o7777).toString(8));
  t.same(modes(), ["2777", "2775"]);
  for (const dir of dirs) chmodSync(dir, 0o700);
  await manager.mount(own, uninterrupted);
  t.same(modes(), ["700", "700"], "what a container made of it stays when another one starts");
  const next = here.open();
  await next.mount(own, uninterrupted);
  t.same(modes(), ["700", "700"]);
  await next.unmountAll("uid-1", uninterrupted);
  t.notOk(existsSync(join(here.root, "pods/uid-1")), "nothing is left of the pod");
  await next.mount(own, uninterrupted);
  t.same(modes(), ["2777", "2770"], "a pod that comes after gets it again");
});

t.test("mount() makes content volumes read-only whatever the container's mount says", async (t) => {
  const here = await world(t);
  here.configMaps.set("settings", { key: "x" });
  const mounted = await here.open().mount(
    pod([
      { name: "data", emptyDir: {} },
      { name: "settings", configMap: { name: "settings" } },
      { name: "secret", secret: { secretName: "s" } },
      { name: "self", downwardAPI: { items: [{ path: "labels", fieldRef: { fieldPath: "metadata.labels" } }] } },
      { name: "all", projected: { sources: [{ configMap: { name: "settings" } }] } },
    ]),
    uninterrupted,
  );
  const isReadOnly = Object.fromEntries([...mounted].map(([name, { readOnly }]) => [name, readOnly ?? false]));
  t.same(isReadOnly, { data: false, settings: true, secret: true, self: true, all: true });
});

t.test("mount() names the volume and what is wrong with it", async (t) => {
  const here = await world(t);
  const rows = [
    {
      name: "missing config map",
      volume: { name: "v", configMap: { name: "absent" } },
      message: /MountVolume\.SetUp failed for volume "v" : configmaps "absent" not found/,
    },
    {
      name: "missing key",
      volume: { name: "v", secret: { secretName: "s", items: [{ key: "nope", path: "x" }] } },
      message: /references non-existent config key: nope/,
    },
    {
      name: "hostPath of another type",
      volume: { name: "v", hostPath: { path: "/etc", type: "File" } },
      message: /\/etc is not a file/,
    },
    {
      name: "escape by item path",
      volume: { name: "v", secret: { secretName: "s", items: [{ key: "password", path: "../x" }] } },
      message: /relative path/,
    },
    { name: "unknown kind", volume: { name: "v", quobyte: {} }, message: /no volume plugin matched quobyte/ },
  ];
  for (const row of rows)
    await t.rejects(here.open().mount(pod([row.volume]), uninterrupted), { message: row.message }, row.name);
  const optional = { name: "v", configMap: { name: "absent", optional: true } };
  t.equal((await here.open().mount(pod([optional]), uninterrupted)).size, 1, "an optional one that is absent is empty");
});

t.test("run() brings live content up to date when woken, and renews tokens when they are due", async (t) => {
  const here = await world(t);
  here.configMaps.set("settings", { a: "1" });
  const manager = here.open();
  const mounted = await manager.mount(
    pod([
      { name: "settings", configMap: { name: "settings" } },
      { name: "token", projected: { sources: [{ serviceAccountToken: { path: "token" } }] } },
    ]),
    uninterrupted,
  );
  const stop = new AbortController();
  const running = manager.run({ signal: stop.signal });
  here.configMaps.set("settings", { a: "2" });
  manager.wake("uid-1");
  const file = join(mounted.get("settings")?.hostPath ?? "", "a");
  while (readFileSync(file, "utf8") !== "2") await new Promise((resolve) => setImmediate(resolve));
  t.equal(here.tokens, 1, "a token that is not due is kept");
  const token = join(mounted.get("token")?.hostPath ?? "", "token");
  // The round that wrote the settings may still go on: the next one is set only when it has ended.
  while (readFileSync(token, "utf8") !== "token-2") await here.clock.advance(60_000);
  stop.abort();
  await running;
});

t.test("run() does not accumulate promises over its rounds", async (t) => {
  const here = await world(t);
  const stop = new AbortController();
  const running = here.open().run(stop);
  const promisesAfter = async (rounds: number) => {
    for (let round = 0; round < rounds; round++) await here.clock.advance(60_000);
    return queryObjects(Promise, { format: "count" });
  };
  const before = await promisesAfter(10);
  t.ok((await promisesAfter(300)) - before < 100);
  stop.abort();
  await running;
});

t.test(
  "adopt() keeps the volumes of a pod fresh that an earlier agent mounted; update() shows its new labels",
  async (t) => {
    const here = await world(t);
    here.configMaps.set("settings", { a: "1" });
    const items = [{ path: "labels", fieldRef: { fieldPath: "metadata.labels" } }];
    const thePod = pod([
      { name: "settings", configMap: { name: "settings" } },
      { name: "self", downwardAPI: { items } },
    ]);
    const mounted = await here.open().mount(thePod, uninterrupted);
    const shows = async (volume: string, name: string, text: string) => {
      const file = join(mounted.get(volume)?.hostPath ?? "", name);
      while (readFileSync(file, "utf8") !== text) await new Promise((resolve) => setImmediate(resolve));
    };
    const manager = here.open();
    const stop = new AbortController();
    const running = manager.run(stop);
    here.configMaps.set("settings", { a: "2" });
    manager.adopt(thePod);
    await shows("settings", "a", "2");
    here.configMaps.set("settings", { a: "3" });
    manager.wake("uid-1");
    await shows("settings", "a", "3");
    manager.update({ ...thePod, metadata: { ...thePod.metadata, labels: { tier: "new" } } });
    await shows("self", "labels", 'tier="new"');
    await manager.unmountAll("uid-1", uninterrupted);
    t.same(mountsBelow(here.root), []);
    stop.abort();
    await running;
  },
);

t.test("subPath() binds inside the volume and refuses links that lead out", async (t) => {
  const here = await world(t);
  const manager = here.open();
  const thePod = pod([{ name: "data", emptyDir: {} }], { securityContext: { fsGroup: 123 } });
  const volume = (await manager.mount(thePod, uninterrupted)).get("data");
  if (!volume) throw new Error("no volume");
  writeFileSync(join(here.root, "outside"), "o");
  symlinkSync(join(here.root, "outside"), join(volume.hostPath, "link"));
  mkdirSync(join(volume.hostPath, "real"));
  symlinkSync("real", join(volume.hostPath, "inside"));
  const bind = (subPath: string, index: number) =>
    manager.subPath({ pod: thePod, containerName: "c", index, volume, subPath, readOnly: false }, uninterrupted);
  const made = await bind("new/deep", 0);
  writeFileSync(join(made, "f"), "1");
  t.ok(existsSync(join(volume.hostPath, "new/deep/f")));
  for (const path of ["new", "new/deep"])
    t.equal(
      statSync(join(volume.hostPath, path)).mode & 0o7777,
      0o2777,
      "whoever may write to the volume may write there",
    );
  writeFileSync(join(await bind("inside", 1), "g"), "1");
  t.ok(existsSync(join(volume.hostPath, "real/g")));
  t.equal(await bind("inside", 1), await bind("inside", 1), "once more for a container that is started again");
  writeFileSync(join(volume.hostPath, "file"), "old");
  t.equal(readFileSync(await bind("file", 4), "utf8"), "old");
  rmSync(join(volume.hostPath, "file"));
  writeFileSync(join(volume.hostPath, "file"), "new");
  t.equal(readFileSync(await bind("file", 4), "utf8"), "new", "what was replaced since");
  t.ok(statSync(await bind("real", 4)).isDirectory(), "or is another path now");
  await t.rejects(bind("link", 2), { code: "forbidden" });
  await t.rejects(bind("../x", 3), { code: "invalid" });
  await manager.unmountAll("uid-1", uninterrupted);
  t.same(mountsBelow(here.root), []);
  t.same(readdirSync(join(here.root, "pods")), []);
});

t.test("overLimit() tells an emptyDir that grew beyond its limit", async (t) => {
  const here = await world(t);
  const manager = here.open();
  const thePod = pod([{ name: "data", emptyDir: { sizeLimit: "64Ki" } }]);
  const path = (await manager.mount(thePod, uninterrupted)).get("data")?.hostPath ?? "";
  t.equal(await manager.overLimit(thePod, uninterrupted), undefined);
  writeFileSync(join(path, "big"), Buffer.alloc(100_000));
  chmodSync(join(path, "big"), 0o600);
  t.match(await manager.overLimit(thePod, uninterrupted), { volume: "data", limitBytes: 65536 });
  const { bytes, inodes } = await manager.localUsage(thePod, uninterrupted);
  t.ok(bytes > 65_536 && inodes === 2, "the file and its folder");
});

t.test("inUse() names a volume from before it is mounted until it is gone, and tells of the change", async (t) => {
  const root = mkdtempSync(join(tmpdir(), "skiff-volumes-"));
  t.teardown(() => rmSync(root, { recursive: true }));
  const objects = {
    persistentVolumeClaim: async (_: string, name: string) => ({
      metadata: { name, uid: "claim" },
      spec: { volumeName: "pv" },
      status: { phase: "Bound" },
    }),
    persistentVolume: async () => ({
      metadata: { name: "pv" },
      spec: { claimRef: { uid: "claim" }, csi: { driver: "disk.example", volumeHandle: "one" }, capacity: {} },
    }),
  } as unknown as PodObjects;
  const seen: string[][] = [];
  const look = () => void seen.push([...manager.inUse()]);
  let isStuck = true;
  const plugin: VolumePlugin = {
    name: "example.com/disk",
    supports: (volume) => "csi" in volume,
    async mount({ path }) {
      look();
      mkdirSync(path, { recursive: true });
    },
    async unmount(path) {
      look();
      if (isStuck) throw new Fault("unavailable", "the disk is busy");
      rmSync(path, { recursive: true, force: true });
    },
  };
  const told: string[][] = [];
  const onInUse = () => void told.push([...manager.inUse()]);
  const clock = new FakeClock();
  const manager = openVolumeManager({ root, plugins: [plugin], objects, onInUse, clock, log: noLog });
  const pod = {
    metadata: { uid: "uid-9", name: "p", namespace: "n" },
    spec: { containers: [], volumes: [{ name: "v", persistentVolumeClaim: { claimName: "c" } }] },
  } as unknown as AgentPod;
  const name = "kubernetes.io/csi/disk.example^one";
  await manager.mount(pod, uninterrupted);
  await t.rejects(manager.unmountAll("uid-9", uninterrupted), /busy/);
  t.same(manager.inUse(), [name], "what could not be unmounted is still in use");
  isStuck = false;
  await manager.unmountAll("uid-9", uninterrupted);
  t.same(seen, [[name], [name], [name]], "while it is being mounted and unmounted");
  t.same(manager.inUse(), []);
  t.same(told, [[name], []]);
});
