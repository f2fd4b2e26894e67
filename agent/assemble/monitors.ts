// The processes that keep the containers of an instance's embedded runtime while the program itself may be away.

import { readdirSync, readFileSync } from "node:fs";

/** Ids of the monitors that name the instance's run folder on their command line. */
export function monitorsBelow(runDir: string): number[] {
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .filter((pid) => {
      try {
        const [program, ...words] = readFileSync(`/proc/${pid}/cmdline`, "utf8").split("\0");
        return program?.endsWith("conmon") === true && words.some((word) => word.includes(`=${runDir}/`));
      } catch {
        return false; // it ended while we looked
      }
    })
    .map(Number);
}
