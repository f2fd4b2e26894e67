import { execFileSync } from "node:child_process";
import {
  chmodSync,
  closeSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
  writeSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import t from "tap";
import { startSwapper } from "../../../../test/harness/racer.ts";
import { uninterrupted as call } from "../../base/call.ts";
import { mount, mountFlags, unmount } from "../platform/mount.ts";
import { closeHandle, withoutOpenat2 } from "./calls.ts";
import { Folder } from "./folder.ts";
import { folderUsage } from "./folder-usage.ts";
import { openBeneath } from "./open-beneath.ts";
import { giveToGroup } from "./own-tree.ts";
import { openRegularBeneath, openRegularFile, openToAppend, readInRoot, readPart } from "./regular-file.ts";
import { removeTree } from "./remove-tree.ts";
import { writeInPlace } from "./write-in-place.ts";

const rounds = 150;

function temporary(t: { teardown(then: () => void): void }): string {
  const dir = mkdtempSync(join(tmpdir(), "skiff-files-"));
  t.teardown(() => rmSync(dir, { recursive: true, force: true }));
  return dir;
}

const openHandles = () => readdirSync("/proc/self/fd").length;

for (const [name, using] of [
  ["openat2", (work: () => void) => work()],
  ["steps", withoutOpenat2],
] as const) {
  t.test(`openBeneath() by ${name} follows links inside where asked and refuses every way out`, async (t) => {
    const dir = temporary(t);
    const volume = join(dir, "volume");
    mkdirSync(join(volume, "sub/deep"), { recursive: true });
    writeFileSync(join(volume, "file"), "x");
    writeFileSync(join(dir, "secret"), "x");
    symlinkSync("sub", join(volume, "inside"));
    symlinkSync("../sub", join(volume, "sub/back"));
    symlinkSync("../secret", join(volume, "out"));
    symlinkSync("/etc", join(volume, "absolute"));
    symlinkSync("loop", join(volume, "loop"));
    using(() => {
      const links = { followsLinks: true };
      const before = openHandles();
      for (const path of ["sub", "inside", "", ".", "sub/deep", "inside/back/deep", "sub/../file"])
        closeHandle(openBeneath(volume, path, links));
      for (const path of ["out", "absolute", "../secret", "sub/../../secret", "loop", "/etc", "file/x"])
        t.throws(() => openBeneath(volume, path, links), { code: "forbidden" }, path);
      for (const path of ["absent", "sub/absent"])
        t.throws(() => openBeneath(volume, path, links), { code: "not-found" }, path);
      for (const path of ["inside", "inside/deep"]) t.throws(() => openBeneath(volume, path), { code: "forbidden" });
      t.equal(openHandles(), before, "no handle is left open");
    });
  });

  t.test(`readInRoot() by ${name} resolves links as a container would`, async (t) => {
    const root = temporary(t);
    mkdirSync(join(root, "usr/etc"), { recursive: true });
    mkdirSync(join(root, "etc"));
    writeFileSync(join(root, "usr/etc/passwd"), "the image's");
    symlinkSync("/usr/etc/passwd", join(root, "etc/absolute"));
    symlinkSync("../../../../usr/etc/passwd", join(root, "etc/up"));
    symlinkSync("/etc/passwd", join(root, "etc/host"));
    symlinkSync("loop", join(root, "etc/loop"));
    execFileSync("mkfifo", [join(root, "etc/fifo")]);
    using(() => {
      const before = openHandles();
      for (const path of ["/usr/etc/passwd", "/etc/absolute", "/etc/up", "../usr/etc/passwd"])
        t.equal(readInRoot(root, path, 1024), "the image's", path);
      for (const path of ["/etc/host", "/etc/loop", "/etc/fifo", "/etc", "/absent", "/etc/fifo/x"])
        t.equal(readInRoot(root, path, 1024), "", path);
      t.equal(readInRoot(root, "/etc/up", 3), "the");
      t.equal(openHandles(), before, "no handle is left open");
    });
  });
}

t.test("openToAppend() makes a file, and refuses links, FIFOs and devices", async (t) => {
  const dir = temporary(t);
  for (const text of ["one", "two"]) {
    const file = openToAppend(join(dir, "log"), 0o640);
    writeSync(file, text);
    closeSync(file);
  }
  t.equal(readFileSync(join(dir, "log"), "utf8"), "onetwo");
  symlinkSync("/etc/hostname", join(dir, "link"));
  execFileSync("mkfifo", [join(dir, "fifo")]);
  t.throws(() => openToAppend(join(dir, "link"), 0o640), { code: "ELOOP" });
  t.throws(() => openToAppend(join(dir, "fifo"), 0o640), { code: "forbidden" });
});

t.test("Folder works on names only", async (t) => {
  const folder = Folder.open(temporary(t));
  t.teardown(() => folder.close());
  for (const name of ["", ".", "..", "a/b", "/etc", "a\0b"]) {
    t.throws(() => folder.at(name), { code: "invalid" }, JSON.stringify(name));
    t.throws(() => folder.folder(name), { code: "invalid" }, JSON.stringify(name));
  }
});

t.test("openRegularFile() refuses what is not a regular file, without waiting", async (t) => {
  const dir = temporary(t);
  writeFileSync(join(dir, "file"), "content");
  symlinkSync("/etc/passwd", join(dir, "link"));
  execFileSync("mkfifo", [join(dir, "fifo")]);
  for (const name of ["link", "fifo", "."]) await t.rejects(openRegularFile(join(dir, name)), { code: "forbidden" });
  await t.rejects(openRegularFile("/dev/zero"), { code: "forbidden" });
  await t.rejects(openRegularFile(join(dir, "absent")), { code: "not-found" });
  await t.rejects(openRegularBeneath(dir, "link"), { code: "forbidden" });
  const file = await openRegularFile(join(dir, "file"));
  t.teardown(() => file.close());
  t.equal((await readPart(file, 3, "head")).toString(), "con");
  t.equal((await readPart(file, 3, "tail")).toString(), "ent");
  t.equal((await readPart(file, 99, "tail")).toString(), "content");
});

t.test("writeInPlace() keeps the file that is mounted elsewhere", async (t) => {
  const path = join(temporary(t), "hosts");
  await writeInPlace(path, Buffer.from("a longer text"), 0o644);
  const { ino, mode } = statSync(path);
  t.equal(mode & 0o777, 0o644);
  await writeInPlace(path, Buffer.from("short"), 0o644);
  t.equal(readFileSync(path, "utf8"), "short");
  t.equal(statSync(path).ino, ino);
});

t.test("writeInPlace() refuses what is not a regular file, without waiting", async (t) => {
  const dir = temporary(t);
  writeFileSync(join(dir, "secret"), "the host's");
  symlinkSync(join(dir, "secret"), join(dir, "link"));
  symlinkSync(join(dir, "absent"), join(dir, "dangling"));
  execFileSync("mkfifo", [join(dir, "fifo")]);
  for (const name of ["link", "dangling", "fifo"])
    await t.rejects(writeInPlace(join(dir, name), Buffer.from("x"), 0o644), { code: "forbidden" }, name);
  t.equal(readFileSync(join(dir, "secret"), "utf8"), "the host's");
  t.notOk(existsSync(join(dir, "absent")));
});

t.test("writeInPlace() writes to no other file, whoever swaps links in", async (t) => {
  const dir = temporary(t);
  writeFileSync(join(dir, "secret"), "the host's");
  writeFileSync(join(dir, "hosts"), "");
  const before = openHandles();
  const stop = await startSwapper(t, join(dir, "hosts"), join(dir, "secret"));
  for (let round = 0; round < rounds; round++)
    await writeInPlace(join(dir, "hosts"), Buffer.from("x"), 0o644).catch(() => {});
  await stop();
  t.equal(readFileSync(join(dir, "secret"), "utf8"), "the host's");
  t.equal(openHandles(), before, "no handle is left open");
});

for (const [name, using] of [
  ["openat2", (work: () => void) => work()],
  ["steps", withoutOpenat2],
] as const) {
  t.test(`readInRoot() by ${name} reads nothing outside, whoever swaps links in`, async (t) => {
    const dir = temporary(t);
    const root = join(dir, "root");
    mkdirSync(join(dir, "host"));
    writeFileSync(join(dir, "host/passwd"), "the host's");
    writeFileSync(join(dir, "host-file"), "the host's");
    mkdirSync(join(root, "etc"), { recursive: true });
    writeFileSync(join(root, "etc/passwd"), "the image's");
    writeFileSync(join(root, "group"), "the image's");
    await startSwapper(t, join(root, "etc"), join(dir, "host"));
    await startSwapper(t, join(root, "group"), join(dir, "host-file"));
    const seen = new Set<string>();
    using(() => {
      for (let round = 0; round < 4 * rounds; round++)
        for (const path of ["/etc/passwd", "/group"]) seen.add(readInRoot(root, path, 1024));
    });
    t.ok(seen.has("the image's"));
    t.notOk(seen.has("the host's"));
  });
}

t.test("removeTree() removes links and never what they lead to, whoever swaps directories", async (t) => {
  const dir = temporary(t);
  const outside = join(dir, "outside");
  mkdirSync(join(outside, "below"), { recursive: true });
  for (const name of ["a", "b", "below/c"]) writeFileSync(join(outside, name), "");
  const before = openHandles();
  for (let round = 0; round < 12; round++) {
    const victim = join(dir, `victim-${round}`);
    mkdirSync(join(victim, "swapped/below"), { recursive: true });
    for (const name of ["a", "b", "below/c"]) writeFileSync(join(victim, "swapped", name), "");
    const stop = await startSwapper(t, join(victim, "swapped"), outside);
    // It may have to give up while somebody goes on swapping; what it does must stay inside.
    await removeTree(victim, call).catch(() => {});
    await stop();
    await removeTree(victim, call);
    t.notOk(existsSync(victim));
  }
  t.same(readdirSync(outside).sort(), ["a", "b", "below"]);
  t.same(readdirSync(join(outside, "below")), ["c"]);
  t.equal(openHandles(), before, "no handle is left open");
});

t.test("removeTree() removes a tree of any depth with few handles", async (t) => {
  const dir = temporary(t);
  let folder = Folder.open(dir);
  // Deeper than a path can name.
  for (let depth = 0; depth < 3000; depth++) {
    const next = folder.makeFolder("d");
    folder.close();
    folder = next;
  }
  folder.close();
  const { inodes } = await folderUsage(join(dir, "d"), call);
  t.equal(inodes, 3000);
  await removeTree(join(dir, "d"), call);
  t.same(readdirSync(dir), []);
  await removeTree(join(dir, "d"), call);
});

t.test("removeTree() and folderUsage() do not cross mounts", async (t) => {
  const dir = temporary(t);
  const point = join(dir, "tree/point");
  mkdirSync(point, { recursive: true });
  mkdirSync(join(dir, "elsewhere"));
  writeFileSync(join(dir, "elsewhere/kept"), "");
  mount(join(dir, "elsewhere"), point, null, mountFlags.bind);
  t.teardown(() => unmount(point));
  await t.rejects(removeTree(join(dir, "tree"), call), { code: "conflict" });
  t.ok(existsSync(join(dir, "elsewhere/kept")));
  t.equal((await folderUsage(join(dir, "tree"), call)).inodes, 1);
  unmount(point);
  await removeTree(join(dir, "tree"), call);
  t.ok(existsSync(join(dir, "elsewhere/kept")));
});

t.test("folderUsage() counts what is inside alone, whoever swaps directories", async (t) => {
  const dir = temporary(t);
  const outside = join(dir, "outside");
  mkdirSync(outside);
  for (let file = 0; file < 300; file++) writeFileSync(join(outside, String(file)), "");
  mkdirSync(join(dir, "tree/swapped"), { recursive: true });
  await startSwapper(t, join(dir, "tree/swapped"), outside);
  let most = 0;
  for (let round = 0; round < rounds; round++)
    most = Math.max(most, (await folderUsage(join(dir, "tree"), call)).inodes);
  t.ok(most <= 5, `at most the directories, their other names and the link: ${most}`);
});

t.test("giveToGroup() changes what is inside alone, whoever swaps files and directories", async (t) => {
  const dir = temporary(t);
  const outside = join(dir, "outside");
  mkdirSync(outside, { mode: 0o700 });
  writeFileSync(join(outside, "shadow"), "", { mode: 0o600 });
  const tree = join(dir, "tree");
  mkdirSync(join(tree, "swapped"), { recursive: true });
  writeFileSync(join(tree, "swapped/shadow"), "");
  writeFileSync(join(tree, "file"), "");
  await startSwapper(t, join(tree, "swapped"), outside);
  await startSwapper(t, join(tree, "file"), join(outside, "shadow"));
  for (let round = 0; round < rounds; round++) await giveToGroup(tree, 4242 + (round % 2), {}, call);
  for (const path of [outside, join(outside, "shadow")]) {
    t.equal(statSync(path).gid, process.getgid?.(), path);
    t.equal(statSync(path).mode & 0o077, 0, path);
  }
});

t.test("giveToGroup() sets group, modes and links", async (t) => {
  const tree = join(temporary(t), "tree");
  mkdirSync(join(tree, "sub"), { recursive: true });
  writeFileSync(join(tree, "sub/program"), "", { mode: 0o700 });
  chmodSync(join(tree, "sub/program"), 0o4700);
  symlinkSync("/nowhere", join(tree, "link"));
  execFileSync("mkfifo", [join(tree, "fifo")]);
  chmodSync(join(tree, "sub"), 0o700);
  await giveToGroup(tree, 4242, {}, call);
  const look = (name: string) => [
    statSync(join(tree, name)).gid,
    (statSync(join(tree, name)).mode & 0o7777).toString(8),
  ];
  t.same(look("sub"), [4242, "2770"]);
  t.same(look("sub/program"), [4242, "4760"], "setuid survives the change of owner");
  t.same(look("fifo"), [4242, "664"]);
  chmodSync(join(tree, "sub"), 0o700);
  await giveToGroup(tree, 4242, { onlyOnMismatch: true }, call);
  t.same(look("sub"), [4242, "700"], "the root is as it should be: the rest is left alone");
  chmodSync(tree, 0o2700);
  await giveToGroup(tree, 4242, { onlyOnMismatch: true }, call);
  t.same(look("sub"), [4242, "2770"], "the group cannot enter the root: all is done again");
  const file = join(tree, "alone");
  writeFileSync(file, "x", { mode: 0o600 });
  await giveToGroup(file, 4242, {}, call);
  t.same(look("alone"), [4242, "660"]);
  t.equal(readFileSync(file, "utf8"), "x");
});
