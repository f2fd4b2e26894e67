// `skiff uninstall`: stops the service, takes away what the instance made on this box, then the program's own files.

import { existsSync, lstatSync, readdirSync, readlinkSync, rmdirSync, rmSync } from "node:fs";
import { dirname, join } from "node:path";
import { forgetAppArmor } from "../../cri/native/containers/app-armor.ts";
import type { Call } from "../../plugins/kit/base/call.ts";
import { Fault } from "../../plugins/kit/base/fault.ts";
import type { Log } from "../../plugins/kit/base/log.ts";
import { claimDataDir } from "../../plugins/kit/os/platform/data-dir.ts";
import { run } from "../../plugins/kit/os/platform/process.ts";
import { removeTree } from "../../plugins/kit/os/safe-files/remove-tree.ts";
import { openCgroupFiles } from "../resources/cgroup-files.ts";
import { confirm } from "./confirm.ts";
import { instancePaths } from "./paths.ts";
import { type RemovalParts, removeNode } from "./remove-node.ts";

const stopMs = 120_000;

/** What is in the data dir of every instance that ever ran. */
const traces = ["lock", "store", "agent", "pki"];

export async function uninstallCommand(parts: RemovalParts, root: string, call: Call): Promise<void> {
  const { settings, say } = parts;
  const dataDir = String(settings["data-dir"]);
  const keepsData = settings["keep-data"] === true;
  const isDry = settings["dry-run"] === true;
  const program = installedProgram(root, settings["this-instance-only"] === true);
  if (isDry) {
    say(`would remove: pods, network, cgroups and mounts of the instance in ${dataDir}`);
    for (const path of [...(keepsData ? [] : [dataDir]), ...program.files(keepsData)])
      if (exists(path)) say(`would remove: ${path}`);
    return;
  }
  if (existsSync(dataDir)) {
    requireInstance(dataDir);
    if (!keepsData && settings["yes"] !== true) await requireConsent(dataDir, call);
  }
  if (program.unit && existsSync(program.unit) && root === "") {
    say("stopping the service");
    await run("systemctl", ["disable", "--now", "skiff.service"], { timeoutMs: stopMs }, call);
  }
  if (existsSync(dataDir)) await removeInstance(parts, dataDir, keepsData, call);
  for (const path of program.files(keepsData)) {
    if (!exists(path)) continue;
    say(`removing ${path}`);
    rmSync(path, { recursive: true, force: true });
  }
  removeEmpty(join(root, "etc/skiff"));
  if (program.unit && root === "") {
    await run("systemctl", ["daemon-reload"], { timeoutMs: stopMs }, call).catch(() => {});
    // With control groups of version 1, systemd does not learn when the last container has left them.
    openCgroupFiles().remove("system.slice/skiff.service");
  }
  say("done");
}

function requireInstance(dataDir: string): void {
  if (!traces.some((name) => existsSync(join(dataDir, name))) || dirname(dataDir) === dataDir)
    throw new Fault("invalid", `Cannot remove ${dataDir}: no Skiff ever ran on it; is --data-dir right?`);
}

async function requireConsent(dataDir: string, call: Call): Promise<void> {
  const store = existsSync(join(dataDir, "store")) ? "the cluster's store, " : "";
  const folder = join(dataDir, "local-path");
  const volumes = existsSync(folder) ? readdirSync(folder).length : 0;
  const local = volumes === 0 ? "" : `${volumes} local ${volumes === 1 ? "volume" : "volumes"} with their data, `;
  const what = `everything in ${dataDir}: ${store}${local}images and certificates`;
  const answer = await confirm(`This deletes ${what}. --keep-data would keep it. Delete it? [y/N] `, call);
  if (answer === undefined)
    throw new Fault(
      "invalid",
      `Cannot ask before deleting ${what}: standard input is no terminal; give --yes to delete it, or --keep-data to keep it`,
    );
  if (!answer) throw new Fault("conflict", `Nothing was removed: deleting ${dataDir} was not confirmed`);
}

async function removeInstance(parts: RemovalParts, dataDir: string, keepsData: boolean, call: Call): Promise<void> {
  const lock = await claimDataDir(dataDir);
  try {
    await removeNode(parts, call);
    const { runDir } = instancePaths(dataDir);
    // By handles, and through no mount: pods wrote below both.
    await removeTree(runDir, call);
    removeShared(dirname(runDir), parts.log);
    if (keepsData) parts.say(`keeping ${dataDir}`);
    else {
      parts.say(`removing ${dataDir}`);
      // One that is a disk of its own is emptied.
      for (const name of readdirSync(dataDir)) await removeTree(join(dataDir, name), call);
      removeEmpty(dataDir);
    }
  } finally {
    lock.release();
  }
}

/** What instances on this box have in common goes with the last of them; folders that others use, too, when they are empty. */
function removeShared(runFolder: string, log: Log): void {
  const lockFile = "masquerade.lock";
  if (existsSync(runFolder) && readdirSync(runFolder).every((name) => name === lockFile)) {
    rmSync(join(runFolder, lockFile), { force: true });
    removeEmpty(runFolder);
    forgetAppArmor({ log });
  }
  const kubelet = "/var/lib/kubelet";
  for (const folder of [`${kubelet}/device-plugins`, `${kubelet}/plugins_registry`, kubelet, "/run/netns"])
    removeEmpty(folder);
}

/** What install.sh put there; nothing when another has the place, or only the instance is meant. */
function installedProgram(root: string, isInstanceOnly: boolean) {
  if (isInstanceOnly) return { unit: undefined, files: () => [] };
  const at = (path: string) => join(root || "/", path);
  const unit = at("etc/systemd/system/skiff.service");
  const link = at("usr/local/bin/skiff");
  const isOurLink = exists(link) && lstatSync(link).isSymbolicLink() && readlinkSync(link) === "/opt/skiff/skiff";
  const program = at("opt/skiff");
  const isOurProgram = existsSync(join(program, "install.sh")) && existsSync(join(program, "skiff"));
  return {
    unit,
    files: (keepsData: boolean) => [
      unit,
      ...(isOurLink ? [link] : []),
      ...(keepsData ? [] : [at("etc/skiff/config.yaml"), at("etc/skiff/release.pub")]),
      ...(isOurProgram ? [program] : []),
    ],
  };
}

/** Also of a link that leads nowhere. */
function exists(path: string): boolean {
  return lstatSync(path, { throwIfNoEntry: false }) !== undefined;
}

function removeEmpty(folder: string): void {
  try {
    rmdirSync(folder);
  } catch {
    // It holds something of others, or was never there.
  }
}
