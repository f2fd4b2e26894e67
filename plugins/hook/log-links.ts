// log-links: a link to each container's log whose name alone says whose it is, `<pod>_<namespace>_<container>-<id>.log`, in one flat folder:
// what log collectors for Kubernetes read.

import {
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { basename, dirname, join } from "node:path";
import { checkSettings, optional, string } from "../kit/config-check.ts";
import { type PodHook, hookKind } from "../kit/hook.ts";
import type { Pod } from "../kit/objects/types.ts";
import type { Plugin } from "../kit/plugin.ts";

interface Settings {
  /** Beside the folder of the pods' logs unless told. */
  readonly dir: string | undefined;
}

const foldersUp = 3; // <logs>/pods/<pod>/<container>/0.log

function openLinks({ dir: told }: Settings, stateDir: string): PodHook {
  // Clean-up knows only the pod, and may come after a restart: where the links are is written down.
  const memory = join(stateDir, "folder");
  let folder = told ?? (exists(memory) ? readFileSync(memory, "utf8") : undefined);
  const remove = (isOurs: (name: string, target: string) => boolean) => {
    const inside = folder;
    if (inside === undefined) return;
    for (const name of listing(inside)) {
      const link = join(inside, name);
      const target = linkTarget(link);
      if (target !== undefined && isOurs(name, target)) rmSync(link, { force: true });
    }
  };
  return {
    name: "log-links",
    async started(pod, container) {
      const wanted = told ?? defaultFolder(container.logPath);
      if (wanted !== folder) writeFileSync(memory, wanted);
      folder = wanted;
      mkdirSync(folder, { recursive: true, mode: 0o755 });
      const prefix = `${startOf(pod)}${container.name}-`;
      // Earlier generations stay for as long as their logs do.
      remove((name, target) => name.startsWith(prefix) && !exists(target));
      const link = join(folder, `${prefix}${container.id}.log`);
      rmSync(link, { force: true });
      symlinkSync(container.logPath, link);
    },
    async cleanup(pod) {
      const uid = pod.metadata.uid ?? "";
      const isOurs = (name: string, target: string) =>
        name.startsWith(startOf(pod)) && basename(dirname(dirname(target))).endsWith(`_${uid}`);
      remove(isOurs);
    },
  };
}

const startOf = ({ metadata }: Pod) => `${metadata.name}_${metadata.namespace}_`;

function defaultFolder(logPath: string): string {
  let folder = dirname(logPath);
  for (let up = 1; up < foldersUp; up++) folder = dirname(folder);
  return join(dirname(folder), "containers");
}

function listing(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return [];
    throw error;
  }
}

function linkTarget(path: string): string | undefined {
  try {
    return readlinkSync(path);
  } catch {
    return undefined; // a file of somebody else's, or gone meanwhile
  }
}

function exists(path: string): boolean {
  return lstatSync(path, { throwIfNoEntry: false }) !== undefined;
}

export const logLinks: Plugin<PodHook, Settings> = {
  kind: hookKind,
  name: "log-links",
  keys: { dir: "where the links to containers' logs lie (default: containers/ beside the pods' logs)" },
  configure: (raw) => checkSettings(raw, { dir: optional(string) }),
  open: (host) => openLinks(host.settings, host.stateDir),
};
