import { execFileSync } from "node:child_process";
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import t from "tap";
import { startSwapper } from "../../test/harness/racer.ts";
import { makeMessageFile, writeHostsFile } from "./mounted-files.ts";

function scene(t: { teardown(then: () => void): void }) {
  const root = mkdtempSync(join(tmpdir(), "skiff-mounted-"));
  t.teardown(() => rmSync(root, { recursive: true, force: true }));
  const host = join(root, "host");
  mkdirSync(host);
  writeFileSync(join(host, "secret"), "the host's");
  return { root, host, secret: join(host, "secret"), hosts: join(root, "pods/uid/etc-hosts") };
}

t.test("writeHostsFile() writes the file that containers have mounted", async (t) => {
  const { hosts } = scene(t);
  await writeHostsFile(hosts, "127.0.0.1 localhost\n");
  const { ino, mode } = statSync(hosts);
  t.equal(mode & 0o777, 0o644);
  await writeHostsFile(hosts, "::1\n");
  t.equal(readFileSync(hosts, "utf8"), "::1\n");
  t.equal(statSync(hosts).ino, ino);
});

t.test("writeHostsFile() waits for no FIFO, and writes to no other file, whoever swaps links in", async (t) => {
  const { root, secret, hosts } = scene(t);
  mkdirSync(join(root, "pods/uid"), { recursive: true });
  execFileSync("mkfifo", [hosts]);
  await t.rejects(writeHostsFile(hosts, "x"), { code: "forbidden" });
  rmSync(hosts);
  writeFileSync(hosts, "");
  await startSwapper(t, hosts, secret);
  for (let round = 0; round < 300; round++) await writeHostsFile(hosts, "x").catch(() => {});
  t.equal(readFileSync(secret, "utf8"), "the host's");
});

t.test("makeMessageFile() makes a new file for any user, and none outside, whoever swaps links in", async (t) => {
  const { root, host } = scene(t);
  const dir = join(root, "pods/uid/containers/c");
  const [one, two] = [await makeMessageFile(dir), await makeMessageFile(dir)];
  t.not(one, two);
  t.equal(statSync(one).mode & 0o777, 0o666);
  rmSync(dir, { recursive: true });
  symlinkSync(host, dir);
  await t.rejects(makeMessageFile(dir));
  rmSync(dir);
  mkdirSync(dir);
  await startSwapper(t, dir, host);
  for (let round = 0; round < 300; round++) await makeMessageFile(dir).catch(() => {});
  t.same(readdirSync(host), ["secret"]);
});
