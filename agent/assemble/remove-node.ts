// Takes away what a node made on this box while no instance runs: pods, network, cgroups, mounts. Everything is found by the
// instance's own names, so that nothing of others is touched.

import { existsSync } from "node:fs";
import { join } from "node:path";
import { removeNetworkList } from "../../cni/invoke/write-network-list.ts";
import { type Call, within } from "../../plugins/kit/base/call.ts";
import type { Clock } from "../../plugins/kit/base/clock.ts";
import { daemonKind } from "../../plugins/kit/contracts/daemon.ts";
import { Fault } from "../../plugins/kit/base/fault.ts";
import type { Log } from "../../plugins/kit/base/log.ts";
import { type ClusterNetwork, clusterNetworkFrom } from "../../plugins/kit/kube/cluster-network.ts";
import { mountsBelow, unmount } from "../../plugins/kit/os/platform/mount.ts";
import { killTree } from "../../plugins/kit/os/platform/processes.ts";
import { openPlugins } from "../../plugins/kit/base/registry.ts";
import { loadUserPlugins } from "../../plugins/kit/os/user-plugins.ts";
import type { Settings } from "../../plugins/kit/base/settings.ts";
import { tuningFrom } from "../config/agent-settings.ts";
import { openCgroupFiles } from "../resources/cgroup-files.ts";
import { cgroupfsDriver } from "../resources/cgroupfs-driver.ts";
import { systemdDriver } from "../resources/systemd-driver.ts";
import { delayFile, dropDelay } from "../host/logind-delay.ts";
import { rememberedNetwork } from "../join/cluster-network.ts";
import { systemdManager } from "../../plugins/kit/os/systemd/manager.ts";
import { monitorsBelow } from "./monitors.ts";
import { networkPlugins, removeNetworkServices } from "./network.ts";
import { nodeNameFrom } from "./node-config.ts";
import { ownSandboxes } from "./own-pods.ts";
import { type InstancePaths, instancePaths } from "./paths.ts";
import { openRuntime } from "./runtime.ts";

export interface RemovalParts {
  readonly settings: Settings;
  readonly log: Log;
  readonly clock: Clock;
  readonly say: (line: string) => void;
}

export async function removeNode(parts: RemovalParts, call: Call): Promise<void> {
  const paths = instancePaths(String(parts.settings["data-dir"]));
  if (existsSync(join(paths.dataDir, "pods"))) await removePods(parts, paths, call);
  killMonitors(paths, parts.say);
  parts.say("removing network interfaces, routes and rules");
  await removeNetworking(parts, paths, call);
  await removeCgroups(parts.settings, paths, call);
  await removeLogindDelay(paths, call);
  for (const folder of [paths.dataDir, paths.runDir]) unmountBelow(folder, parts.say);
}

async function removePods(
  { settings, log, clock, say }: RemovalParts,
  paths: InstancePaths,
  call: Call,
): Promise<void> {
  const plugins = await loadUserPlugins((settings.plugins as readonly string[] | undefined) ?? [], process.cwd());
  const host = { paths, log, clock, plugins };
  const { runtime, name, networkDir, networkPrograms } = await openRuntime(String(settings.runtime), host);
  try {
    const own = await ownSandboxes(runtime, { dataDir: paths.dataDir, runtimeName: name }, call);
    for (const { id, metadata } of own) {
      say(`removing pod ${metadata?.namespace}/${metadata?.name}`);
      await runtime.runtime.stopPodSandbox({ podSandboxId: id }, within(60_000, call));
      await runtime.runtime.removePodSandbox({ podSandboxId: id }, within(60_000, call));
    }
  } finally {
    await runtime.close();
    await networkPrograms?.close(true);
    removeNetworkList({ dir: networkDir, fileName: `10-${paths.bridge}.conflist` });
  }
}

/** Those whose pod the runtime has lost. */
function killMonitors({ runDir }: InstancePaths, say: (line: string) => void): void {
  for (const pid of monitorsBelow(runDir)) {
    say(`ending a container that no pod owns (process ${pid})`);
    killTree(pid);
  }
}

/** Flags that no start would take have made nothing. */
function networkOf(settings: Settings): ClusterNetwork {
  try {
    return clusterNetworkFrom(settings);
  } catch {
    return { clusterCidrs: [], serviceCidrs: [], clusterDns: [], clusterDomain: "" };
  }
}

async function removeNetworking(
  { settings, log, clock }: RemovalParts,
  paths: InstancePaths,
  call: Call,
): Promise<void> {
  const learned = rememberedNetwork(paths.dataDir);
  const { clusterCidrs, clusterDns, clusterDomain } = learned ?? networkOf(settings);
  const nodeName = nodeNameFrom(settings);
  // Daemons remove what they made knowing nothing but the host; no API server is there to be asked.
  const api = {
    fetch: () => Promise.reject(new Fault("unavailable", "There is no API server while Skiff is removed")),
  };
  const facts = { nodeName, clusterDns, clusterDomain, clusterCidrs, instance: paths.id, api, log, clock };
  const stateDir = join(paths.dataDir, "agent", "plugins");
  const plugins = await openPlugins({ plugins: networkPlugins(facts), log, clock, stateDir }, call);
  try {
    const network = { name: paths.bridge, bridge: paths.bridge };
    await removeNetworkServices(plugins.all(daemonKind), network, log, within(60_000, call));
  } finally {
    await plugins.close();
  }
}

/** By both drivers: no runtime need be there to say which it was. */
async function removeCgroups(settings: Settings, { id }: InstancePaths, call: Call): Promise<void> {
  const own = id ? `skiff-${id}` : "skiff";
  const { cgroupRoot = own } = tuningFrom(settings, own);
  if (!cgroupRoot) return;
  const root = cgroupRoot.split("/").filter((part) => part !== "");
  const files = openCgroupFiles();
  for (const driver of [cgroupfsDriver(files), systemdDriver(files, systemdManager())]) {
    await driver.remove([...root, "kubepods"], call);
    if (cgroupRoot === own) await driver.remove(root, call);
    driver.close();
  }
}

async function removeLogindDelay({ id }: InstancePaths, call: Call): Promise<void> {
  const manager = systemdManager();
  await dropDelay({ file: delayFile(id), manager }, call);
  manager.close();
}

/** Rejects when one stays: removing files through it would remove somebody else's. */
function unmountBelow(folder: string, say: (line: string) => void): void {
  for (const point of mountsBelow(folder).reverse()) {
    // The folder itself may be a disk of its own, which is not ours to unmount.
    if (point === folder) continue;
    say(`unmounting ${point}`);
    unmount(point);
  }
  const left = mountsBelow(folder).find((point) => point !== folder);
  if (left) throw new Fault("unavailable", `Cannot unmount ${left}: nothing below ${folder} was removed`);
}
