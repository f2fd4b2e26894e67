import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import t from "tap";
import { serverIdentity } from "./server-identity.ts";

t.test("serverIdentity() stays, and is not that of another server with the same address", async (t) => {
  const folders = [0, 1].map(() => mkdtempSync(join(tmpdir(), "skiff-identity-")));
  t.teardown(() => folders.forEach((folder) => rmSync(folder, { recursive: true, force: true })));
  const [one = "", two = ""] = folders;
  const own = serverIdentity(one, "10.0.2.15:6443");
  t.match(own, /^[^_]+_10\.0\.2\.15:6443_[\da-f-]{36}$/);
  t.equal(serverIdentity(one, "10.0.2.15:6443"), own, "after a restart");
  t.not(serverIdentity(two, "10.0.2.15:6443"), own, "on another box");
  t.not(serverIdentity(one, "192.0.2.1:6443"), own, "from a copy of its folder");
  t.match(own, readFileSync(join(one, "server-id"), "utf8").trim());
});
