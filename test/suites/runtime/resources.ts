// Limits: set at the start, changed while it runs, and what happens beyond them.

import * as cri from "../../../cri/api/gen/runtime.js";
import { within } from "../../../plugins/kit/base/call.ts";
import { until } from "../../harness/until.ts";
import type { Test } from "./suite.ts";
import type { Workbench } from "./workbench.ts";

const mebibyte = 1024 * 1024;
const memoryLimit = "cat /sys/fs/cgroup/memory/memory.limit_in_bytes 2>/dev/null || cat /sys/fs/cgroup/memory.max";
const cpuQuota = "cat /sys/fs/cgroup/cpu/cpu.cfs_quota_us 2>/dev/null || cut -d' ' -f1 /sys/fs/cgroup/cpu.max";

export function resources(t: Test, bench: Workbench): void {
  t.test("limits hold from the start and follow an update", { skip: bench.lacks("kernel") }, async (t) => {
    const pod = await bench.pod();
    const id = await bench.started(pod, {
      linux: { resources: { memoryLimitInBytes: 64 * mebibyte, cpuPeriod: 100_000, cpuQuota: 50_000, cpuShares: 512 } },
    });
    t.equal(await bench.sh(id, memoryLimit), String(64 * mebibyte));
    t.equal(await bench.sh(id, cpuQuota), "50000");
    const update = cri.UpdateContainerResourcesRequest.create({
      containerId: id,
      linux: { memoryLimitInBytes: 96 * mebibyte, cpuPeriod: 100_000, cpuQuota: 70_000 },
    });
    await bench.runtime.runtime.updateContainerResources(update, within(30_000));
    t.equal(await bench.sh(id, memoryLimit), String(96 * mebibyte));
    t.equal(await bench.sh(id, cpuQuota), "70000");
    await bench.removePod(pod.id);
  });

  t.test("updateContainerResources shows in the status", { skip: bench.lacks("containerUser") }, async (t) => {
    const pod = await bench.pod();
    const id = await bench.started(pod, { linux: { resources: { memoryLimitInBytes: 64 * mebibyte } } });
    t.equal((await bench.status(id)).resources?.linux?.memoryLimitInBytes, BigInt(64 * mebibyte));
    const linux = { memoryLimitInBytes: 96 * mebibyte };
    const update = cri.UpdateContainerResourcesRequest.create({ containerId: id, linux });
    await bench.runtime.runtime.updateContainerResources(update, within(30_000));
    t.equal((await bench.status(id)).resources?.linux?.memoryLimitInBytes, BigInt(96 * mebibyte));
    await bench.stop(id);
    if (!bench.lacks("lateUpdates"))
      await t.rejects(bench.runtime.runtime.updateContainerResources(update, within(30_000)));
    await bench.removePod(pod.id);
  });

  t.test("a container out of memory is killed, and the reason says so", { skip: bench.lacks("kernel") }, async (t) => {
    const pod = await bench.pod();
    const script = "x=aaaaaaaaaaaaaaaa; while :; do x=$x$x; done";
    const linux = { resources: { memoryLimitInBytes: 24 * mebibyte, memorySwapLimitInBytes: 24 * mebibyte } };
    const id = await bench.started(pod, { command: ["sh", "-c", script], linux });
    t.equal((await bench.exited(id)).exitCode, 137);
    const killed = await until("the reason", async () => (await bench.status(id)).reason === "OOMKilled");
    t.ok(killed);
    await bench.removePod(pod.id);
  });
}
