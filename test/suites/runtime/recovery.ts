// What a runtime's death leaves: containers go on, exits meanwhile are found, nothing is lost.

import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import * as cri from "../../../cri/api/gen/runtime.js";
import { until } from "../../harness/until.ts";
import type { Test } from "./suite.ts";
import type { Workbench } from "./workbench.ts";

export function recovery(t: Test, bench: Workbench): void {
  const skip = bench.lacks("restart");

  t.test("everything is found again after a restart", { skip }, async (t) => {
    const pod = await bench.pod({ labels: { keeps: "labels" } });
    const running = await bench.started(pod, { labels: { keeps: "labels" } });
    const created = await bench.container(pod);
    const { id: exited } = await bench.ran(pod, "exit 6");
    const before = await bench.sandbox(pod.id);
    bench.runtime = (await bench.setup.restart?.()) ?? bench.runtime;
    t.match(await bench.sandbox(pod.id), {
      state: cri.PodSandboxState.SANDBOX_READY,
      network: { ip: before.network?.ip },
      createdAt: before.createdAt,
      labels: { keeps: "labels" },
    });
    t.match(await bench.status(running), {
      state: cri.ContainerState.CONTAINER_RUNNING,
      labels: { keeps: "labels" },
    });
    t.equal((await bench.status(created)).state, cri.ContainerState.CONTAINER_CREATED);
    t.match(await bench.status(exited), { state: cri.ContainerState.CONTAINER_EXITED, exitCode: 6 });
    t.equal(await bench.sh(running, "echo well"), "well");
    await bench.stop(running);
    await bench.removePod(pod.id);
    await t.rejects(bench.sandbox(pod.id), { code: "not-found" });
  });

  t.test(
    "an exit while it was away is found, with its code and log",
    { skip: skip || bench.lacks("kernel") || bench.lacks("exitsWhileAway") },
    async (t) => {
      const dir = join(bench.setup.dir, "recovery");
      mkdirSync(dir, { recursive: true });
      const pod = await bench.pod();
      const script =
        "echo before; until [ -e /shared/go ]; do sleep 0.05; done; echo after; touch /shared/gone; exit 33";
      const id = await bench.started(pod, {
        command: ["sh", "-c", script],
        mounts: [{ hostPath: dir, containerPath: "/shared" }],
      });
      await bench.logged(id, "before");
      bench.runtime =
        (await bench.setup.restart?.(async () => {
          writeFileSync(join(dir, "go"), "");
          await until("the container to end", () => existsSync(join(dir, "gone")));
        })) ?? bench.runtime;
      t.match(await bench.exited(id), { exitCode: 33 });
      await bench.logged(id, "before");
      await bench.removePod(pod.id);
    },
  );
}
