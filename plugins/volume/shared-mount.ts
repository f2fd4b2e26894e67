// A place on the node where a volume is made ready once for all pods that use it. Who uses it stands on disk, so that the last one lets it go
// also after a restart:
//   <dir>/globalmount       where it is mounted
//   <dir>/users/<hash>      the pods' volumes that use it, by path

import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readdirSync, readFileSync, rmdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Fault } from "../kit/base/fault.ts";
import { isMountPoint } from "../kit/os/platform/mount.ts";

export const hashOf = (text: string): string => createHash("sha256").update(text).digest("hex");

export class SharedMount {
  readonly dir: string;

  constructor(dir: string) {
    this.dir = dir;
  }

  get path(): string {
    return join(this.dir, "globalmount");
  }

  get exists(): boolean {
    return existsSync(this.dir);
  }

  addUser(volumePath: string): void {
    mkdirSync(this.path, { recursive: true, mode: 0o750 });
    mkdirSync(join(this.dir, "users"), { recursive: true, mode: 0o750 });
    writeFileSync(this.#userFile(volumePath), volumePath);
  }

  removeUser(volumePath: string): void {
    rmSync(this.#userFile(volumePath), { force: true });
  }

  hasUser(volumePath: string): boolean {
    return existsSync(this.#userFile(volumePath));
  }

  /** Paths of the pods' volumes that use it. */
  users(): string[] {
    const dir = join(this.dir, "users");
    if (!existsSync(dir)) return [];
    return readdirSync(dir).map((name) => readFileSync(join(dir, name), "utf8"));
  }

  /** Removes what is left when it is no longer mounted. */
  remove(): void {
    removeMountPoint(this.path);
    rmSync(this.dir, { recursive: true, force: true });
  }

  #userFile(volumePath: string): string {
    return join(this.dir, "users", hashOf(volumePath));
  }
}

/** An empty directory or a file that something was mounted on; nothing there is fine, and nothing is ever deleted through a mount. */
export function removeMountPoint(path: string): void {
  if (!existsSync(path)) return;
  if (isMountPoint(path)) throw new Fault("conflict", `Cannot remove ${path}: it is still mounted`);
  try {
    rmdirSync(path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ENOTDIR") throw error;
    rmSync(path, { force: true });
  }
}
