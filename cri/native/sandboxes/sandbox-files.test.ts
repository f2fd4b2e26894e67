import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import t from "tap";
import { resolvConf } from "./sandbox-files.ts";

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
