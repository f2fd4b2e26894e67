// runtimes: node
// (It is the shell script that is tested.)
// install.sh and a release that is damaged, changed, not signed, or signed by somebody else: refused before anything of it is run or copied.

import { execFileSync, spawnSync } from "node:child_process";
import { generateKeyPairSync, type KeyObject } from "node:crypto";
import {
  appendFileSync,
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import t, { type Test } from "tap";
import { signFile } from "../../release/sign.ts";

const project = join(import.meta.dirname, "../..");
const pair = () => generateKeyPairSync("ed25519");

/** A small release and a root to install it on. */
function release(t: Test, signer?: KeyObject) {
  const folder = mkdtempSync(join(tmpdir(), "skiff-signed-"));
  t.teardown(() => rmSync(folder, { recursive: true, force: true }));
  const source = join(folder, "source");
  const root = join(folder, "root");
  mkdirSync(join(source, "docs"), { recursive: true });
  mkdirSync(root);
  cpSync(join(project, "install.sh"), join(source, "install.sh"));
  writeFileSync(join(source, "skiff"), "#!/bin/sh\n", { mode: 0o755 });
  writeFileSync(join(source, "docs/a.md"), "a\n");
  const seal = (key = signer) => {
    const sums = join(source, "SHA256SUMS");
    for (const file of [sums, `${sums}.sig`]) rmSync(file, { force: true });
    const files = execFileSync("find", [".", "-type", "f"], { cwd: source, encoding: "utf8" }).trim().split("\n");
    const names = files.map((file) => file.slice(2)).sort();
    writeFileSync(sums, execFileSync("sha256sum", names, { cwd: source }));
    if (key) signFile(sums, key);
  };
  seal();
  const keyFile = (key: KeyObject, name = "release.pub") => {
    const file = join(folder, name);
    writeFileSync(file, key.export({ type: "spki", format: "pem" }));
    return file;
  };
  const installFrom = (script: string, ...args: string[]) => {
    const env = { ...process.env, DESTDIR: root };
    const { status, stdout, stderr } = spawnSync("sh", [script, "up", "--force", ...args], { env });
    return { status, said: `${stdout}${stderr}` };
  };
  const install = (...args: string[]) => installFrom(join(source, "install.sh"), ...args);
  const program = join(root, "opt/skiff");
  return { folder, source, root, program, seal, keyFile, install, installFrom };
}

const changes: Record<string, { change: (source: string) => void; says: RegExp }> = {
  "a changed file": {
    change: (source) => appendFileSync(join(source, "docs/a.md"), "more"),
    says: /not those of its SHA256SUMS/,
  },
  "a missing file": { change: (source) => rmSync(join(source, "docs/a.md")), says: /not those of its SHA256SUMS/ },
  "a file more": {
    change: (source) => writeFileSync(join(source, "docs/b.md"), "b"),
    says: /files that are not in its SHA256SUMS: docs\/b\.md/,
  },
  "a link": { change: (source) => symlinkSync("/etc/passwd", join(source, "docs/link")), says: /links or devices/ },
};
for (const [name, { change, says }] of Object.entries(changes)) {
  t.test(`a release with ${name} is not installed`, async (t) => {
    const { source, program, install } = release(t);
    t.equal(install().status, 0);
    const before = readFileSync(join(program, "docs/a.md"), "utf8");
    change(source);
    const { status, said } = install();
    t.not(status, 0);
    t.match(said, says);
    t.equal(readFileSync(join(program, "docs/a.md"), "utf8"), before, "what was installed stays");
    t.notOk(existsSync(join(program, "docs/b.md")));
  });
}

t.test("an unsigned release says so, and is refused where a key is known", async (t) => {
  const { root, install, keyFile } = release(t);
  const key = keyFile(pair().publicKey);
  const refused = install("--public-key", key);
  t.not(refused.status, 0);
  t.match(refused.said, /this release is not signed/);
  t.notOk(existsSync(join(root, "opt")), "nothing was changed");
  const { status, said } = install();
  t.equal(status, 0, said);
  t.match(said, /the release is not signed: only its checksums are checked/);
});

t.test("a signed release is installed, its key kept, and the next must be signed with it", async (t) => {
  const { publicKey, privateKey } = pair();
  const { source, root, program, seal, install, installFrom, keyFile } = release(t, privateKey);
  t.match(install().said, /no public key is known/, "signed, but nobody can tell by whom");
  const first = install("--public-key", keyFile(publicKey));
  t.equal(first.status, 0, first.said);
  t.match(first.said, /the release is signed with/);
  t.ok(existsSync(join(root, "etc/skiff/release.pub")));

  writeFileSync(join(source, "docs/a.md"), "two\n");
  seal(pair().privateKey);
  const forged = install();
  t.not(forged.status, 0);
  t.match(forged.said, /the signature of this release is not that of .*release\.pub/);
  seal();
  rmSync(join(source, "SHA256SUMS.sig"));
  t.match(install().said, /this release is not signed/);
  rmSync(join(source, "SHA256SUMS"));
  t.match(install().said, /this is no release archive/);
  t.equal(readFileSync(join(program, "docs/a.md"), "utf8"), "a\n");

  // A release that brings an install.sh which checks nothing: the installed one does.
  writeFileSync(join(source, "install.sh"), "#!/bin/sh\n");
  seal(pair().privateKey);
  const installed = join(program, "install.sh");
  t.not(installFrom(installed, "--from", source).status, 0);
  seal();
  const second = installFrom(installed, "--from", source);
  t.equal(second.status, 0, second.said);
  t.equal(readFileSync(join(program, "docs/a.md"), "utf8"), "two\n");
});

t.test("what is installed is root's alone, whatever the modes in the archive", async (t) => {
  const { source, program, seal, install } = release(t);
  chmodSync(join(source, "skiff"), 0o6777);
  seal();
  t.equal(install().status, 0);
  const mode = execFileSync("stat", ["-c", "%a %u", join(program, "skiff")], { encoding: "utf8" }).trim();
  t.match(mode, /^755 /);
});
