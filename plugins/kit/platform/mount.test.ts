import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import t from "tap";
import { closeHandle, isLocalMountPoint, isMountPoint, mount, mountFlags, openBeneath, unmount } from "./mount.ts";

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

t.test("openBeneath() follows links inside and refuses every way out", async (t) => {
  const dir = temporary(t);
  mkdirSync(join(dir, "volume/sub"), { recursive: true });
  writeFileSync(join(dir, "secret"), "x");
  symlinkSync("sub", join(dir, "volume/inside"));
  symlinkSync("../secret", join(dir, "volume/out"));
  symlinkSync("/etc", join(dir, "volume/absolute"));
  symlinkSync("loop", join(dir, "volume/loop"));
  for (const path of ["sub", "inside", "", "."]) closeHandle(openBeneath(join(dir, "volume"), path));
  for (const path of ["out", "absolute", "../secret", "sub/../../secret", "loop"]) {
    t.throws(() => openBeneath(join(dir, "volume"), path), { code: "forbidden" }, path);
  }
  t.throws(() => openBeneath(join(dir, "volume"), "absent"), { code: "not-found" });
});
