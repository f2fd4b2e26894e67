import { mkdirSync, mkdtempSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import t from "tap";
import { isLocalMountPoint, isMountPoint, mount, mountFlags, unmount } from "./mount.ts";

function temporary(t: { teardown(then: () => void): void }): string {
  const dir = mkdtempSync(join(tmpdir(), "skiff-mount-"));
  t.teardown(() => {
    unmount(join(dir, "m m"));
    rmSync(dir, { recursive: true });
  });
  return dir;
}

t.test("mount() and unmount() work on paths with spaces, and unmount() may be called twice", async (t) => {
  const dir = join(temporary(t), "m m");
  mkdirSync(dir);
  mount("tmpfs", dir, "tmpfs", mountFlags.noSuid, "size=64k");
  t.ok(isMountPoint(dir));
  t.ok(isLocalMountPoint(dir));
  mkdirSync(join(dir, "below"));
  t.notOk(isLocalMountPoint(join(dir, "below")));
  mount(join(dir, "below"), join(dir, "below"), null, mountFlags.bind);
  t.ok(isLocalMountPoint(join(dir, "below")), "also of a bind on the same file system");
  unmount(join(dir, "below"));
  unmount(dir);
  t.notOk(isMountPoint(dir));
  t.notOk(isLocalMountPoint(dir));
  unmount(dir);
  t.notOk(isLocalMountPoint(join(dir, "absent")));
});

t.test("unmount() follows no symbolic link", async (t) => {
  const dir = temporary(t);
  const point = join(dir, "m m");
  mkdirSync(point);
  mount("tmpfs", point, "tmpfs", mountFlags.noSuid, "size=64k");
  symlinkSync(point, join(dir, "link"));
  unmount(join(dir, "link"));
  t.ok(isMountPoint(point));
});
