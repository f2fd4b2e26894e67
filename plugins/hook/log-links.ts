// log-links: a link to each container's log whose name alone says whose it is, `<pod>_<namespace>_<container>-<id>.log`, in one flat folder:
// what log collectors for Kubernetes read.

import { lstatSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { checkSettings, optional, string } from "../kit/base/config-check.ts";
import { type PodHook, hookKind } from "../kit/contracts/hook.ts";
import type { Pod } from "../kit/kube/objects/types.ts";
import type { Plugin } from "../kit/base/plugin.ts";
import { isFault } from "../kit/base/fault.ts";
import { Folder } from "../kit/os/safe-files/folder.ts";

interface Settings {
  /** Beside the folder of the pods' logs unless told. */
  readonly dir: string | undefined;
}

const foldersUp = 3; // <logs>/pods/<pod>/<container>/0.log

function openLinks({ dir: told }: Settings, stateDir: string): PodHook {
  // Clean-up knows only the pod, and may come after a restart: where the links are is written down.
  const memory = join(stateDir, "folder");
  let folder = told ?? (exists(memory) ? readFileSync(memory, "utf8") : undefined);
  // A pod may have the directory of all logs mounted: the directory of the links is not followed when it is a link, unless it was configured.
  const open = (path: string) => Folder.open(path, { followsLink: told !== undefined });
  const remove = (links: Folder, isOurs: (name: string, target: string) => boolean) => {
    for (const name of links.names()) {
      const target = links.linkTarget(name);
      if (target !== undefined && isOurs(name, target)) links.removeFile(name);
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
      const link = `${prefix}${container.id}.log`;
      const links = open(folder);
      try {
        // Earlier generations stay for as long as their logs do.
        remove(links, (name, target) => name.startsWith(prefix) && !exists(target));
        links.removeFile(link);
        links.makeLink(link, container.logPath);
      } finally {
        links.close();
      }
    },
    async cleanup(pod) {
      const links = folder === undefined ? undefined : openIfThere(() => open(folder as string));
      if (!links) return;
      const uid = pod.metadata.uid ?? "";
      const isOurs = (name: string, target: string) =>
        name.startsWith(startOf(pod)) && basename(dirname(dirname(target))).endsWith(`_${uid}`);
      try {
        remove(links, isOurs);
      } finally {
        links.close();
      }
    },
  };
}

const startOf = ({ metadata }: Pod) => `${metadata.name}_${metadata.namespace}_`;

function defaultFolder(logPath: string): string {
  let folder = dirname(logPath);
  for (let up = 1; up < foldersUp; up++) folder = dirname(folder);
  return join(dirname(folder), "containers");
}

function openIfThere(open: () => Folder): Folder | undefined {
  try {
    return open();
  } catch (error) {
    if (isFault(error, "not-found")) return undefined;
    throw error;
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
