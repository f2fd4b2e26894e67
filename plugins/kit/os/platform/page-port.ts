// The port of a running instance's page, for `skiff ui`: written while the page is served, together with the process that serves it, so
// that a token is never sent to a page of another instance or to whoever took the port after a crash.

import { mkdirSync, readFileSync, rmSync } from "node:fs";
import { dirname, join } from "node:path";
import process from "node:process";
import { writeFileAtomic } from "./files.ts";
import { isAlive, nameProcess, type ProcessName } from "./processes.ts";

interface Served extends ProcessName {
  readonly port: number;
}

const fileOf = (dataDir: string) => join(dataDir, "agent", "ui-port.json");

/** Records that this process serves the page of the data dir on the port. */
export async function writePagePort(dataDir: string, port: number): Promise<void> {
  const path = fileOf(dataDir);
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  const served: Served = { ...nameProcess(process.pid), port };
  await writeFileAtomic(path, `${JSON.stringify(served)}\n`);
}

/** May be called twice, and before anything was written. */
export function removePagePort(dataDir: string): void {
  rmSync(fileOf(dataDir), { force: true });
}

/** Undefined when no process serves the page of that data dir now. */
export function readPagePort(dataDir: string): number | undefined {
  try {
    const served = JSON.parse(readFileSync(fileOf(dataDir), "utf8")) as Served;
    return isAlive(served) ? served.port : undefined;
  } catch {
    return undefined; // never written, or removed when the page was closed
  }
}
