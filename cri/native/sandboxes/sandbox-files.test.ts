import { mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import t from "tap";
import { startSwapper } from "../../../test/harness/racer.ts";
import { NamespaceMode, PodSandboxConfig } from "../../api/gen/runtime.js";
import { makeSandboxFiles, resolvConf } from "./sandbox-files.ts";

t.test("resolvConf() writes the pod's settings, or hands on the host's", async (t) => {
  const dns = {
    servers: ["10.43.0.10", "fd00::a"],
    searches: ["default.svc.cluster.local", "svc.cluster.local"],
    options: ["ndots:5"],
  };
  const expected = [
    "search default.svc.cluster.local svc.cluster.local",
    "nameserver 10.43.0.10",
    "nameserver fd00::a",
    "options ndots:5",
    "",
  ];
  t.equal(resolvConf(dns), expected.join("\n"));
  const dir = mkdtempSync(join(tmpdir(), "skiff-resolv-"));
  t.teardown(() => rmSync(dir, { recursive: true, force: true }));
  writeFileSync(join(dir, "resolv.conf"), "nameserver 192.0.2.1\n");
  const empty = { servers: [], searches: [], options: [] };
  t.equal(resolvConf(empty, join(dir, "resolv.conf")), "nameserver 192.0.2.1\n");
  t.equal(resolvConf(undefined, join(dir, "resolv.conf")), "nameserver 192.0.2.1\n");
  t.equal(resolvConf(undefined, join(dir, "none")), "");
});

t.test("makeSandboxFiles() makes its files anew, and writes to no other, whoever swaps links in", async (t) => {
  const dir = mkdtempSync(join(tmpdir(), "skiff-sandbox-files-"));
  t.teardown(() => rmSync(dir, { recursive: true, force: true }));
  const host = join(dir, "host");
  mkdirSync(host);
  for (const name of ["resolv.conf", "hosts", "hostname"]) writeFileSync(join(host, name), "the host's");
  // Without shared memory of its own, which would be a mount.
  const linux = { securityContext: { namespaceOptions: { ipc: NamespaceMode.NODE } } };
  const dnsConfig = { servers: ["10.43.0.10"] };
  const config = PodSandboxConfig.fromPartial({ metadata: { name: "p" }, dnsConfig, linux });
  const folder = join(dir, "sandbox");
  makeSandboxFiles(folder, config, "web-0");
  t.equal(readFileSync(join(folder, "resolv.conf"), "utf8"), "nameserver 10.43.0.10\n");
  t.equal(readFileSync(join(folder, "hostname"), "utf8"), "web-0\n");
  t.equal(statSync(join(folder, "hosts")).mode & 0o777, 0o644);

  for (const name of ["resolv.conf", "hosts", "hostname"]) {
    const planted = mkdtempSync(join(dir, "planted-"));
    symlinkSync(join(host, name), join(planted, name));
    t.throws(() => makeSandboxFiles(planted, config, "web-0"), { code: "EEXIST" }, name);
  }
  const raced = join(dir, "raced");
  mkdirSync(raced);
  await startSwapper(t, raced, host);
  for (let round = 0; round < 300; round++) {
    try {
      makeSandboxFiles(raced, config, "web-0");
    } catch {
      continue; // it met the link, or what it made before
    }
  }
  for (const name of ["resolv.conf", "hosts", "hostname"])
    t.equal(readFileSync(join(host, name), "utf8"), "the host's", name);
});
