// runtimes: node
// (It is the shell script that is tested.)
// install.sh cut off at every command that changes something, before and after it: the program there is whole, and running it again
// completes the installation and leaves nothing behind.

import { spawnSync } from "node:child_process";
import { cpSync, existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import t, { type Test } from "tap";

const project = join(import.meta.dirname, "../..");
const path = process.env["PATH"] ?? "";
const commands = ["mv", "ln", "rm", "cp", "mkdir", "chmod", "chown", "sync", "perl", "cat"];

function real(command: string): string {
  const found = path.split(delimiter).find((folder) => existsSync(join(folder, command)));
  if (found === undefined) throw new Error(`there is no ${command}`);
  return join(found, command);
}

/** A program to install in two versions, and a PATH whose commands kill the whole installation at the n-th call, like a power cut. */
function workshop(t: Test) {
  const folder = mkdtempSync(join(tmpdir(), "skiff-cut-"));
  t.teardown(() => rmSync(folder, { recursive: true, force: true }));
  const sources = ["one", "two"].map((version) => {
    const source = join(folder, version);
    mkdirSync(join(source, "agent"), { recursive: true });
    mkdirSync(join(source, "images"));
    cpSync(join(project, "install.sh"), join(source, "install.sh"));
    for (const file of ["skiff", "agent/a.ts", "images/i.tar"]) writeFileSync(join(source, file), version);
    return source;
  });
  const shims = join(folder, "shims");
  mkdirSync(shims);
  const calls = join(folder, "calls");
  for (const command of commands) {
    const script = `#!/bin/sh
n=$(($(wc -l <${calls}) + 1))
echo ${command} "$@" >>${calls}
[ "$CUT" != "before $n" ] || kill -9 0
${real(command)} "$@"
status=$?
[ "$CUT" != "after $n" ] || kill -9 0
exit $status
`;
    writeFileSync(join(shims, command), script, { mode: 0o755 });
  }
  const root = join(folder, "root");
  const install = (source: string, cut = "") => {
    writeFileSync(calls, "");
    const env = { ...process.env, DESTDIR: root, PATH: `${shims}:${path}`, CUT: cut };
    // In a process group of its own, which the cut kills as a whole.
    const ended = spawnSync("setsid", ["--wait", "sh", join(source, "install.sh"), "up", "--force"], { env });
    return { status: ended.status, said: `${ended.stdout}${ended.stderr}`, steps: readFileSync(calls, "utf8") };
  };
  const text = (file: string) => (existsSync(join(root, file)) ? readFileSync(join(root, file), "utf8") : undefined);
  /** The version that is installed, undefined without any; fails on half a one. */
  const installed = () => {
    const parts = [text("opt/skiff/skiff"), text("opt/skiff/agent/a.ts")];
    if (parts[0] !== parts[1]) throw new Error(`half a program: ${parts.join(", ")}`);
    return parts[0];
  };
  return { sources, root, shims, install, installed, text };
}

for (const when of ["before", "after"]) {
  for (const isUpdate of [false, true]) {
    t.test(`${isUpdate ? "an update" : "an installation"} cut ${when} any step`, async (t) => {
      const { sources, root, install, installed, text } = workshop(t);
      const [one = "", two = ""] = sources;
      for (let step = 1; ; step++) {
        rmSync(root, { recursive: true, force: true });
        mkdirSync(root);
        if (isUpdate) t.equal(install(one).status, 0);
        const cut = install(two, `${when} ${step}`);
        const at = `${when} step ${step}: ${cut.steps.trim().split("\n")[step - 1]}`;
        const found = installed();
        if (isUpdate && found !== "one" && found !== "two") t.fail(`no program, cut ${at}`);
        for (const file of ["etc/skiff/config.yaml", "etc/systemd/system/skiff.service", "var/lib/skiff/images/i.tar"])
          if (text(file) === "") t.fail(`${file} is empty, cut ${at}`);
        if (cut.status === 0) {
          t.ok(step > 10, `${step - 1} steps`);
          break;
        }
        const again = install(two);
        t.equal(again.status, 0, again.said);
        t.equal(installed(), "two", `cut ${at}`);
        t.same(readdirSync(join(root, "opt")), ["skiff"], "nothing is left beside it");
        const beside = ["etc/skiff", "etc/systemd/system", "usr/local/bin", "var/lib/skiff/images"].flatMap((each) =>
          readdirSync(join(root, each)),
        );
        t.same(beside.sort(), ["config.yaml", "i.tar", "skiff", "skiff.service"]);
        if (!t.passing()) break;
      }
    });
  }
}

t.test("where names cannot be exchanged, an installation that was cut is put right by the next", async (t) => {
  const { sources, root, shims, install, installed } = workshop(t);
  const [one = "", two = ""] = sources;
  mkdirSync(root);
  writeFileSync(join(shims, "perl"), "#!/bin/sh\nexit 1\n", { mode: 0o755 });
  t.equal(install(one).status, 0);
  const whole = install(two);
  t.equal(whole.status, 0);
  t.match(whole.said, /names cannot be exchanged here/);
  t.equal(installed(), "two");
  const steps = whole.steps.trim().split("\n");
  const between = steps.findIndex((step) => /^mv -T .*skiff .*skiff\.old$/.test(step)) + 1;
  t.ok(between > 0, whole.steps);
  t.not(install(one, `after ${between}`).status, 0);
  t.equal(installed(), undefined);
  t.equal(install(one).status, 0);
  t.equal(installed(), "one");
  t.same(readdirSync(join(root, "opt")), ["skiff"]);
});
