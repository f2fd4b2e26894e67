// What a running instance holds: memory after collection, descriptors, processes, files, cgroups, pod addresses and stored objects.

import { existsSync, readdirSync, readlinkSync } from "node:fs";
import { join } from "node:path";
import { instancePaths } from "../../agent/assemble/paths.ts";
import { processesNaming } from "./left-behind.ts";
import type { RunningSkiff } from "./skiff.ts";
import { until } from "./until.ts";

export type Held = Readonly<Record<string, number>>;

/** Of one that was started with a clock of the test's (`fast-clock.ts` prints its memory). */
export async function heldBy(skiff: RunningSkiff): Promise<Held> {
  const { dataDir, process: child } = skiff;
  const { id, runDir, bridge } = instancePaths(dataDir);
  const leases = join(dataDir, "cni", "leases", bridge);
  return {
    ...(await memoryOf(skiff)),
    ...(await objectsIn(skiff)),
    descriptors: await lastingDescriptors(child.pid ?? 0),
    processes: processesNaming(dataDir).length,
    files: countBelow(dataDir) + countBelow(runDir),
    cgroups: cgroupsNaming(id).length,
    addresses: existsSync(leases) ? readdirSync(leases).filter((name) => /^\d+\./.test(name)).length : 0,
  };
}

/** The least of some looks: what is being worked with at a moment is not held. */
async function memoryOf(skiff: RunningSkiff): Promise<Held> {
  const least: Record<string, number> = {};
  for (let look = 0; look < 5; look++)
    for (const [what, bytes] of await memoryNow(skiff)) least[what] = Math.min(least[what] ?? bytes, bytes);
  return least;
}

async function memoryNow({ process: child, log }: RunningSkiff): Promise<[what: string, bytes: number][]> {
  const last = () =>
    log()
      .match(/^memory .*$/gm)
      ?.at(-1);
  const before = last();
  child.kill("SIGUSR2");
  const line = await until("it to print its memory", () => last() !== before && last());
  return [...line.matchAll(/(\w+)=(\d+)/g)].map(([, what = "", bytes]) => [what, Number(bytes)]);
}

/**
 * Those that stay open. Files that are read, and directories that are measured, come and go: at a speed of a hundred, between 0 and 30 of
 * them are open at any moment.
 */
async function lastingDescriptors(pid: number): Promise<number> {
  let lasting: string[] | undefined;
  for (let look = 0; look < 200; look++) {
    const open = new Set(descriptorsOf(pid));
    lasting = lasting?.filter((descriptor) => open.has(descriptor)) ?? [...open];
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  return lasting?.length ?? 0;
}

function descriptorsOf(pid: number): string[] {
  const folder = `/proc/${pid}/fd`;
  return readdirSync(folder).flatMap((descriptor) => {
    try {
      return [`${descriptor} ${readlinkSync(join(folder, descriptor))}`];
    } catch {
      return []; // closed meanwhile
    }
  });
}

/** Events go an hour after they came, and so are counted apart. */
async function objectsIn({ kubectl }: RunningSkiff): Promise<Held> {
  const counts = { objects: 0, events: 0 };
  for (const [, resource, count] of (await kubectl("get", "--raw", "/metrics")).matchAll(
    /^apiserver_(?:storage|resource)_objects\{.*resource="([^"]+)".*\} (\d+)$/gm,
  ))
    counts[resource?.startsWith("events") ? "events" : "objects"] += Number(count);
  return counts;
}

function countBelow(folder: string): number {
  try {
    return readdirSync(folder, { withFileTypes: true }).reduce(
      (sum, entry) => sum + 1 + (entry.isDirectory() ? countBelow(join(folder, entry.name)) : 0),
      0,
    );
  } catch {
    return 0; // removed while it was counted
  }
}

function cgroupsNaming(id: string, folder = "/sys/fs/cgroup", isOurs = false): string[] {
  try {
    return readdirSync(folder, { withFileTypes: true })
      .filter((entry) => entry.isDirectory())
      .flatMap(({ name }) => {
        const isOwn = isOurs || name.includes(id);
        const path = join(folder, name);
        return [...(isOwn ? [path] : []), ...cgroupsNaming(id, path, isOwn)];
      });
  } catch {
    return []; // removed while it was listed
  }
}
