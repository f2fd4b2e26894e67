// The launcher on boxes that cannot run Skiff, played by programs of the same names put first on the PATH: it says what is
// missing and the exact fix, exits non-zero, and changes nothing.

import { spawnSync } from "node:child_process";
import { chmodSync, cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { utimesSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import t from "tap";

const root = join(import.meta.dirname, "../..");

/** A checkout with nothing installed, and a PATH that holds only the plain tools and the given stand-ins. */
function freshBox(t: { teardown(then: () => void): void }, standIns: Record<string, string>) {
  const dir = mkdtempSync(join(tmpdir(), "skiff-box-"));
  t.teardown(() => rmSync(dir, { recursive: true }));
  const bin = join(dir, "bin");
  mkdirSync(join(dir, "skiff"), { recursive: true });
  mkdirSync(bin);
  for (const name of ["skiff", "package.json", "package-lock.json"]) cpSync(join(root, name), join(dir, "skiff", name));
  writeFileSync(join(dir, "skiff", "skiff.ts"), "");
  for (const [name, script] of Object.entries(standIns)) {
    writeFileSync(join(bin, name), `#!/bin/sh\n${script}\n`);
    chmodSync(join(bin, name), 0o755);
  }
  const env = { PATH: `${bin}:/usr/bin:/bin`, HOME: dir };
  return {
    dir: join(dir, "skiff"),
    env,
    run(...args: string[]) {
      const result = spawnSync(join(dir, "skiff", "skiff"), args, { encoding: "utf8", env });
      return { code: result.status, stderr: result.stderr, stdout: result.stdout };
    },
  };
}

t.test("the launcher says what is wrong with a box and how to mend it", async (t) => {
  const rows = [
    {
      name: "not Linux",
      standIns: { uname: "case $1 in -s) echo Darwin;; *) echo x86_64;; esac" },
      says: /^skiff: this is Darwin, and a Kubernetes node needs Linux\n {2}fix: run it on a Linux box/,
    },
    {
      name: "32-bit machine",
      standIns: { uname: "case $1 in -s) echo Linux;; *) echo armv7l;; esac" },
      says: /^skiff: this is a armv7l machine, and no current Node exists for it\n {2}fix: use a 64-bit/,
    },
    {
      name: "64-bit kernel below 32-bit programs",
      standIns: { getconf: "echo 32" },
      says: /^skiff: this system's programs are 32-bit.*\n {2}fix: install the 64-bit Raspberry Pi OS/,
    },
    { name: "not root", standIns: { id: "echo 1000" }, says: /^skiff: up needs root .*\n {2}fix: sudo .*\/skiff up$/m },
    {
      name: "no network for npm",
      standIns: { npm: "echo 'npm error network request failed' >&2; exit 1" },
      says: /skiff: could not install the npm packages: npm error network request failed\n {2}fix: connect this box, then: cd .* && npm install/,
    },
  ];
  for (const row of rows) {
    const box = freshBox(t, row.standIns);
    const { code, stderr } = box.run("up");
    t.equal(code, 1, `${row.name}: exits non-zero`);
    t.match(stderr, row.says, row.name);
    t.notMatch(stderr, / at .*:\d+:\d+/, `${row.name}: no stack trace`);
  }
});

/** The set-up on a box without runc and conmon, where apt-get says this and gives up. */
function setUpWithout(t: { teardown(then: () => void): void }, aptSays: string) {
  const installed = "mkdir -p node_modules/hono && touch node_modules/.package-lock.json";
  const aptGet = `[ $1 = update ] || { echo "${aptSays}" ; exit 100; }`;
  const box = freshBox(t, { npm: installed, "apt-get": aptGet });
  // Hidden behind empty files, in a mount namespace of its own.
  const hide = 'for p in runc conmon; do f=$(command -v $p || true); [ -z "$f" ] || mount --bind /dev/null "$f"; done';
  const start = `PATH=${join(box.dir, "../bin")}:$PATH exec ${box.dir}/skiff setup run`;
  return spawnSync("unshare", ["--mount", "sh", "-c", `${hide}; ${start}`], { encoding: "utf8" });
}

t.test("the launcher names the Debian packages that it cannot get, and the fix", async (t) => {
  const { status, stderr } = setUpWithout(t, "E: Unable to fetch");
  t.equal(status, 1);
  t.match(stderr, /setup: installing runc \(starts containers\)/);
  t.match(stderr, /setup: installing conmon \(keeps containers running while Skiff restarts\)/);
  t.match(
    stderr,
    /skiff: could not install .*runc.*: E: Unable to fetch\n {2}fix: connect this box, then: apt-get update && apt-get install .*runc/,
  );
  const cutOff = "E: dpkg was interrupted, you must manually run 'dpkg --configure -a' to correct the problem.";
  t.match(
    setUpWithout(t, cutOff).stderr,
    /could not install .*: E: dpkg was interrupted.*\n {2}fix: dpkg --configure -a\n/,
  );
});

t.test("two set-ups at once install once", async (t) => {
  const there = "#!/bin/sh\nexit 0";
  const npm = [
    "echo begun >> $HOME/npm-runs",
    "sleep 0.5",
    "mkdir -p node_modules/hono node_modules/.bin",
    "touch node_modules/.bin/tsc",
  ].join("\n");
  const programs = ["runc", "conmon", "ip", "nft"].map((name) => [name, there]);
  const box = freshBox(t, { npm, ...Object.fromEntries(programs) });
  const command = `${join(box.dir, "skiff")} setup run & ${join(box.dir, "skiff")} setup run; wait $!`;
  const { status, stderr } = spawnSync("sh", ["-c", command], { encoding: "utf8", env: box.env });
  t.equal(status, 0, stderr);
  t.equal(readFileSync(join(box.env.HOME, "npm-runs"), "utf8"), "begun\n");
});

t.test("the second set-up does nothing and needs no network", async (t) => {
  const refuses = "echo 'no network here' >&2; exit 1";
  const result = spawnSync(join(root, "skiff"), ["setup", "run"], {
    encoding: "utf8",
    env: {
      ...process.env,
      PATH: `${freshBox(t, { npm: refuses, "apt-get": refuses }).dir}/../bin:${process.env.PATH}`,
    },
  });
  t.equal(result.status, 0);
  t.equal(result.stderr, "");
  t.ok(readdirSync(root).includes("node_modules"));
});

t.test("the launcher leaves packages that were installed for testing alone, however old npm's record is", async (t) => {
  const box = freshBox(t, { npm: "exit 1" });
  mkdirSync(join(box.dir, "node_modules/hono"), { recursive: true });
  writeFileSync(join(box.dir, "node_modules/.package-lock.json"), "");
  utimesSync(join(box.dir, "node_modules/.package-lock.json"), 0, 0);
  t.match(
    box.run("setup", "run").stderr,
    /could not install the npm packages/,
    "nobody noted for which lock file they are",
  );
  const noted = spawnSync("cksum", { input: readFileSync(join(root, "package-lock.json")) }).stdout;
  writeFileSync(join(box.dir, "node_modules/.skiff-test"), noted);
  t.notMatch(box.run("setup", "run").stderr, /npm/);
});

t.test("the launcher becomes Deno itself, so that signals reach it", async (t) => {
  const box = freshBox(t, {});
  const place = (path: string, script: string) => {
    mkdirSync(join(box.dir, path, ".."), { recursive: true });
    writeFileSync(join(box.dir, path), `#!/bin/sh\n${script}\n`, { mode: 0o755 });
  };
  const version = '[ "$1" != --version ] || { echo "deno 2.9.3 (stable)"; exit 0; }';
  place("node_modules/@deno/linux-x64-glibc/deno", `${version}\necho "became $$"`);
  place("node_modules/.bin/deno", `${version}\necho "beside $$"`);
  mkdirSync(join(box.dir, "node_modules/hono"));
  const noted = spawnSync("cksum", { input: readFileSync(join(root, "package-lock.json")) }).stdout;
  writeFileSync(join(box.dir, "node_modules/.skiff-run"), noted);
  const { pid, stdout } = spawnSync(join(box.dir, "skiff"), ["--deno", "version"], { encoding: "utf8" });
  t.equal(stdout, `became ${pid}\n`);
});
