import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import t from "tap";
import { testPod } from "../../test/harness/pod-room.ts";
import { canMapOwners, UserNamespaces } from "./user-namespaces.ts";

t.test(
  "UserNamespaces gives each pod ids of its own, remembers them, and gives them again when they are free",
  async (t) => {
    const dir = mkdtempSync(join(tmpdir(), "skiff-userns-"));
    t.teardown(() => rmSync(dir, { recursive: true }));
    const own = (name: string) => testPod(name, { hostUsers: false });
    const first = new UserNamespaces(dir, true);
    t.equal(first.of(testPod("plain")), undefined, "most pods share the host's users");
    t.same(first.of(own("a")), { hostId: 65_536, length: 65_536, isMapped: true });
    t.same(first.of(own("b")), { hostId: 131_072, length: 65_536, isMapped: true });
    t.same(first.of(own("a")), { hostId: 65_536, length: 65_536, isMapped: true }, "the same each time");

    const second = new UserNamespaces(dir, false);
    t.match(second.of(own("b")), { hostId: 131_072, isMapped: true }, "after a restart too, also on an older kernel");
    t.equal(second.of(own("d"))?.isMapped, false);
    rmSync(join(dir, "uid-a"), { recursive: true });
    second.release("uid-a");
    t.equal(second.of(own("c"))?.hostId, 65_536);
  },
);

t.test("UserNamespaces takes a pod of an agent before that knew no mapping for what it is", async (t) => {
  const dir = mkdtempSync(join(tmpdir(), "skiff-userns-"));
  t.teardown(() => rmSync(dir, { recursive: true }));
  mkdirSync(join(dir, "uid-old"));
  writeFileSync(join(dir, "uid-old", "userns"), JSON.stringify({ hostId: 65_536, length: 65_536 }));
  const range = new UserNamespaces(dir, true).of(testPod("old", { hostUsers: false }));
  t.same(range, { hostId: 65_536, length: 65_536, isMapped: false });
});

t.test("canMapOwners() asks for Linux 6.3", async (t) => {
  for (const [version, can] of [
    ["5.10.0-1-arm64", false],
    ["6.1.0", false],
    ["6.3.0-rc1", true],
    ["6.12.5+rpt", true],
    ["7.0", true],
  ] as const)
    t.equal(canMapOwners(version), can, version);
});
