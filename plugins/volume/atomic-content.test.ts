import {
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  statSync,
  symlinkSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import t from "tap";
import { type Content, writeContent } from "./atomic-content.ts";

const content = (files: Record<string, string>, mode = 0o644): Content =>
  new Map(Object.entries(files).map(([path, text]) => [path, { data: Buffer.from(text), mode }]));

t.test("writeContent()", async (t) => {
  const dir = mkdtempSync(join(tmpdir(), "skiff-content-"));
  t.teardown(() => rmSync(dir, { recursive: true }));

  t.equal(await writeContent(dir, content({ a: "1", "d/b": "2" }), { now: 0 }), true, "first write");
  t.equal(readFileSync(join(dir, "a"), "utf8"), "1");
  t.equal(readFileSync(join(dir, "d/b"), "utf8"), "2");
  t.equal(readlinkSync(join(dir, "a")), "..data/a");

  t.equal(await writeContent(dir, content({ a: "1", "d/b": "2" }), { now: 1000 }), false, "nothing changed");

  const before = readlinkSync(join(dir, "..data"));
  t.equal(await writeContent(dir, content({ a: "3", c: "4" }), { fsGroup: 0, now: 2000 }), true, "changed");
  t.not(readlinkSync(join(dir, "..data")), before);
  t.same(
    readdirSync(dir)
      .filter((name) => !name.startsWith(".."))
      .sort(),
    ["a", "c"],
    "names that went are gone",
  );
  t.equal(readdirSync(dir).length, 4, "the old directory is gone");
  t.equal(statSync(join(dir, "a")).mode & 0o777, 0o644 | 0o440);
  t.ok(lstatSync(join(dir, "..data")).isSymbolicLink());

  for (const path of ["../x", "/x", "a/../../x", "..x", ""]) {
    const attempt = writeContent(dir, content({ [path]: "" }), { now: 3000 });
    await t.rejects(attempt, { code: "invalid" }, `refuses "${path}"`);
  }
});

t.test("writeContent() removes what a writer that was killed left behind", async (t) => {
  const dir = mkdtempSync(join(tmpdir(), "skiff-content-"));
  t.teardown(() => rmSync(dir, { recursive: true }));
  await writeContent(dir, content({ a: "1" }), { now: 0 });
  const before = readdirSync(dir).sort();
  mkdirSync(join(dir, "..2025_01_01_00_00_00.0a1b2c3d"));
  symlinkSync("..data/gone", join(dir, "gone"));
  mkdirSync(join(dir, "mounted"));
  t.equal(await writeContent(dir, content({ a: "1" }), { now: 1000, keep: ["mounted"] }), false, "nothing changed");
  t.same(readdirSync(dir).sort(), [...before, "mounted"].sort());
});

t.test("writeContent() leaves nothing of an attempt that failed", async (t) => {
  const dir = mkdtempSync(join(tmpdir(), "skiff-content-"));
  t.teardown(() => rmSync(dir, { recursive: true }));
  await writeContent(dir, content({ a: "1" }), { now: 0 });
  const before = readdirSync(dir).sort();
  // A file cannot be made where another of the same content wants a directory.
  await t.rejects(writeContent(dir, content({ a: "2", "a/b": "3" }), { now: 1000 }));
  t.same(readdirSync(dir).sort(), before);
  t.equal(readFileSync(join(dir, "a"), "utf8"), "1", "the old content is whole");
});
