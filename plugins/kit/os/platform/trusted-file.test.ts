import { chmodSync, chownSync, lchownSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import t, { type Test } from "tap";
import { loadUserPlugins } from "../user-plugins.ts";
import { requireTrustedFile } from "./trusted-file.ts";

const skip = process.getuid?.() === 0 ? false : "only root may give files away";
const stranger = 65_533;
const source = 'export default { kind: { name: "greeter" }, name: "mine", open: () => ({}) };';

function folderOf(t: Test): string {
  const folder = mkdtempSync(join(tmpdir(), "skiff-trusted-"));
  t.teardown(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

function pluginIn(folder: string): string {
  const file = join(folder, "plugin.js");
  writeFileSync(file, source, { mode: 0o644 });
  return file;
}

const cases: Record<string, { spoil: (folder: string, file: string) => void; says: RegExp }> = {
  "a file of another user": {
    spoil: (_, file) => chownSync(file, stranger, stranger),
    says: /the file .*plugin\.js belongs to another user \(owner 65533:65533, mode 0644\); fix: chown/,
  },
  "a file that its group can write": {
    spoil: (_, file) => chmodSync(file, 0o664),
    says: /the file .*plugin\.js can be written by others \(owner 0:0, mode 0664\); fix: chmod go-w/,
  },
  "a file that all can write": { spoil: (_, file) => chmodSync(file, 0o646), says: /mode 0646/ },
  "a folder that all can write": { spoil: (folder) => chmodSync(folder, 0o777), says: /the folder .* mode 0777/ },
  "a folder of another user": {
    spoil: (folder) => chownSync(folder, stranger, stranger),
    says: /the folder .*another user/,
  },
  "a sticky folder of another user": {
    spoil: (folder) => {
      chownSync(folder, stranger, stranger);
      chmodSync(folder, 0o1777);
    },
    says: /the folder .*another user/,
  },
};
for (const [name, { spoil, says }] of Object.entries(cases)) {
  t.test(`loadUserPlugins() refuses ${name}`, { skip }, async (t) => {
    const folder = join(folderOf(t), "deep");
    mkdirSync(folder);
    const file = pluginIn(folder);
    t.equal((await loadUserPlugins(["./plugin.js"], folder)).length, 1, "trusted at first");
    spoil(folder, file);
    await t.rejects(loadUserPlugins([file], "/"), { code: "forbidden", message: says });
  });
}

t.test("requireTrustedFile() walks links as the kernel does", { skip }, async (t) => {
  const folder = folderOf(t);
  const good = join(folder, "good");
  const bad = join(folder, "bad");
  mkdirSync(good);
  mkdirSync(bad);
  const file = pluginIn(good);
  symlinkSync(file, join(good, "link.js"));
  requireTrustedFile(join(good, "link.js"), "no");
  symlinkSync("../good", join(bad, "way"));
  requireTrustedFile(join(bad, "way/plugin.js"), "no");
  lchownSync(join(bad, "way"), stranger, stranger);
  t.throws(() => requireTrustedFile(join(bad, "way/plugin.js"), "no"), {
    code: "forbidden",
    message: /the link .*way/,
  });
  symlinkSync(join(bad, "file.js"), join(good, "out.js"));
  writeFileSync(join(bad, "file.js"), source);
  chmodSync(bad, 0o777);
  t.throws(
    () => requireTrustedFile(join(good, "out.js"), "no"),
    { message: /the folder .*bad/ },
    "where the link leads",
  );
  symlinkSync("loop", join(good, "loop"));
  t.throws(() => requireTrustedFile(join(good, "loop"), "no"), { message: /too many links/ });
  t.throws(() => requireTrustedFile(good, "no"), { message: /not a regular file/ });
});
