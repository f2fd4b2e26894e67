// Both versions of control groups, from trees as the kernel shows them.

import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import t from "tap";
import { uninterrupted } from "../kit/base/call.ts";
import { FakeClock } from "../kit/base/clock.ts";
import { Cgroups } from "../kit/os/platform/cgroups.ts";
import { cgroupV1Source } from "./cgroup-v1.ts";
import { cgroupV2Source } from "./cgroup-v2.ts";

function tree(t: { teardown(then: () => void): void }, files: Record<string, string>): string {
  const root = mkdtempSync(join(tmpdir(), "skiff-cgroup-"));
  t.teardown(() => rmSync(root, { recursive: true, force: true }));
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), text);
  }
  return root;
}

const calm = "avg10=0.00 avg60=0.00 avg300=0.00 total=0";

t.test("cgroup-v2 reads CPU, memory, I/O, pressure and kills", async (t) => {
  const root = tree(t, {
    "cgroup.controllers": "cpu memory io pids",
    "pods/a/cpu.stat":
      "usage_usec 1500000\nuser_usec 1000000\nsystem_usec 500000\nnr_periods 10\nnr_throttled 2\nthrottled_usec 77\n",
    "pods/a/memory.current": "1000000\n",
    "pods/a/memory.max": "2000000\n",
    "pods/a/memory.stat":
      "anon 600000\nfile 300000\nkernel 5000\nfile_mapped 4000\nfile_dirty 30\nfile_writeback 20\nactive_file 200000\ninactive_file 100000\npgfault 9\npgmajfault 1\n",
    "pods/a/memory.peak": "1500000\n",
    "pods/a/memory.events": "low 0\nhigh 0\nmax 5\noom 1\noom_kill 1\n",
    "pods/a/memory.swap.current": "4096\n",
    "pods/a/memory.pressure": `some avg10=1.50 avg60=0.50 avg300=0.10 total=1234\nfull ${calm}\n`,
    "pods/a/cpu.pressure": `some ${calm}\n`,
    "pods/a/pids.current": "7\n",
    "pods/a/cgroup.procs": "10\n11\n",
    "pods/a/io.stat": "179:0 rbytes=4096 wbytes=8192 rios=1 wios=2 dbytes=0 dios=0\n",
  });
  const source = cgroupV2Source(new Cgroups(root), new FakeClock(5), true);
  t.equal(source.claim("/pods/a"), "mine");
  t.same(await source.sample("/pods/a", uninterrupted), {
    at: 5,
    cpu: {
      usageNs: 1_500_000_000n,
      userNs: 1_000_000_000n,
      systemNs: 500_000_000n,
      periods: 10,
      throttledPeriods: 2,
      throttledNs: 77_000n,
    },
    memory: {
      usageBytes: 1_000_000,
      workingSetBytes: 900_000,
      rssBytes: 600_000,
      cacheBytes: 300_000,
      swapBytes: 4096,
      pageFaults: 9,
      majorPageFaults: 1,
      failures: 5,
      oomKills: 1,
      maxUsageBytes: 1_500_000,
      mappedFileBytes: 4000,
      activeFileBytes: 200_000,
      inactiveFileBytes: 100_000,
      kernelBytes: 5000,
      dirtyFileBytes: 30,
      writebackBytes: 20,
      limitBytes: 2_000_000,
    },
    processes: 2,
    threads: 7,
    io: [{ device: "179:0", readBytes: 4096, writeBytes: 8192, reads: 1, writes: 2 }],
    pressure: {
      cpu: {
        some: { avg10: 0, avg60: 0, avg300: 0, totalUs: 0 },
        full: { avg10: 0, avg60: 0, avg300: 0, totalUs: 0 },
      },
      memory: {
        some: { avg10: 1.5, avg60: 0.5, avg300: 0.1, totalUs: 1234 },
        full: { avg10: 0, avg60: 0, avg300: 0, totalUs: 0 },
      },
    },
  });
  t.match(await source.sample("/pods/gone", uninterrupted), { at: 5, processes: 0 }, "a group that ended is empty");
});

t.test("cgroup-v1 reads the same from its hierarchies", async (t) => {
  const root = tree(t, {
    "memory/cgroup.procs": "",
    "cpuacct/a/cpuacct.usage": "1500000000\n",
    "cpuacct/a/cpuacct.usage_user": "1000000000\n",
    "cpuacct/a/cpuacct.usage_sys": "500000000\n",
    "cpu/a/cpu.stat": "nr_periods 10\nnr_throttled 2\nthrottled_time 77000\n",
    "memory/a/memory.usage_in_bytes": "1000000\n",
    "memory/a/memory.limit_in_bytes": "9223372036854771712\n",
    "memory/a/memory.stat":
      "cache 1\nrss 2\ntotal_cache 300000\ntotal_rss 600000\ntotal_inactive_file 100000\ntotal_active_file 200000\ntotal_mapped_file 4000\ntotal_pgfault 9\ntotal_pgmajfault 1\ntotal_swap 4096\n",
    "memory/a/memory.max_usage_in_bytes": "1500000\n",
    "memory/a/memory.failcnt": "5\n",
    "memory/a/memory.oom_control": "oom_kill_disable 0\nunder_oom 0\noom_kill 1\n",
    "memory/a/cgroup.procs": "10\n11\n",
    "pids/a/pids.current": "7\n",
    "blkio/a/blkio.throttle.io_service_bytes": "8:0 Read 4096\n8:0 Write 8192\n8:0 Total 12288\nTotal 12288\n",
    "blkio/a/blkio.throttle.io_serviced": "8:0 Read 1\n8:0 Write 2\nTotal 3\n",
  });
  const source = cgroupV1Source(new Cgroups(root), new FakeClock(5));
  t.equal(source.claim("/a"), "mine");
  const sample = await source.sample("/a", uninterrupted);
  t.match(sample, {
    cpu: { usageNs: 1_500_000_000n, throttledNs: 77_000n },
    memory: { workingSetBytes: 900_000, rssBytes: 600_000, swapBytes: 4096, failures: 5, oomKills: 1 },
  });
  t.match(sample.memory, { maxUsageBytes: 1_500_000, mappedFileBytes: 4000, activeFileBytes: 200_000 });
  t.match(sample, {
    processes: 2,
    threads: 7,
    io: [{ device: "8:0", readBytes: 4096, writeBytes: 8192, reads: 1, writes: 2 }],
  });
  t.equal(sample.memory?.limitBytes, undefined, "the largest number is no limit");
});
