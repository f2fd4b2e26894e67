// What a container that can write to a volume, or once could, plants there must not lead the agent to the host's files.

import {
  chmodSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { execFileSync } from "node:child_process";
import { tmpdir } from "node:os";
import { join } from "node:path";
import t, { type Test } from "tap";
import { startPlanter, startSwapper } from "../../test/harness/racer.ts";
import { uninterrupted as call } from "../kit/base/call.ts";
import { systemClock } from "../kit/base/clock.ts";
import { noLog } from "../kit/base/log.ts";
import type { Pod, Volume } from "../kit/kube/objects/types.ts";
import type { Plugin } from "../kit/base/plugin.ts";
import { Folder } from "../kit/os/safe-files/folder.ts";
import type { VolumeMountRequest, VolumePlugin } from "../kit/contracts/volume.ts";
import { type Content, writeContent } from "./atomic-content.ts";
import { configMap } from "./config-map.ts";
import { emptyDir } from "./empty-dir.ts";
import { local } from "./local.ts";

const content = (files: Record<string, string>): Content =>
  new Map(Object.entries(files).map(([path, text]) => [path, { data: Buffer.from(text), mode: 0o644 }]));

function testRoot(t: Test): string {
  const root = mkdtempSync(join(tmpdir(), "skiff-planted-"));
  t.teardown(() => rmSync(root, { recursive: true, force: true }));
  return root;
}

/** A directory of the host with a file that must stay as it is. */
function hostDirectory(root: string): { path: string; file: string } {
  const path = join(root, "host");
  const file = join(path, "key");
  mkdirSync(path, { mode: 0o700 });
  writeFileSync(file, "the host's", { mode: 0o600 });
  return { path, file };
}

async function openPlugin(plugin: Plugin<VolumePlugin>, stateDir: string, objects: object = {}): Promise<VolumePlugin> {
  const host = { settings: undefined, log: noLog, clock: systemClock, stateDir, all: () => [objects] };
  return plugin.open({ ...host, onClose: () => {} } as never, call);
}

const requestOf = (path: string, volume: object, more: Partial<VolumeMountRequest> = {}): VolumeMountRequest => ({
  pod: { metadata: { name: "p", namespace: "n", uid: "u" } } as Pod,
  volume: { name: "v", ...volume } as Volume,
  path,
  readOnly: false,
  ...more,
});

t.test("writeContent() replaces what was planted, of any kind, and follows none of it", async (t) => {
  const root = testRoot(t);
  const host = hostDirectory(root);
  const plants: Record<string, (volume: string) => void> = {
    "..data leads to the host": (volume) => symlinkSync(host.path, join(volume, "..data")),
    "..data leads up": (volume) => symlinkSync("../host", join(volume, "..data")),
    "..data is a directory": (volume) => mkdirSync(join(volume, "..data/key"), { recursive: true }),
    "..data is a file": (volume) => writeFileSync(join(volume, "..data"), ""),
    "..data_tmp is a directory": (volume) => mkdirSync(join(volume, "..data_tmp/x"), { recursive: true }),
    "..data_tmp leads to the host": (volume) => symlinkSync(host.path, join(volume, "..data_tmp")),
    "the key leads to the host": (volume) => symlinkSync(host.file, join(volume, "key")),
    "the key is a file": (volume) => writeFileSync(join(volume, "key"), "planted"),
    "the key is a directory": (volume) => mkdirSync(join(volume, "key/below"), { recursive: true }),
    "the key is a FIFO": (volume) => void execFileSync("mkfifo", [join(volume, "key")]),
    "another name leads to the host": (volume) => symlinkSync(host.path, join(volume, "other")),
    "the current version holds a FIFO": (volume) => {
      mkdirSync(join(volume, "..2026_01_01_00_00_00.aaaaaa"));
      execFileSync("mkfifo", [join(volume, "..2026_01_01_00_00_00.aaaaaa/key")]);
      symlinkSync("..2026_01_01_00_00_00.aaaaaa", join(volume, "..data"));
    },
    "the current version holds a tree without end": (volume) => {
      const version = "..2026_01_01_00_00_00.aaaaaa";
      mkdirSync(join(volume, version));
      symlinkSync(version, join(volume, "..data"));
      let folder = Folder.open(join(volume, version));
      for (let depth = 0; depth < 3000; depth++) {
        const next = folder.makeFolder("d");
        folder.close();
        folder = next;
      }
      folder.close();
    },
    "the current version holds a link": (volume) => {
      mkdirSync(join(volume, "..2026_01_01_00_00_00.aaaaaa"));
      symlinkSync(host.file, join(volume, "..2026_01_01_00_00_00.aaaaaa/key"));
      symlinkSync("..2026_01_01_00_00_00.aaaaaa", join(volume, "..data"));
    },
  };
  for (const [name, plant] of Object.entries(plants)) {
    const volume = mkdtempSync(join(root, "volume-"));
    plant(volume);
    t.equal(await writeContent(volume, content({ key: "the pod's" }), { now: 0, fsGroup: 4242 }), true, name);
    t.equal(readFileSync(join(volume, "key"), "utf8"), "the pod's", name);
    t.ok(lstatSync(join(volume, "key")).isSymbolicLink(), name);
    t.same(
      readdirSync(volume)
        .filter((entry) => !/^\.\.\d/.test(entry))
        .sort(),
      ["..data", "key"],
      name,
    );
    t.equal(readFileSync(host.file, "utf8"), "the host's", name);
    t.equal(statSync(host.file).gid, process.getgid?.(), name);
    t.equal(statSync(host.path).mode & 0o777, 0o700, name);
  }
  t.same(readdirSync(host.path), ["key"]);
});

t.test("writeContent() does not write through links planted while it writes", async (t) => {
  const root = testRoot(t);
  const host = hostDirectory(root);
  const volume = join(root, "volume");
  mkdirSync(volume);
  const stop = await startPlanter(t, volume, "key", host.file);
  let failures = 0;
  for (let round = 0; round < 300; round++) {
    // A version in which something was planted is given up; the next attempt makes another.
    const attempt = async () =>
      writeContent(volume, content({ a: String(round), key: "planted" }), { now: round * 1000 });
    await attempt().catch(() => failures++);
  }
  await stop();
  t.equal(readFileSync(host.file, "utf8"), "the host's", `${failures} of 300 attempts met a planted link`);
  await writeContent(volume, content({ a: "last", key: "k" }), { now: 1_000_000 });
  t.equal(readFileSync(join(volume, "key"), "utf8"), "k");
});

t.test("fsGroup leaves the host's files alone when a container swaps links in", async (t) => {
  const root = testRoot(t);
  const host = hostDirectory(root);
  const disk = join(root, "disk");
  mkdirSync(join(disk, "data"), { recursive: true });
  for (const name of ["key", "a", "b", "c"]) writeFileSync(join(disk, "data", name), "");
  const plugin = await openPlugin(local, join(root, "state"));
  await startSwapper(t, join(disk, "data"), host.path);
  for (let round = 0; round < 200; round++)
    // What is moved away under the walk may end it.
    await plugin
      .mount(requestOf(join(root, "volume"), { local: { path: disk } }, { fsGroup: 4242 }), call)
      .catch(() => {});
  t.equal(statSync(host.file).gid, process.getgid?.());
  t.equal(statSync(host.file).mode & 0o777, 0o600);
  t.equal(statSync(host.path).mode & 0o777, 0o700);
});

t.test("fsGroup is applied when the volume is first mounted, and as its policy says", async (t) => {
  const root = testRoot(t);
  const disk = join(root, "disk");
  mkdirSync(join(disk, "sub"), { recursive: true, mode: 0o700 });
  const plugin = await openPlugin(local, join(root, "state"));
  const volume = { local: { path: disk } };
  const mount = (more: Partial<VolumeMountRequest>) =>
    plugin.mount(requestOf(join(root, "volume"), volume, { fsGroup: 4242, ...more }), call);
  await mount({});
  t.equal(statSync(join(disk, "sub")).gid, 4242);
  chmodSync(join(disk, "sub"), 0o700);
  await mount({ isMounted: true });
  t.equal(statSync(join(disk, "sub")).mode & 0o777, 0o700, "it is the containers' now");
  await mount({ fsGroupChangePolicy: "OnRootMismatch" });
  t.equal(statSync(join(disk, "sub")).mode & 0o777, 0o700, "the root matches");
  chmodSync(disk, 0o2760);
  await mount({ fsGroupChangePolicy: "OnRootMismatch" });
  t.equal(statSync(join(disk, "sub")).mode & 0o777, 0o770, "the group could not enter the root");
  chmodSync(join(disk, "sub"), 0o700);
  await mount({ fsGroupChangePolicy: "Always" });
  t.equal(statSync(join(disk, "sub")).mode & 0o777, 0o770);
});

t.test("emptyDir is removed without its links' targets, whoever swaps directories meanwhile", async (t) => {
  const root = testRoot(t);
  const host = hostDirectory(root);
  const plugin = await openPlugin(emptyDir, root);
  for (let round = 0; round < 12; round++) {
    const path = join(root, `volume-${round}`);
    await plugin.mount(requestOf(path, { emptyDir: {} }), call);
    mkdirSync(join(path, "data"));
    for (const name of ["key", "a", "b"]) writeFileSync(join(path, "data", name), "");
    const stop = await startSwapper(t, join(path, "data"), host.path);
    // Whoever goes on writing may keep it from being empty.
    await plugin.unmount(path, call).catch(() => {});
    await stop();
    await plugin.unmount(path, call);
  }
  t.equal(readFileSync(host.file, "utf8"), "the host's");
});

t.test("content volumes are read-only, and hold the mount points of volumes inside them", async (t) => {
  const root = testRoot(t);
  let data: Record<string, string> = { key: "1" };
  const objects = { configMap: async () => ({ metadata: {}, data }) };
  const plugin = await openPlugin(configMap, root, objects);
  t.equal(plugin.isReadOnly, true);
  const volumeMounts = [
    { name: "v", mountPath: "/etc/config" },
    { name: "nested", mountPath: "/etc/config/nested/deep" },
    { name: "more", mountPath: "/etc/config/nested/deep/deeper" },
    { name: "beside", mountPath: "/etc/config-beside" },
    { name: "file", mountPath: "/etc/config/key", subPath: "x" },
  ];
  const pod = { metadata: { name: "p", namespace: "n" }, spec: { containers: [{ name: "c", volumeMounts }] } } as Pod;
  const request = requestOf(join(root, "volume"), { configMap: { name: "c" } }, { pod });
  await plugin.mount(request, call);
  t.ok(statSync(join(request.path, "nested/deep")).isDirectory());
  const { ino } = statSync(join(request.path, "nested/deep"));
  t.same(
    readdirSync(join(request.path, "nested/deep")),
    [],
    "the runtime makes the deeper one in the volume mounted there",
  );
  data = { key: "2" };
  t.equal(await plugin.refresh?.(request, call), true);
  t.equal(readFileSync(join(request.path, "key"), "utf8"), "2");
  t.equal(statSync(join(request.path, "nested/deep")).ino, ino, "what is mounted there stays mounted");
});
