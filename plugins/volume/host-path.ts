// hostPath: a path of the node itself, checked or made as its type asks. Nothing is mounted and nothing is ever removed.

import { closeSync, constants, lstatSync, mkdirSync, openSync, statSync, type Stats } from "node:fs";
import { Fault } from "../kit/base/fault.ts";
import type { Plugin } from "../kit/base/plugin.ts";
import { type VolumePlugin, volumeKind } from "../kit/contracts/volume.ts";
import { prepareLocalPath } from "./local-path.ts";

const { O_WRONLY, O_CREAT, O_EXCL, O_NONBLOCK } = constants;

type Check = (found: Stats | undefined, path: string) => string | undefined;

const must =
  (is: (found: Stats) => boolean, what: string): Check =>
  (found, path) =>
    found && is(found) ? undefined : `hostPath type check failed: ${path} is not ${what}`;

const checks: Record<string, Check> = {
  "": () => undefined,
  DirectoryOrCreate(found, path) {
    if (!found) mkdirSync(path, { recursive: true, mode: 0o755 });
    return !found || found.isDirectory() ? undefined : `hostPath type check failed: ${path} is not a directory`;
  },
  FileOrCreate(found, path) {
    // Without waiting for what may have come there meanwhile.
    if (!found) closeSync(openSync(path, O_WRONLY | O_CREAT | O_EXCL | O_NONBLOCK, 0o644));
    return !found || found.isFile() ? undefined : `hostPath type check failed: ${path} is not a file`;
  },
  Directory: must((found) => found.isDirectory(), "a directory"),
  File: must((found) => found.isFile(), "a file"),
  Socket: must((found) => found.isSocket(), "a socket file"),
  CharDevice: must((found) => found.isCharacterDevice(), "a character device"),
  BlockDevice: must((found) => found.isBlockDevice(), "a block device"),
};

const volume: VolumePlugin = {
  name: "kubernetes.io/host-path",
  supports: (candidate) => candidate.hostPath !== undefined,
  async mount({ volume: { hostPath }, persistentVolume }) {
    const path = hostPath?.path ?? "";
    const type = hostPath?.type ?? "";
    const check = checks[type];
    if (!check) throw new Fault("invalid", `Cannot use hostPath ${path}: unknown type "${type}"`);
    if (path.split("/").includes(".."))
      throw new Fault("invalid", `Cannot use hostPath ${path}: it must not contain ".."`);
    let complaint: string | undefined;
    try {
      prepareLocalPath(persistentVolume);
      complaint = check(statSync(path, { throwIfNoEntry: false }), path);
    } catch (error) {
      throw new Fault("unavailable", `Cannot use hostPath ${path}: ${(error as Error).message}`, { cause: error });
    }
    if (complaint) throw new Fault("unavailable", complaint);
    // With no type asked for, upstream makes a missing directory.
    if (type === "" && !lstatSync(path, { throwIfNoEntry: false })) mkdirSync(path, { recursive: true, mode: 0o755 });
  },
  unmount: async () => {},
  hostPath: ({ volume: { hostPath } }) => hostPath?.path ?? "",
};

export const hostPath: Plugin<VolumePlugin> = { kind: volumeKind, name: "host-path", open: () => volume };
