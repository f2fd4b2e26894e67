import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import t from "tap";
import { Cgroups } from "../../plugins/kit/os/platform/cgroups.ts";
import { CpuRates, cpuUsage, memoryUsage, swapUsage } from "./cgroup-usage.ts";

function tree(t: { teardown(run: () => void): void }, files: Record<string, string>): Cgroups {
  const root = mkdtempSync(join(tmpdir(), "skiff-cgroups-"));
  t.teardown(() => rmSync(root, { recursive: true, force: true }));
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), text);
  }
  return new Cgroups(root);
}

t.test("Cgroups reads version 2", async (t) => {
  const cgroups = tree(t, {
    "cgroup.controllers": "cpu memory pids\n",
    "pod/cgroup.procs": "",
    "pod/a/cgroup.procs": "11\n12\n",
    "pod/b/cgroup.procs": "13\n",
    "pod/cpu.stat": "usage_usec 5000\nuser_usec 1\n",
    "pod/memory.current": "1000\n",
    "pod/memory.max": "4000\n",
    "pod/memory.stat": "anon 300\ninactive_file 200\npgfault 7\npgmajfault 1\n",
    "pod/memory.events": "low 0\noom 3\noom_kill 2\n",
    "pod/memory.swap.current": "5\n",
    "pod/memory.swap.max": "max\n",
    "pod/memory.pressure":
      "some avg10=1.50 avg60=0.00 avg300=0.00 total=9\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=3\n",
  });
  t.equal(cgroups.version, 2);
  t.same([...cgroups.controllers], ["cpu", "memory", "pids"]);
  t.same(new Set(cgroups.allProcesses("/pod")), new Set([11, 12, 13]));
  t.equal(cgroups.oomKills("/pod"), 2);
  t.match(cpuUsage(cgroups, "/pod", 1n, new CpuRates()), { usageCoreNanoSeconds: { value: 5_000_000n } });
  t.match(memoryUsage(cgroups, "/pod", 1n), {
    usageBytes: { value: 1000n },
    workingSetBytes: { value: 800n },
    availableBytes: { value: 3200n },
    rssBytes: { value: 300n },
    pageFaults: { value: 7n },
    psi: { Some: { Avg10: 1.5, Total: 9000n }, Full: { Total: 3000n } },
  });
  t.match(swapUsage(cgroups, "/pod", 1n), { swapUsageBytes: { value: 5n }, swapAvailableBytes: undefined });
  t.equal(cgroups.read("/gone", "memory", "memory.stat"), undefined);
});

t.test("Cgroups reads version 1, hierarchy by hierarchy", async (t) => {
  const cgroups = tree(t, {
    "memory/cgroup.procs": "",
    "cpuacct/cgroup.procs": "",
    "empty/nothing": "",
    "memory/pod/cgroup.procs": "21\n",
    "memory/pod/memory.usage_in_bytes": "1000\n",
    "memory/pod/memory.limit_in_bytes": "9223372036854771712\n",
    "memory/pod/memory.stat": "total_rss 300\ntotal_inactive_file 100\n",
    "memory/pod/memory.oom_control": "oom_kill_disable 0\nunder_oom 0\noom_kill 1\n",
    "cpuacct/pod/cpuacct.usage": "77\n",
  });
  t.equal(cgroups.version, 1);
  t.same(cgroups.controllers, new Set(["cpuacct", "memory"]));
  t.same(cgroups.processes("/pod"), [21]);
  t.equal(cgroups.oomKills("/pod"), 1);
  t.match(cpuUsage(cgroups, "/pod", 1n, new CpuRates()), { usageCoreNanoSeconds: { value: 77n } });
  t.match(memoryUsage(cgroups, "/pod", 1n), { workingSetBytes: { value: 900n }, availableBytes: undefined });
});

t.test("memoryUsage() asks the processes where there is no memory controller", async (t) => {
  const cgroups = tree(t, { "cgroup.controllers": "cpu\n", "pod/a/cgroup.procs": `${process.pid}\n999999999\n` });
  const { workingSetBytes, availableBytes } = memoryUsage(cgroups, "/pod", 1n);
  t.ok((workingSetBytes?.value ?? 0n) > 1_000_000n);
  t.equal(availableBytes, undefined);
});

t.test("CpuRates tells usage between two looks", async (t) => {
  const rates = new CpuRates();
  const second = 1_000_000_000n;
  t.equal(rates.rate("/a", second, 0n), 0n);
  t.equal(rates.rate("/a", 2n * second, second / 2n), second / 2n);
  t.equal(rates.rate("/a", 2n * second + 1n, second), second / 2n, "too close to tell");
  t.equal(rates.rate("/a", 3n * second, 0n), 0n, "counted anew");
});
