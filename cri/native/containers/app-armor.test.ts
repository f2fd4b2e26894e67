import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import t, { type Test } from "tap";
import { noLog } from "../../../plugins/kit/base/log.ts";
import { defaultProfile, forgetAppArmor, learnAppArmor } from "./app-armor.ts";

/** A host's tree as the kernel shows it, and a program that writes down what it is given. */
function host(t: Test, files: Record<string, string>) {
  const root = mkdtempSync(join(tmpdir(), "skiff-apparmor-"));
  t.teardown(() => rmSync(root, { recursive: true, force: true }));
  for (const [path, content] of Object.entries(files)) {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), content);
  }
  const parser = join(root, "parser");
  writeFileSync(parser, `#!/bin/sh\necho "$@" > ${root}/args\ncat > ${root}/given\n`, { mode: 0o755 });
  const given = (name: string) => readFileSync(join(root, name), "utf8");
  return { root, parser, given };
}

const enabled = { "sys/module/apparmor/parameters/enabled": "Y\n" };
const profiles = "sys/kernel/security/apparmor/profiles";

t.test("learnAppArmor() finds none where the module is absent or switched off", async (t) => {
  for (const files of [{}, { "sys/module/apparmor/parameters/enabled": "N\n" }]) {
    const { root, parser, given } = host(t, files);
    t.equal(learnAppArmor({ log: noLog, root, parser }), undefined);
    t.throws(() => given("args"), { code: "ENOENT" }, "nothing was loaded");
  }
});

t.test("learnAppArmor() gives the kernel the default profile, also in place of an earlier one", async (t) => {
  const fresh = host(t, { ...enabled, [profiles]: "/usr/bin/man (enforce)\nmine (complain)\n" });
  const found = learnAppArmor({ log: noLog, root: fresh.root, parser: fresh.parser });
  t.equal(found?.defaultProfile, "skiff-default");
  t.equal(fresh.given("args"), "--skip-cache --replace\n");
  t.equal(fresh.given("given"), defaultProfile);
  t.ok(found?.isLoaded("mine"));
  t.notOk(found?.isLoaded("min"));
  const later = host(t, { ...enabled, [profiles]: "skiff-default (enforce)\n" });
  t.equal(learnAppArmor({ log: noLog, root: later.root, parser: later.parser })?.defaultProfile, "skiff-default");
  t.equal(later.given("given"), defaultProfile, "what the kernel has may be an earlier version's");
  const kept = learnAppArmor({ log: noLog, root: later.root, parser: "/bin/false" });
  t.equal(kept?.defaultProfile, "skiff-default", "an earlier one is better than none");
});

t.test("learnAppArmor() does without a default profile where it cannot be loaded", async (t) => {
  const { root } = host(t, { ...enabled, [profiles]: "mine (enforce)\n" });
  for (const parser of [join(root, "nowhere"), "/bin/false"]) {
    const found = learnAppArmor({ log: noLog, root, parser });
    t.equal(found?.defaultProfile, undefined);
    t.ok(found?.isLoaded("mine"));
  }
});

t.test("forgetAppArmor() takes the default profile from the kernel, where it is", async (t) => {
  const there = host(t, { ...enabled, [profiles]: "mine (enforce)\nskiff-default (enforce)\n" });
  forgetAppArmor({ log: noLog, root: there.root, parser: there.parser });
  t.equal(there.given("args"), "--skip-cache --remove\n");
  t.equal(there.given("given"), defaultProfile);
  for (const files of [{}, { ...enabled, [profiles]: "mine (enforce)\n" }]) {
    const { root, parser, given } = host(t, files);
    forgetAppArmor({ log: noLog, root, parser });
    t.throws(() => given("args"), { code: "ENOENT" }, "nothing of it is there");
  }
  t.doesNotThrow(() => forgetAppArmor({ log: noLog, root: there.root, parser: "/bin/false" }));
});
