// Mounts a block device, and gives it a file system first where it has none at all. A device that holds anything is never formatted.

import { mkdirSync } from "node:fs";
import type { Call } from "../kit/base/call.ts";
import { Fault } from "../kit/base/fault.ts";
import { isMountPoint } from "../kit/os/platform/mount.ts";
import { run } from "../kit/os/platform/process.ts";

export interface FormatAndMount {
  readonly device: string;
  readonly path: string;
  /** Whatever is there, or ext4, when empty. */
  readonly fsType: string;
  readonly options: readonly string[];
  readonly readOnly: boolean;
}

const formatMs = 600_000;
const mountMs = 60_000;
/** What blkid ends with when it finds nothing that it knows. */
const nothingFound = 2;

export async function formatAndMount(wish: FormatAndMount, call: Call): Promise<void> {
  const { device, path } = wish;
  if (isMountPoint(path)) return;
  const found = await contentOf(device, call);
  const isFileSystem = found !== undefined && /^\S+$/.test(found);
  const fsType = wish.fsType || (isFileSystem ? found : "ext4");
  if (found === undefined) {
    if (wish.readOnly) throw new Fault("invalid", `Cannot mount ${device} read-only: it holds no file system`);
    await format(device, fsType, call);
  } else if (found !== fsType && found !== "") {
    throw new Fault("conflict", `Cannot mount ${device} as ${fsType}: it holds ${found}, which is left as it is`);
  }
  mkdirSync(path, { recursive: true, mode: 0o750 });
  const options = [...wish.options, ...(wish.readOnly ? ["ro"] : [])];
  const args = ["-t", fsType, ...(options.length > 0 ? ["-o", options.join(",")] : []), device, path];
  const { code, stderr } = await run("mount", args, { timeoutMs: mountMs }, call);
  if (code !== 0) throw new Fault("unavailable", `Cannot mount ${device}: ${stderr.trim().split("\n")[0]}`);
}

/** The kind of file system, a partition table's name, or undefined for a device with nothing on it. */
async function contentOf(device: string, call: Call): Promise<string | undefined> {
  const args = ["-p", "-s", "TYPE", "-s", "PTTYPE", "-o", "export", device];
  const { code, stdout, stderr } = await run("blkid", args, { timeoutMs: mountMs }, call);
  if (code === nothingFound) return undefined;
  if (code !== 0) throw new Fault("unavailable", `Cannot look at ${device}: ${stderr.trim()}`);
  const fields = new Map(stdout.split("\n").map((line) => line.split("=", 2) as [string, string]));
  if (fields.has("TYPE")) return fields.get("TYPE");
  if (fields.has("PTTYPE")) return `a ${fields.get("PTTYPE")} partition table`;
  throw new Fault("conflict", `Cannot tell what ${device} holds: it is left as it is`);
}

async function format(device: string, fsType: string, call: Call): Promise<void> {
  // No blocks are kept for root: the volume is the pod's.
  const args = /^ext[34]$/.test(fsType) ? ["-F", "-m0", device] : [device];
  const { code, stderr } = await run(`mkfs.${fsType}`, args, { timeoutMs: formatMs }, call);
  if (code !== 0) throw new Fault("unavailable", `Cannot make a file system on ${device}: ${stderr.trim()}`);
}
