// Puts launchers of our CNI programs where a stock containerd looks for them. A program of someone else is never replaced:
// besides the plain names there are names of our own that nobody else has.

import { chmodSync, existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";

const programTypes = ["bridge", "host-local", "loopback", "portmap"] as const;
/** What our own names begin with; network lists for containerd use them. */
export const ownPrefix = "skiff-";
const marker = "# Launcher of a CNI program of Skiff.";

export interface InstallOptions {
  readonly dir: string;
  /** The command line that runs `program.ts` or its bundle. */
  readonly command: readonly string[];
  /** The agent's socket, to which programs hand their work while it is up. */
  readonly socketPath?: string;
  /** Where Node keeps compiled code between runs, which halves the start-up; a folder that only root can write. */
  readonly cacheDir?: string;
}

function quote(word: string): string {
  return `'${word.replaceAll("'", `'\\''`)}'`;
}

function launcherText(options: InstallOptions, type: string): string {
  const socket = options.socketPath ? `export SKIFF_CNI_SOCKET=${quote(options.socketPath)}\n` : "";
  const cache = options.cacheDir ? `export NODE_COMPILE_CACHE=${quote(options.cacheDir)}\n` : "";
  return `#!/bin/sh\n${marker}\n${socket}${cache}exec ${options.command.map(quote).join(" ")} ${type}\n`;
}

function isOurs(path: string): boolean {
  try {
    return readFileSync(path, "utf8").slice(0, 200).includes(marker);
  } catch {
    return false;
  }
}

export function installPrograms(options: InstallOptions): void {
  mkdirSync(options.dir, { recursive: true });
  for (const type of programTypes) {
    for (const name of [type, ownPrefix + type]) {
      const path = join(options.dir, name);
      if (existsSync(path) && !isOurs(path)) continue;
      writeFileSync(`${path}.new`, launcherText(options, type));
      chmodSync(`${path}.new`, 0o755);
      renameSync(`${path}.new`, path);
    }
  }
}

export function uninstallPrograms(dir: string): void {
  for (const type of programTypes)
    for (const name of [type, ownPrefix + type]) if (isOurs(join(dir, name))) rmSync(join(dir, name), { force: true });
}
