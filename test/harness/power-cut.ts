// A small disk of its own whose power can be cut: what a cut leaves is what the file system had handed to the disk by then.

import { execFileSync } from "node:child_process";
import { closeSync, mkdirSync, mkdtempSync, openSync, rmSync, truncateSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

export interface Disk {
  /** Where it is mounted. */
  readonly path: string;
  /** Writes everything back: what comes after it is what a cut may take. */
  sync(): void;
  /** Mounts what a power cut at this moment would leave, and calls `look` with where. The disk itself stays as it is. */
  cut(look: (path: string) => Promise<void>): Promise<void>;
}

interface Owner {
  teardown(end: () => void): void;
}

/** A reason in place of the disk where this machine cannot mount one. */
export function cuttableDisk(t: Owner, megabytes: number): Disk | string {
  const folder = mkdtempSync(join(tmpdir(), "skiff-power-"));
  t.teardown(() => rmSync(folder, { recursive: true, force: true }));
  const [image, path] = [join(folder, "disk"), join(folder, "mounted")];
  const mount = (from: string, to: string) => {
    mkdirSync(to, { recursive: true });
    execFileSync("mount", ["-o", "loop", from, to], { stdio: "ignore" });
  };
  const unmount = (at: string) => void execFileSync("umount", [at], { stdio: "ignore" });
  try {
    closeSync(openSync(image, "w"));
    truncateSync(image, megabytes * 1024 * 1024);
    execFileSync("mkfs.ext4", ["-q", image]);
    mount(image, path);
  } catch {
    return "this machine cannot mount ext4 on a loop device";
  }
  t.teardown(() => unmount(path));
  return {
    path,
    sync: () => void execFileSync("sync", ["-f", path]),
    async cut(look) {
      const [copy, at] = [join(folder, "cut"), join(folder, "after")];
      execFileSync("cp", ["--sparse=always", image, copy]);
      mount(copy, at);
      try {
        await look(at);
      } finally {
        unmount(at);
      }
    },
  };
}
