import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import t from "tap";
import { testPod } from "../../test/harness/pod-room.ts";
import { UserNamespaces } from "./user-namespaces.ts";

t.test(
  "UserNamespaces gives each pod ids of its own, remembers them, and gives them again when they are free",
  async (t) => {
    const dir = mkdtempSync(join(tmpdir(), "skiff-userns-"));
    t.teardown(() => rmSync(dir, { recursive: true }));
    const own = (name: string) => testPod(name, { hostUsers: false });
    const first = new UserNamespaces(dir);
    t.equal(first.of(testPod("plain")), undefined, "most pods share the host's users");
    t.same(first.of(own("a")), { hostId: 65_536, length: 65_536 });
    t.same(first.of(own("b")), { hostId: 131_072, length: 65_536 });
    t.same(first.of(own("a")), { hostId: 65_536, length: 65_536 }, "the same each time");

    const second = new UserNamespaces(dir);
    t.equal(second.of(own("b"))?.hostId, 131_072, "after a restart too");
    rmSync(join(dir, "uid-a"), { recursive: true });
    second.release("uid-a");
    t.equal(second.of(own("c"))?.hostId, 65_536);
  },
);
