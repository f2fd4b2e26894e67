import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import t from "tap";
import { uninterrupted } from "../kit/base/call.ts";
import type { PersistentVolume, Pod, Volume } from "../kit/kube/objects/types.ts";
import type { Host } from "../kit/base/plugin.ts";
import { nfs } from "./nfs.ts";

/** The system's mount program is played by a script that writes down what it was told: no test machine has an NFS server. */
function openRoom(t: { teardown(then: () => void): void }, script: string) {
  const dir = mkdtempSync(join(tmpdir(), "skiff-nfs-"));
  writeFileSync(join(dir, "mount"), `#!/bin/sh\necho "$@" > ${dir}/told\n${script}\n`, { mode: 0o755 });
  const before = process.env["PATH"];
  process.env["PATH"] = `${dir}:${before}`;
  t.teardown(() => {
    process.env["PATH"] = before;
    rmSync(dir, { recursive: true, force: true });
  });
  return { path: join(dir, "volume"), told: () => readFileSync(join(dir, "told"), "utf8").trim() };
}

const rows = [
  { name: "a plain share", nfs: {}, told: "-t nfs box:/share" },
  { name: "a read-only one", nfs: { readOnly: true }, told: "-t nfs -o ro box:/share" },
  {
    name: "options of the persistent volume",
    nfs: {},
    readOnly: true,
    mountOptions: ["nfsvers=4.2"],
    told: "-t nfs -o nfsvers=4.2,ro box:/share",
  },
  { name: "a server by its IPv6 address", nfs: { server: "fd00::1" }, told: "-t nfs [fd00::1]:/share" },
];
for (const row of rows)
  t.test(`nfs mounts ${row.name}`, async (t) => {
    const { path, told } = openRoom(t, "exit 0");
    const plugin = await nfs.open({} as Host<undefined>, uninterrupted);
    const volume = { name: "v", nfs: { server: "box", path: "/share", ...row.nfs } } as Volume;
    t.ok(plugin.supports(volume));
    const persistentVolume = { metadata: {}, spec: { mountOptions: row.mountOptions ?? [] } } as PersistentVolume;
    const request = { pod: {} as Pod, volume, persistentVolume, path, readOnly: row.readOnly ?? false };
    await plugin.mount(request, uninterrupted);
    t.equal(told(), `${row.told} ${path}`);
    await plugin.unmount(path, uninterrupted);
    await plugin.unmount(path, uninterrupted);
    t.notOk(existsSync(path));
  });

t.test("nfs says what to install where the system cannot mount it", async (t) => {
  const { path } = openRoom(
    t,
    "echo 'mount: bad option; you might need a /sbin/mount.nfs helper program.' >&2; exit 32",
  );
  const plugin = await nfs.open({} as Host<undefined>, uninterrupted);
  const volume = { name: "v", nfs: { server: "box", path: "/share" } };
  const request = { pod: {} as Pod, volume, path, readOnly: false };
  const refusal = { code: "unavailable", message: /Cannot mount NFS share box:\/share: .*nfs-common/ };
  await t.rejects(plugin.mount(request, uninterrupted), refusal);
});
