import { lstatSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, readlinkSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import t from "tap";
import { uninterrupted } from "../../../plugins/kit/base/call.ts";
import { type TestEntry, tarOf } from "../../../test/harness/image-builder.ts";
import { startSwapper } from "../../../test/harness/racer.ts";
import { libc } from "../kernel/libc.ts";
import { unpackLayer } from "./layer-unpack.ts";

const limits = { entries: 1000, bytes: 1 << 20 };
const isRoot = process.getuid?.() === 0;
const needsRoot = isRoot ? {} : { skip: "device nodes and owners need root" };

/** Feeds the archive in odd pieces, so that every boundary is crossed. */
async function* pieces(bytes: Buffer, size = 333) {
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
}

async function unpack(t: Tap, entries: TestEntry[] | Buffer, with_ = limits) {
  const outer = mkdtempSync(join(tmpdir(), "skiff-unpack-"));
  t.teardown(() => rmSync(outer, { recursive: true, force: true }));
  const into = join(outer, "layer");
  mkdirSync(into);
  const tar = Buffer.isBuffer(entries) ? entries : tarOf(entries);
  const result = unpackLayer(pieces(tar), into, with_, uninterrupted);
  return { outer, into, result };
}

type Tap = { teardown(run: () => void): void };

t.test(
  "unpackLayer() makes files, links, folders, FIFOs and devices with owner, mode and time",
  needsRoot,
  async (t) => {
    const { into, result } = await unpack(t, [
      { name: "./", type: "5", mode: 0o711 },
      { name: "a", type: "5", mode: 0o750, uid: 3, gid: 4, mtime: 1000 },
      { name: "a/su", content: "x", mode: 0o4755, uid: 5, gid: 6, mtime: 2000 },
      { name: "a/hard", type: "1", link: "a/su" },
      { name: "a/soft", type: "2", link: "/etc/passwd", uid: 7 },
      { name: "a/pipe", type: "6", mode: 0o622 },
      { name: "a/null", type: "3", major: 1, minor: 3, mode: 0o666 },
      { name: `a/${"long".repeat(50)}`, content: "long" },
      { name: "a/big", content: Buffer.alloc(200_000, 7) },
    ]);
    await result;
    const at = (name: string) => lstatSync(join(into, name));
    t.equal(at("").mode & 0o7777, 0o711);
    t.match(at("a"), { uid: 3, gid: 4, mtimeMs: 1_000_000 });
    t.match(at("a/su"), { uid: 5, gid: 6, mtimeMs: 2_000_000, nlink: 2, mode: 0o104755 });
    t.equal(at("a/hard").ino, at("a/su").ino);
    t.equal(readlinkSync(join(into, "a/soft")), "/etc/passwd");
    t.equal(at("a/soft").uid, 7);
    t.ok(at("a/pipe").isFIFO());
    t.ok(at("a/null").isCharacterDevice());
    t.equal(readFileSync(join(into, "a", "long".repeat(50)), "utf8"), "long");
    t.equal(at("a/big").size, 200_000);
  },
);

t.test("unpackLayer() turns whiteouts into overlayfs's own", needsRoot, async (t) => {
  const { into, result } = await unpack(t, [
    { name: "d", type: "5" },
    { name: "d/.wh..wh..opq" },
    { name: "d/new", content: "n" },
    { name: ".wh.gone" },
    { name: ".wh..wh.plnk" },
    { name: "kept", type: "5" },
    { name: ".wh.kept" },
    { name: ".wh.back" },
    { name: "back", type: "5" },
  ]);
  await result;
  t.equal(libc.lgetxattr(join(into, "d"), "trusted.overlay.opaque")?.toString(), "y");
  const gone = lstatSync(join(into, "gone"));
  t.ok(gone.isCharacterDevice() && gone.rdev === 0);
  t.equal(libc.lgetxattr(join(into, "kept"), "trusted.overlay.opaque")?.toString(), "y", "hides the lower one only");
  t.equal(
    libc.lgetxattr(join(into, "back"), "trusted.overlay.opaque")?.toString(),
    "y",
    "a folder over a whiteout is opaque",
  );
  t.same(readdirSync(into).sort(), ["back", "d", "gone", "kept"]);
});

t.test("unpackLayer() sets harmless extended attributes and never those overlayfs trusts", needsRoot, async (t) => {
  const { into, result } = await unpack(t, [
    {
      name: "f",
      content: "x",
      pax: {
        "SCHILY.xattr.user.note": Buffer.from([1, 0, 2]),
        "SCHILY.xattr.trusted.overlay.redirect": "/etc",
        "SCHILY.xattr.user.overlay.opaque": "y",
      },
    },
  ]);
  await result;
  t.same([...(libc.lgetxattr(join(into, "f"), "user.note") ?? [])], [1, 0, 2]);
  t.equal(libc.lgetxattr(join(into, "f"), "trusted.overlay.redirect"), undefined);
  t.equal(libc.lgetxattr(join(into, "f"), "user.overlay.opaque"), undefined);
});

t.test("unpackLayer() tells which folders were only implied", needsRoot, async (t) => {
  const { result } = await unpack(t, [
    { name: "tmp/x/f", content: "1" },
    { name: "tmp/x", type: "5" },
  ]);
  t.same((await result).implied, ["tmp"]);
});

t.test("unpackLayer() follows a relative link inside the layer without the kernel's help", needsRoot, async (t) => {
  const { into, result } = await unpack(t, [
    { name: "usr/lib", type: "5" },
    { name: "lib", type: "2", link: "usr/lib" },
    { name: "lib/x.so", content: "so" },
  ]);
  await result;
  t.equal(readFileSync(join(into, "usr/lib/x.so"), "utf8"), "so");
});

t.test("unpackLayer() lets a later entry take the place of an earlier one", needsRoot, async (t) => {
  const { into, result } = await unpack(t, [
    { name: "a/b/c", content: "1" },
    { name: "a", content: "file now" },
    { name: "d", content: "1" },
    { name: "d/", type: "5" },
    { name: "d/e", content: "2" },
    { name: "f", type: "2", link: "d" },
    { name: "f", content: "3" },
  ]);
  t.same((await result).implied, [], "what was implied is gone again");
  t.equal(readFileSync(join(into, "a"), "utf8"), "file now");
  t.equal(readFileSync(join(into, "d/e"), "utf8"), "2");
  t.equal(readFileSync(join(into, "f"), "utf8"), "3");
});

t.test("unpackLayer() touches nothing behind a link that replaced a folder", needsRoot, async (t) => {
  const outside = mkdtempSync(join(tmpdir(), "skiff-outside-"));
  t.teardown(() => rmSync(outside, { recursive: true, force: true }));
  mkdirSync(join(outside, "x"));
  mkdirSync(join(outside, "y"));
  const before = lstatSync(join(outside, "x"));
  const { result } = await unpack(t, [
    { name: "d/x/", type: "5", mtime: 5 },
    { name: "d/y/f", content: "1" },
    { name: "d", type: "2", link: outside },
  ]);
  t.same((await result).implied, []);
  t.equal(lstatSync(join(outside, "x")).mtimeMs, before.mtimeMs);
});

t.test("unpackLayer() refuses hostile archives and leaves nothing outside", needsRoot, async (t) => {
  const rows: [name: string, entries: TestEntry[] | Buffer, why: RegExp][] = [
    ["dot dot", [{ name: "../evil", content: "x" }], /\.\./],
    ["dot dot inside", [{ name: "a/../../evil", content: "x" }], /\.\./],
    [
      "absolute link as parent",
      [
        { name: "l", type: "2", link: "/tmp" },
        { name: "l/evil", content: "x" },
      ],
      /is a link to/,
    ],
    [
      "escaping link as parent",
      [
        { name: "l", type: "2", link: "../.." },
        { name: "l/evil", content: "x" },
      ],
      /leads out/,
    ],
    [
      "link circle as parent",
      [{ name: "a", type: "2", link: "b" }, { name: "b", type: "2", link: "a" }, { name: "a/x" }],
      /circles/,
    ],
    ["hard link outside", [{ name: "h", type: "1", link: "../../etc/passwd" }], /\.\./],
    [
      "hard link through link",
      [
        { name: "l", type: "2", link: "/etc" },
        { name: "h", type: "1", link: "l/passwd" },
      ],
      /is a link to/,
    ],
    [
      "hard link cycle",
      [
        { name: "a", type: "1", link: "b" },
        { name: "b", type: "1", link: "a" },
      ],
      /does not have/,
    ],
    [
      "hard link to itself",
      [
        { name: "a", content: "1" },
        { name: "a", type: "1", link: "a" },
      ],
      /itself/,
    ],
    [
      "hard link to folder",
      [
        { name: "a", type: "5" },
        { name: "b", type: "1", link: "a" },
      ],
      /folder/,
    ],
    [
      "hard link in place of its folder",
      [
        { name: "a/b", content: "1" },
        { name: "a", type: "1", link: "a/b" },
      ],
      /takes the place/,
    ],
    ["block device", [{ name: "sda", type: "4", major: 8, minor: 0 }], /block device 8:0/],
    ["memory device", [{ name: "mem", type: "3", major: 1, minor: 1 }], /char device 1:1/],
    ["forged whiteout", [{ name: "w", type: "3", major: 0, minor: 0 }], /char device 0:0/],
    [
      "file as folder",
      [
        { name: "f", content: "1" },
        { name: "f/x", content: "2" },
      ],
      /not a folder/,
    ],
    ["root as file", [{ name: "/", content: "x", type: "2", link: "/" }], /root/],
    ["too deep", [{ name: "d/".repeat(300), type: "5" }], /deeper/],
    ["NUL in name", [{ name: "x", pax: { path: "a\0b" } }], /not a path/],
    ["name too long", [{ name: "x", pax: { path: `a/${"n".repeat(300)}` } }], /longer than 255/],
    ["link too long", [{ name: "x", type: "2", pax: { linkpath: "l".repeat(5000) } }], /no place to lead to/],
    ["link to nowhere", [{ name: "x", type: "2", link: "" }], /no place to lead to/],
    ["NUL in link", [{ name: "x", type: "2", pax: { linkpath: "a\0b" } }], /no place to lead to/],
    ["owner beyond numbers", [{ name: "x", pax: { uid: "99999999999" } }], /owner/],
    ["group beyond numbers", [{ name: "x", pax: { gid: "4294967296" } }], /owner/],
    ["unknown type", [{ name: "x", type: "S" }], /not supported/],
    ["cut short", tarOf([{ name: "x", content: "0123456789" }]).subarray(0, 515), /middle/],
    ["lying size", [{ name: "x", content: "1", claimedSize: 1 << 19 }], /middle/],
    ["garbage", Buffer.alloc(1024, 0x41), /checksum|number/],
    ["entry bomb", Array.from({ length: 1001 }, (_, at) => ({ name: `f${at}` })), /more than 1000 entries/],
    ["byte bomb", [{ name: "x", content: Buffer.alloc((1 << 20) + 1) }], /larger than/],
  ];
  for (const [name, entries, why] of rows) {
    await t.test(name, async (t) => {
      const { outer, result } = await unpack(t, entries);
      await t.rejects(result, { code: "invalid", message: why });
      t.same(readdirSync(outer), ["layer"]);
    });
  }
});

t.test("unpackLayer() refuses whiteouts of no name", needsRoot, async (t) => {
  for (const name of [".wh.", ".wh..", "a/.wh..."]) {
    const { result } = await unpack(t, [{ name }]);
    await t.rejects(result, { code: "invalid" }, name);
  }
});

t.test("unpackLayer() makes nothing outside, whoever swaps folders for links", async (t) => {
  const outer = mkdtempSync(join(tmpdir(), "skiff-unpack-"));
  t.teardown(() => rmSync(outer, { recursive: true, force: true }));
  const outside = join(outer, "outside");
  mkdirSync(outside, { mode: 0o700 });
  const files: TestEntry[] = Array.from({ length: 400 }, (_, at) => ({ name: `a/b/f${at}`, content: "x" }));
  for (let round = 0; round < 5; round++) {
    const into = join(outer, `layer-${round}`);
    mkdirSync(join(into, "a/b"), { recursive: true });
    const stop = await startSwapper(t, join(into, "a/b"), outside);
    const folders: TestEntry[] = ["a", "a/b"].map((name) => ({ name, type: "5", mode: 0o755 }));
    // It may fail when it meets the link.
    await unpackLayer(pieces(tarOf([...folders, ...files])), into, limits, uninterrupted).catch(() => {});
    await stop();
  }
  t.same(readdirSync(outside), []);
  t.equal(lstatSync(outside).mode & 0o777, 0o700);
});
