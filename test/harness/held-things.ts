// What a running instance holds: memory after collection, descriptors, processes, files, cgroups, pod addresses and stored objects.

import { existsSync, readdirSync } from "node:fs";
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
    descriptors: readdirSync(`/proc/${child.pid}/fd`).length,
    processes: processesNaming(dataDir).length,
    files: countBelow(dataDir) + countBelow(runDir),
    cgroups: cgroupsNaming(id).length,
    addresses: existsSync(leases) ? readdirSync(leases).filter((name) => /^\d+\./.test(name)).length : 0,
  };
}

async function memoryOf({ process: child, log }: RunningSkiff): Promise<Held> {
  const printed = () => log().match(/^memory .*$/gm) ?? [];
  const before = printed().length;
  child.kill("SIGUSR2");
  const line = await until("it to tell its memory", () => printed()[before]);
  return Object.fromEntries([...line.matchAll(/(\w+)=(\d+)/g)].map(([, what = "", bytes]) => [what, Number(bytes)]));
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
