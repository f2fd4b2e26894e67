// The doctor's facts of the real box. Looking changes nothing: the one file it writes, to time the disk, is taken away again.

import { existsSync, statSync } from "node:fs";
import { open, rm } from "node:fs/promises";
import { dirname, join } from "node:path";
import type { Call } from "../../plugins/kit/base/call.ts";
import { networkProblems } from "../../plugins/kit/os/net/preflight.ts";
import { run } from "../../plugins/kit/os/platform/process.ts";
import { projectFolder } from "../../plugins/kit/os/platform/project.ts";
import { fileSystem } from "../host/machine.ts";
import type { CheckFacts } from "./finding.ts";

type Given = Pick<CheckFacts, "dataDir" | "ports" | "daemon">;

export function hostFacts(given: Given, call: Call): CheckFacts {
  const folder = existingFolder(given.dataDir);
  return {
    ...given,
    root: "/",
    now: () => Date.now(),
    madeAt: statSync(join(projectFolder, "package.json")).mtimeMs,
    disk: () => fileSystem(folder),
    syncMs: () => timeWrite(join(folder, `.skiff-check-${process.pid}`)),
    network: () => networkProblems(call),
    async version(program) {
      const env = { ...(process.env as Record<string, string>), PATH: `${process.env["PATH"] ?? ""}:/usr/sbin:/sbin` };
      try {
        return (await run(program, ["--version"], { env, timeoutMs: 10_000 }, call)).stdout;
      } catch {
        return undefined;
      }
    },
  };
}

/** The data dir, or before it is made the folder it will be made in. */
function existingFolder(path: string): string {
  return existsSync(path) || dirname(path) === path ? path : existingFolder(dirname(path));
}

const rounds = 5;

/** The median of a few, because one may wait for what others write. */
async function timeWrite(path: string): Promise<number | undefined> {
  try {
    const file = await open(path, "w", 0o600);
    try {
      const times: number[] = [];
      for (let round = 0; round < rounds; round++) {
        const startedAt = performance.now();
        await file.write(Buffer.alloc(4096), 0, 4096, round * 4096);
        await file.sync();
        times.push(performance.now() - startedAt);
      }
      return times.sort((a, b) => a - b)[Math.trunc(rounds / 2)];
    } finally {
      await file.close();
    }
  } catch {
    return undefined;
  } finally {
    await rm(path, { force: true }).catch(() => {});
  }
}
