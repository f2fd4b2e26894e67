// Packages as npm publishes them, for any machine: fetched by npm's own client, and taken only when they have the lock file's hash.

import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync } from "node:fs";
import { join } from "node:path";
import { type LockFile, publishedName } from "./lock-file.ts";

/** Unpacks the package at `path` of the lock file into `target`; what was fetched before is kept in `cache`. */
export function fetchPackage(lock: LockFile, path: string, cache: string, target: string): void {
  const locked = lock[path];
  if (!locked) throw new Error(`${path} is not in the lock file`);
  const name = publishedName(path, locked);
  const archive = join(cache, `${name.replace(/^@/, "").replace("/", "-")}-${locked.version}.tgz`);
  mkdirSync(cache, { recursive: true });
  if (!existsSync(archive) || hashOf(archive) !== locked.integrity) {
    // Into a folder of this process, so that two releases made at once do not meet.
    const folder = join(cache, `.fetch-${process.pid}`);
    mkdirSync(folder, { recursive: true });
    const args = ["pack", `${name}@${locked.version}`, "--silent", "--pack-destination", folder];
    const fetched = execFileSync("npm", args, { encoding: "utf8", stdio: ["ignore", "pipe", "inherit"] }).trim();
    const hash = hashOf(join(folder, fetched));
    if (hash !== locked.integrity) {
      rmSync(folder, { recursive: true });
      throw new Error(`${name} ${locked.version} has the hash ${hash}, the lock file wants ${locked.integrity}`);
    }
    renameSync(join(folder, fetched), archive);
    rmSync(folder, { recursive: true });
  }
  mkdirSync(target, { recursive: true });
  execFileSync("tar", ["-xzf", archive, "-C", target, "--strip-components=1", "--no-same-owner"]);
}

function hashOf(file: string): string {
  return `sha512-${createHash("sha512").update(readFileSync(file)).digest("base64")}`;
}
