// nfs: a directory of an NFS server, mounted by the system's mount program (the kernel needs its helper for NFS).

import { mkdirSync, rmdirSync } from "node:fs";
import { Fault } from "../kit/base/fault.ts";
import type { Plugin } from "../kit/base/plugin.ts";
import { isMountPoint, unmount } from "../kit/os/platform/mount.ts";
import { run } from "../kit/os/platform/process.ts";
import { type VolumePlugin, volumeKind } from "../kit/contracts/volume.ts";

const longestMountMs = 60_000;

const volume: VolumePlugin = {
  name: "kubernetes.io/nfs",
  supports: (candidate) => candidate.nfs !== undefined,
  async mount({ volume: { nfs }, persistentVolume, path, readOnly }, call) {
    // Before anything looks at the path: where the server is gone, that would hold up the whole process.
    if (isMountPoint(path)) return;
    mkdirSync(path, { recursive: true, mode: 0o750 });
    const options = [...(persistentVolume?.spec?.mountOptions ?? []), ...(readOnly || nfs?.readOnly ? ["ro"] : [])];
    const source = `${hostOf(nfs?.server ?? "")}:${nfs?.path}`;
    const args = ["-t", "nfs", ...(options.length > 0 ? ["-o", options.join(",")] : []), source, path];
    const result = await run("mount", args, { timeoutMs: longestMountMs }, call);
    if (result.code === 0) return;
    const hint = /bad option|helper program/.test(result.stderr) ? " (fix: apt-get install nfs-common)" : "";
    throw new Fault("unavailable", `Cannot mount NFS share ${source}: ${result.stderr.trim().split("\n")[0]}${hint}`);
  },
  async unmount(path) {
    unmount(path);
    try {
      rmdirSync(path);
    } catch (error) {
      // Never remove recursively here: were it still mounted, the server's files would go.
      if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
    }
  },
};

/** An IPv6 address stands in brackets, or its last colon would part server and path. */
const hostOf = (server: string) => (server.includes(":") && !server.startsWith("[") ? `[${server}]` : server);

export const nfs: Plugin<VolumePlugin> = { kind: volumeKind, name: "nfs", open: () => volume };
