import { execFileSync } from "node:child_process";
import { closeSync, mkdirSync, mkdtempSync, openSync, rmSync, truncateSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import t from "tap";
import { blockQuota, limitDirectory, projectFor } from "./project-quota.ts";

t.test("blockQuota() limits blocks of 1,024 bytes, rounded up, and nothing else", async (t) => {
  const quota = new DataView(blockQuota(10_000).buffer);
  t.equal(quota.byteLength, 72);
  t.equal(quota.getBigUint64(0, true), 10n, "hard limit");
  t.equal(quota.getBigUint64(8, true), 10n, "soft limit");
  t.equal(quota.getUint32(64, true), 1, "only block limits are meant");
  t.equal(new DataView(blockQuota(0).buffer).getBigUint64(0, true), 0n);
});

t.test("projectFor() gives each name its own number, also where two would share one", async (t) => {
  const first = projectFor("pvc-a", new Set());
  t.equal(projectFor("pvc-a", new Set()), first);
  t.not(projectFor("pvc-b", new Set()), first);
  t.equal(projectFor("pvc-a", new Set([first])), first + 1);
  t.ok(first >= 0x40000000 && first < 0x80000000);
});

t.test(
  "limitDirectory() says no on a file system without project quotas, and a Fault where there is nothing",
  async (t) => {
    t.equal(limitDirectory("/proc", 1_000_000), false);
    t.throws(() => limitDirectory("/nowhere/at/all", 1_000_000), { code: "not-found" });
  },
);

/** A small disk with project quotas below a folder, or undefined where the machine cannot mount one. */
function quotaDisk(folder: string): string | undefined {
  const disk = join(folder, "disk");
  const at = join(folder, "mounted");
  mkdirSync(at);
  try {
    closeSync(openSync(disk, "w"));
    truncateSync(disk, 64 * 1024 * 1024);
    execFileSync("mkfs.ext4", ["-q", "-I", "256", "-O", "quota,project", "-E", "quotatype=prjquota", disk]);
    execFileSync("mount", ["-o", "loop,prjquota", disk, at], { stdio: "ignore" });
    return at;
  } catch {
    return undefined;
  }
}

const folder = mkdtempSync(join(tmpdir(), "skiff-quota-"));
const at = quotaDisk(folder);
t.teardown(() => {
  if (at) execFileSync("umount", ["-l", at]);
  rmSync(folder, { recursive: true, force: true });
});
const skip = at ? false : "this machine cannot mount ext4 with project quotas (no CONFIG_QFMT_V2, or not root)";

t.test("limitDirectory() keeps a directory below its size, lets it grow, and lets it go", { skip }, async (t) => {
  const volume = join(at ?? "", "pvc-a");
  mkdirSync(volume);
  const write = (megabytes: number) => writeFileSync(join(volume, "file"), Buffer.alloc(megabytes * 1024 * 1024));
  t.equal(limitDirectory(volume, 4 * 1024 * 1024), true);
  write(3);
  t.throws(() => write(6), { code: /EDQUOT|ENOSPC/ });
  mkdirSync(join(at ?? "", "pvc-b"));
  writeFileSync(join(at ?? "", "pvc-b", "file"), Buffer.alloc(6 * 1024 * 1024));
  t.equal(limitDirectory(volume, 8 * 1024 * 1024), true);
  write(6);
  t.equal(limitDirectory(volume, 0), true);
  write(12);
});
