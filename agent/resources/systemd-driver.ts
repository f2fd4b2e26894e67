// Groups as slices of systemd: it makes them, keeps their limits as properties, and removes them. What it leaves to others (hierarchies of
// the first version that it does not use, limits finer than its own) is done by files, as runtimes on systemd do it.

import type { Call } from "../../plugins/kit/base/call.ts";
import { property, type SystemdManager, type UnitProperty } from "../../plugins/kit/os/systemd/manager.ts";
import { cgroupPath } from "../../plugins/kit/os/systemd/slice-path.ts";
import type { CgroupDriver, GroupName } from "./cgroup-driver.ts";
import { type CgroupFiles, type CgroupLimits, weightOf } from "./cgroup-files.ts";

const suffix = ".slice";
const infinity = (1n << 64n) - 1n;
const microsecondsOfSecond = 1_000_000n;
const quotaPeriod = 100_000n;
/** systemd keeps quotas in whole percents. */
const quotaStep = 10_000n;

export function systemdDriver(files: CgroupFiles, manager: SystemdManager): CgroupDriver {
  const pathOf = (group: GroupName) => (group.length === 0 ? "/" : cgroupPath(sliceOf(group)));
  const children = (group: GroupName) => {
    const prefix = group.length === 0 ? "" : `${sliceOf(group).slice(0, -suffix.length)}-`;
    return files
      .children(pathOf(group))
      .filter((name) => name.startsWith(prefix) && name.endsWith(suffix))
      .map((name) => name.slice(prefix.length, -suffix.length).replaceAll("_", "-"));
  };
  const remove = async (group: GroupName, call: Call): Promise<boolean> => {
    const path = pathOf(group);
    if (!files.exists(path)) return true;
    let isEmpty = true;
    for (const child of children(group)) isEmpty = (await remove([...group, child], call)) && isEmpty;
    // Told to stop a slice, systemd ends everything in it.
    if (!isEmpty || files.isPopulated(path)) return false;
    await manager.stop(sliceOf(group), call);
    return files.remove(path);
  };
  return {
    name: "systemd",
    parent: sliceOf,
    async make(group, limits, call) {
      const unit = sliceOf(group);
      const own = limitProperties(limits, files.version);
      const isNew = await manager.startTransient(unit, [...sliceProperties(group, files.version), ...own], call);
      if (!isNew && own.length > 0) await manager.setProperties(unit, own, call);
      files.make(pathOf(group));
      files.limit(pathOf(group), limits);
    },
    async limit(group, limits, call) {
      await manager.setProperties(sliceOf(group), limitProperties(limits, files.version), call);
      files.limit(pathOf(group), limits);
    },
    remove,
    children,
    kill: (group) => files.kill(pathOf(group)),
    processes: (group) => files.processes(pathOf(group)),
    close: () => manager.close(),
  };
}

/** Dashes part the levels of slices, so those within a part give way, as in every kubelet. */
function sliceOf(group: GroupName): string {
  return `${group.map((part) => part.replaceAll("-", "_")).join("-")}${suffix}`;
}

function sliceProperties(group: GroupName, version: 1 | 2): UnitProperty[] {
  const above = group.length > 1 ? sliceOf(group.slice(0, -1)) : "-.slice";
  return [
    property("Description", "s", `Pods of Skiff (${group.join("/")})`),
    property("Wants", "as", [above]),
    // Everything is counted, also where nothing is limited.
    property("MemoryAccounting", "b", true),
    property("CPUAccounting", "b", true),
    property(version === 2 ? "IOAccounting" : "BlockIOAccounting", "b", true),
    property("TasksAccounting", "b", true),
    // Pods end by the agent's word; a machine that goes down does not stop their slices before it.
    property("DefaultDependencies", "b", false),
  ];
}

export function limitProperties(limits: CgroupLimits, version: 1 | 2): UnitProperty[] {
  const { cpuShares, cpuQuota, memoryBytes, pids } = limits;
  const properties: UnitProperty[] = [];
  if (memoryBytes !== undefined) {
    const bytes = memoryBytes > 0n ? memoryBytes : infinity;
    properties.push(property(version === 2 ? "MemoryMax" : "MemoryLimit", "t", bytes));
  }
  if (cpuShares !== undefined) {
    if (version === 2) properties.push(property("CPUWeight", "t", weightOf(cpuShares)));
    else properties.push(property("CPUShares", "t", cpuShares));
  }
  if (cpuQuota !== undefined) properties.push(property("CPUQuotaPerSecUSec", "t", quotaPerSecond(cpuQuota)));
  if (pids !== undefined) properties.push(property("TasksMax", "t", pids > 0 ? BigInt(pids) : infinity));
  return properties;
}

/** Rounded up, so that containers below can have what they ask for. */
function quotaPerSecond(quota: bigint): bigint {
  if (quota <= 0n) return infinity;
  const exact = (quota * microsecondsOfSecond) / quotaPeriod;
  return ((exact + quotaStep - 1n) / quotaStep) * quotaStep;
}
