import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import t from "tap";
import { Cgroups } from "../../../plugins/kit/os/platform/cgroups.ts";
import { metricDescriptors, podMetrics } from "./pod-metrics.ts";

const interfaces = `Inter-|   Receive                            |  Transmit
 face |bytes packets errs drop fifo frame compressed multicast|bytes packets errs drop fifo colls carrier compressed
    lo:     1       1    0    0    0     0          0         0      1       1    0    0    0     0       0          0
  eth0:  1000      10    2    1    0     0          0         0   2000      20    4    3    0     0       0          0
`;

async function measure(t: { teardown(run: () => void): void }, files: Record<string, string>) {
  const root = mkdtempSync(join(tmpdir(), "skiff-metrics-"));
  t.teardown(() => rmSync(root, { recursive: true, force: true }));
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), text);
  }
  const writableLayer = { path: root, bytes: 77 };
  const main = { id: "c1", cgroup: "/pod/c1", name: "main", image: "web:1", startedAt: 9_500_000_000n, writableLayer };
  const pod = { id: "p1", name: "web-0", namespace: "shop", interfaces, containers: [main] };
  const found = await podMetrics(pod, new Cgroups(root), 30_000_000_000n);
  const own = found.containerMetrics[0]?.metrics ?? [];
  const all = [...found.metrics, ...own];
  /** `{ "name{own labels}": value }` */
  const values = Object.fromEntries(
    all.map(({ name, labelValues, value }) => [`${name}{${labelValues.slice(6).join(",")}}`, value?.value]),
  );
  return { values, all, own };
}

t.test("podMetrics() reads control groups of version 2", async (t) => {
  const { values, all, own } = await measure(t, {
    "cgroup.controllers": "cpu memory pids io hugetlb\n",
    "pod/c1/cgroup.procs": "",
    "pod/c1/cpu.stat":
      "usage_usec 5000000\nuser_usec 3000000\nsystem_usec 2000000\nnr_periods 8\nnr_throttled 2\nthrottled_usec 1500000\n",
    "pod/c1/cpu.max": "20000 100000\n",
    "pod/c1/cpu.weight": "39\n",
    "pod/c1/cpu.pressure": "some avg10=0.00 avg60=0.00 avg300=0.00 total=7000000\n",
    "pod/c1/memory.current": "1000\n",
    "pod/c1/memory.max": "max\n",
    "pod/c1/memory.peak": "1200\n",
    "pod/c1/memory.stat": "anon 300\nfile 250\nfile_mapped 20\nkernel 40\ninactive_file 200\npgfault 7\npgmajfault 1\n",
    "pod/c1/memory.events": "max 6\noom_kill 2\n",
    "pod/c1/io.stat": "8:0 rbytes=10 wbytes=20 rios=1 wios=2 dbytes=0 dios=0\n",
    "pod/c1/pids.current": "4\n",
    "pod/c1/pids.max": "max\n",
    "pod/c1/hugetlb.2MB.current": "0\n",
  });
  t.match(values, {
    "container_cpu_usage_seconds_total{total}": 5n,
    "container_cpu_user_seconds_total{}": 3n,
    "container_cpu_cfs_throttled_seconds_total{}": 1n,
    "container_spec_cpu_quota{}": 20_000n,
    "container_spec_cpu_shares{}": 998n,
    "container_pressure_cpu_waiting_seconds_total{}": 7n,
    "container_memory_working_set_bytes{}": 800n,
    "container_memory_max_usage_bytes{}": 1200n,
    "container_memory_failcnt{}": 6n,
    "container_memory_failures_total{pgfault,hierarchy}": 7n,
    "container_oom_events_total{}": 2n,
    "container_spec_memory_limit_bytes{}": 0n,
    "container_fs_writes_bytes_total{8:0}": 20n,
    "container_blkio_device_usage_total{8:0,8,0,Read}": 10n,
    "container_threads{}": 4n,
    "container_threads_max{}": 0n,
    "container_hugetlb_usage_bytes{2MB}": 0n,
    "container_start_time_seconds{}": 9n,
    "container_last_seen{}": 30n,
    "container_network_receive_bytes_total{eth0}": 1000n,
    "container_network_transmit_packets_dropped_total{eth0}": 3n,
  });
  t.notOk(
    Object.keys(values).some((key) => key.includes("{lo}")),
    "not the loopback",
  );
  t.same(own[0]?.labelValues.slice(0, 6), ["main", "/pod/c1", "web:1", "c1", "shop", "web-0"]);
  for (const { name, labelValues } of all) {
    const described = metricDescriptors.find((descriptor) => descriptor.name === name);
    t.equal(described?.labelKeys.length, labelValues.length, `${name} has the labels it says`);
  }
});

t.test("podMetrics() reads control groups of version 1", async (t) => {
  const { values } = await measure(t, {
    "cpu/pod/c1/cpu.stat": "nr_periods 8\nnr_throttled 2\nthrottled_time 2500000000\n",
    "cpu/pod/c1/cpu.cfs_quota_us": "-1\n",
    "cpu/pod/c1/cpu.shares": "512\n",
    "cpuacct/pod/c1/cpuacct.usage": "4000000000\n",
    "memory/pod/c1/memory.usage_in_bytes": "1000\n",
    "memory/pod/c1/memory.limit_in_bytes": "9223372036854771712\n",
    "memory/pod/c1/memory.stat": "pgfault 1\ntotal_cache 50\ntotal_rss 60\ntotal_inactive_file 200\ntotal_pgfault 7\n",
    "blkio/pod/c1/blkio.throttle.io_service_bytes": "8:0 Read 10\n8:0 Write 20\nTotal 30\n",
    "pids/pod/c1/pids.current": "4\n",
  });
  t.match(values, {
    "container_cpu_cfs_throttled_seconds_total{}": 2n,
    "container_spec_cpu_shares{}": 512n,
    "container_memory_cache{}": 50n,
    "container_memory_failures_total{pgfault,container}": 1n,
    "container_memory_failures_total{pgfault,hierarchy}": 7n,
    "container_spec_memory_limit_bytes{}": 0n,
    "container_fs_reads_bytes_total{8:0}": 10n,
  });
  t.notOk("container_spec_cpu_quota{}" in values, "no limit is no value");
});
