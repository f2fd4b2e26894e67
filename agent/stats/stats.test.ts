// Stats: the machine from a recorded tree, rates, cgroup paths, and the documents made of them.

import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import t from "tap";
import { FakeClock } from "../../plugins/kit/base/clock.ts";
import type { FileSystemUse } from "../../plugins/kit/os/platform/file-system-use.ts";
import { Disk } from "./disk.ts";
import { ForeignDisk } from "./foreign-disk.ts";
import { Exposition } from "./exposition.ts";
import { cgroupPath } from "../../plugins/kit/os/systemd/slice-path.ts";
import { NodeSampler } from "./node-sample.ts";
import { Rates } from "./rates.ts";
import { resourceMetrics } from "./resource-metrics.ts";
import { summary } from "./summary.ts";
import type { Snapshot } from "./usage.ts";

const files: Record<string, string> = {
  "proc/stat": "cpu  100 10 50 1000 30 5 5 0 0 0\ncpu0 1 1 1\n",
  "proc/meminfo":
    "MemTotal: 1000 kB\nMemFree: 200 kB\nInactive(file): 300 kB\nAnonPages: 250 kB\nSwapTotal: 100 kB\nSwapFree: 60 kB\n",
  "proc/vmstat": "pgfault 77\npgmajfault 7\noom_kill 2\n",
  "proc/loadavg": "0.50 0.25 0.10 3/123 4567\n",
  "proc/sys/kernel/pid_max": "32768\n",
  "proc/sys/kernel/threads-max": "7000\n",
  "proc/1/net/dev":
    "Inter-|\n face |\n    lo: 1 1 0 0 0 0 0 0 1 1 0 0 0 0 0 0\n  eth0: 100 2 3 4 0 0 0 0 500 6 7 8 0 0 0 0\nveth1: 1 1 0 0 0 0 0 0 1 1 0 0 0 0 0 0\n",
  "proc/pressure/memory": "some avg10=1.00 avg60=0.00 avg300=0.00 total=5\n",
  "sys/class/thermal/thermal_zone0/temp": "48312\n",
  "sys/class/thermal/thermal_zone0/type": "cpu-thermal\n",
  "sys/devices/platform/soc/soc:firmware/get_throttled": "50005\n",
  "sys/block/mmcblk0/device/life_time": "0x02 0x03\n",
};

function recorded(t: { teardown(then: () => void): void }): string {
  const root = mkdtempSync(join(tmpdir(), "skiff-stats-"));
  t.teardown(() => rmSync(root, { recursive: true, force: true }));
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), text);
  }
  return root;
}

t.test("NodeSampler reads the machine and the board", async (t) => {
  const sample = new NodeSampler(recorded(t)).sample(1000);
  t.match(sample, {
    cpuNs: { total: 1_700_000_000n, user: 1_100_000_000n, system: 600_000_000n },
    memory: {
      totalBytes: 1_024_000,
      usageBytes: 819_200,
      workingSetBytes: 512_000,
      swapUsedBytes: 40_960,
      oomKills: 2,
    },
    interfaces: [{ name: "eth0", rxBytes: 100, rxDropped: 4, txBytes: 500, txErrors: 7 }],
    processes: 123,
    mostProcesses: 7000,
    board: {
      temperatures: [{ zone: "cpu-thermal", celsius: 48.312 }],
      throttled: 0x50005,
      wear: [{ device: "mmcblk0", tenths: 3 }],
    },
  });
  t.equal(sample.interfaces.length, 1);
  t.same(new NodeSampler("/nowhere").sample(0).board, { temperatures: [], wear: [] }, "a machine without the files");
});

t.test("Rates tell a core as a core, and nothing when a counter begins anew", async (t) => {
  const rates = new Rates();
  t.equal(rates.rate("a", 0, 0n), undefined);
  t.equal(rates.rate("a", 10_000, 10_000_000_000n), 1_000_000_000);
  t.equal(rates.rate("a", 10_100, 10_000_000_000n), 1_000_000_000, "too soon: the last stands");
  t.equal(rates.rate("a", 20_000, 5n), undefined);
  rates.endRound();
  rates.endRound();
  t.equal(rates.rate("a", 30_000, 10n), undefined, "forgotten");
});

