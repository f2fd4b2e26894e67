// Brings what is remembered and what is there together when the runtime opens: exits that happened meanwhile, a reboot, things that
// a crash left half made, and things that nobody remembers.

import { existsSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { uninterrupted } from "../../plugins/kit/base/call.ts";
import { discardContainer, noticeExit } from "./containers/container-end.ts";
import { isExecFile } from "./containers/exec-command.ts";
import { mountsBelow, unmount } from "./kernel/mounts.ts";
import { isHeld, releaseNamespaces } from "./kernel/namespaces.ts";
import { killTree } from "../../plugins/kit/os/platform/processes.ts";
import { removeTree } from "../../plugins/kit/os/safe-files/remove-tree.ts";
import type { Native } from "./native.ts";
import { ownNamespaces } from "./sandboxes/sandbox-namespaces.ts";
import { dismantleSandbox } from "./sandboxes/sandbox-stop.ts";

export async function recover(native: Native): Promise<void> {
  const halfMade = native.containers.list().filter(({ phase }) => phase === "making");
  if (halfMade.length > 0) killLaunchers(new Set(halfMade.map(({ id }) => id)));
  for (const record of halfMade) {
    native.cgroups.kill(record.cgroup);
    await discardContainer(native, record);
  }
  for (const record of native.containers.list()) noticeExit(native, record);
  for (const record of native.sandboxes.list()) {
    if (record.phase === "making") {
      await forget(native, record.id);
      continue;
    }
    const isWhole = ownNamespaces(record.config).every((kind) => {
      const path = join(native.paths.namespaces(record.id), kind);
      return existsSync(path) && isHeld(path);
    });
    if (record.phase === "ready" && !isWhole) {
      // A reboot took its namespaces. It still has to be stopped, which frees its addresses.
      record.phase = "stopped";
      native.sandboxes.save(record);
    }
  }
  await removeOrphans(native);
}

async function forget(native: Native, id: string): Promise<void> {
  const record = native.sandboxes.get(id);
  try {
    await dismantleSandbox(native, record, uninterrupted);
    await native.sandboxes.forget(id);
  } catch (error) {
    // The network may not be ready this early: it stays as stopped, and whoever removes it tries again.
    native.log.warn({ err: error, sandbox: id }, "a half-made sandbox could not be taken down yet");
    record.phase = "stopped";
    native.sandboxes.save(record);
  }
}

/** Conmon of a container that was being made may still be about to make it. */
function killLaunchers(ids: ReadonlySet<string>): void {
  for (const name of readdirSync("/proc")) {
    if (!/^\d+$/.test(name)) continue;
    try {
      const words = readFileSync(`/proc/${name}/cmdline`, "utf8").split("\0");
      if (words[0]?.endsWith("conmon") && words.some((word) => ids.has(word.replace(/^--cid=/, ""))))
        killTree(Number(name));
    } catch {
      // Gone between two looks.
    }
  }
}

async function removeOrphans(native: Native): Promise<void> {
  const { paths } = native;
  const containers = new Set(native.containers.list().map(({ id }) => id));
  const sandboxes = new Set(native.sandboxes.list().map(({ id }) => id));
  const folders = join(paths.root, "containers");
  for (const id of namesIn(folders).filter((name) => isId(name) && !containers.has(name))) {
    for (const point of mountsBelow(join(folders, id))) unmount(point);
    await removeTree(join(folders, id));
  }
  for (const id of namesIn(join(paths.runDir, "s")).filter((name) => !sandboxes.has(name))) {
    releaseNamespaces(paths.namespaces(id));
    unmount(join(paths.sandbox(id), "shm"));
    await removeTree(paths.sandbox(id));
  }
  for (const folder of [paths.ociState, paths.persist, paths.attach, paths.exits]) {
    for (const id of namesIn(folder)) {
      if (isId(id) && !containers.has(id)) await removeTree(join(folder, id));
    }
  }
  for (const name of namesIn(paths.runDir).filter(isExecFile)) rmSync(join(paths.runDir, name), { force: true });
}

const isId = (name: string) => /^[0-9a-f]{64}$/.test(name);
const namesIn = (folder: string) => (existsSync(folder) ? readdirSync(folder) : []);
