import t from "tap";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { readAll } from "../../test/harness/read-all.ts";
import { runtimeSuite } from "../../test/suites/runtime/suite.ts";
import { openFake } from "./open.ts";

const busybox = "skiff.test/busybox:1";

runtimeSuite(t, {
  name: "fake",
  lacks: {
    kernel: "the fake has no kernel",
    checkpointContainer: "the fake has no memory to save",
  },
  async open(t) {
    const dir = mkdtempSync(join(tmpdir(), "skiff-fake-suite-"));
    t.teardown(async () => rmSync(dir, { recursive: true }));
    const open = (world?: ReturnType<typeof openFake>["world"]) => {
      const fake = openFake(world ? { world } : { images: [busybox, "skiff.test/removable:1"] });
      fake.canPull = (name) => name.startsWith("registry.test/");
      fake.programs.set("echo-server", (io) => io.run(["pause"]));
      fake.ports.set(8080, async (connection) => {
        const said = await readAll(connection);
        await new Promise<void>((resolve) => connection.end(said, resolve));
      });
      return fake;
    };
    const fake = open();
    fake.addImage("skiff.test/named-user:1", { username: "app" });
    fake.addImage("skiff.test/numbered-user:1", { uid: { value: 1000n } });
    return {
      runtime: fake,
      dir,
      image: busybox,
      images: {
        namedUser: "skiff.test/named-user:1",
        numberedUser: "skiff.test/numbered-user:1",
        removable: "skiff.test/removable:1",
      },
      echoServer: { command: ["echo-server"], port: 8080 },
      pullable: "registry.test/busybox:2",
      async restart(meanwhile) {
        await fake.close();
        await meanwhile?.();
        return open(fake.world);
      },
    };
  },
});
