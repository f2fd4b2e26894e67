// A checkpoint: one archive with memory, description and changed files, of a container that goes on.

import { execFileSync } from "node:child_process";
import { join } from "node:path";
import * as cri from "../../../cri/api/gen/runtime.js";
import { within } from "../../../plugins/kit/base/call.ts";
import type { Test } from "./suite.ts";
import type { Workbench } from "./workbench.ts";

export function checkpoint(t: Test, bench: Workbench): void {
  const skip = bench.lacks("kernel") || bench.lacks("checkpointContainer") || bench.lacks("criu");

  t.test("checkpointContainer writes an archive, and the container goes on", { skip }, async (t) => {
    const pod = await bench.pod();
    const containerId = await bench.started(pod);
    await bench.sh(containerId, "echo changed > /tmp/changed; rm /etc/group");
    const location = join(bench.setup.dir, "checkpoint.tar");
    await bench.runtime.runtime.checkpointContainer({ containerId, location, timeout: 60n }, within(90_000));
    const list = (...args: string[]) => execFileSync("tar", args, { encoding: "utf8" });
    const names = list("-tf", location);
    for (const name of ["checkpoint/inventory.img", "config.dump", "spec.dump", "rootfs-diff.tar", "dump.log"])
      t.match(names, new RegExp(`^(\\./)?${name}$`, "m"), name);
    const config = /^(\.\/)?config\.dump$/m.exec(names)?.[0] ?? "";
    const dump = JSON.parse(list("-xOf", location, config)) as { id: string };
    t.equal(dump.id, containerId);
    t.equal((await bench.status(containerId)).state, cri.ContainerState.CONTAINER_RUNNING);
    t.equal(await bench.sh(containerId, "cat /tmp/changed"), "changed");
    await bench.removePod(pod.id);
  });
}