t.test("cgroupPath() unfolds slices", async (t) => {
  t.equal(cgroupPath("/skiff/kubepods/podx"), "/skiff/kubepods/podx");
  t.equal(
    cgroupPath("kubepods-burstable-pod1_2.slice"),
    "/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod1_2.slice",
  );
});

t.test("documents of a snapshot", async (t) => {
  const node = new NodeSampler(recorded(t)).sample(1000);
  const pod = { metadata: { name: "web", namespace: "default", uid: "u" }, spec: { containers: [] } };
  const sample = {
    at: 1000,
    cpu: { usageNs: 2_500_000_000n },
    memory: { usageBytes: 9, workingSetBytes: 8, rssBytes: 7, limitBytes: 20 },
  };
  const container = { id: "c", name: "main", startedAt: 500 };
  const used = {
    pod,
    cgroup: "/p",
    sample,
    nanoCores: 5,
    containers: [{ container, cgroup: "/p/c", sample, nanoCores: 5 }],
  };
  const snapshot = { at: 1000, node, nodeNanoCores: 3, pods: [used] } as unknown as Snapshot;
  t.match(summary(snapshot, undefined, { nodeName: "n", startedAt: 0, defaultInterface: "eth0" }), {
    node: { nodeName: "n", cpu: { usageNanoCores: 3 }, memory: { availableBytes: 512_000 } },
    pods: [
      {
        podRef: { name: "web", namespace: "default", uid: "u" },
        containers: [
          {
            name: "main",
            cpu: { usageNanoCores: 5, usageCoreNanoSeconds: 2_500_000_000 },
            memory: { availableBytes: 12 },
          },
        ],
      },
    ],
  });
  t.match(
    resourceMetrics(snapshot),
    /container_cpu_usage_seconds_total\{container="main",namespace="default",pod="web"\} 2.5 1000\n/,
  );
});

t.test("Exposition escapes labels and writes each head once", async (t) => {
  const out = new Exposition();
  out.add("a", "gauge", "help", { x: 'q"\\\n' }, 1);
  out.add("a", "gauge", "help", "", 2);
  t.equal(String(out), '# HELP a help\n# TYPE a gauge\na{x="q\\"\\\\\\n"} 1\na 2\n');
});

t.test("Disk keeps what it counted for a while", async (t) => {
  const root = recorded(t);
  const clock = new FakeClock();
  const disk = new Disk(clock);
  const first = await disk.of(root);
  t.ok(first.inodes > 12 && first.bytes > 0);
  writeFileSync(join(root, "more"), "x");
  t.equal((await disk.of(root)).inodes, first.inodes);
  await clock.advance(61_000);
  await disk.of(root);
  while ((await disk.of(root)).inodes === first.inodes) await new Promise((resolve) => setImmediate(resolve));
  t.equal((await disk.of(root)).inodes, first.inodes + 1);
});

t.test("ForeignDisk asks few at a time, and waits for nobody for long", async (t) => {
  const clock = new FakeClock();
  const use = (usedBytes: number) => ({ usedBytes }) as FileSystemUse;
  const asked: { path: string; answer: (use: FileSystemUse) => void }[] = [];
  const foreign = new ForeignDisk(clock, (path) => new Promise((answer) => asked.push({ path, answer })));
  const first = foreign.of("/a");
  asked[0]?.answer(use(1));
  t.match(await first, { usedBytes: 1 });
  t.match(await foreign.of("/a"), { usedBytes: 1 });
  t.equal(asked.length, 1, "an answer is kept for a while");
  await clock.advance(61_000);
  const again = foreign.of("/a");
  await clock.advance(2_000);
  t.match(await again, { usedBytes: 1 }, "the last answer stands while a new one is waited for");
  const silent = foreign.of("/b");
  await clock.advance(2_000);
  t.equal(await silent, undefined);
  t.equal(await foreign.of("/b"), undefined, "who is being asked is not asked again");
  t.equal(await foreign.of("/c"), undefined, "nor is a third");
  t.same(
    asked.map(({ path }) => path),
    ["/a", "/a", "/b"],
  );
  asked[2]?.answer(use(2));
  await new Promise((resolve) => setImmediate(resolve));
  t.match(await foreign.of("/b"), { usedBytes: 2 });
});
