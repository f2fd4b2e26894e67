// What the node tells of its containers against what the kernel counts itself, and on Docker against what Docker tells. Counters are
// compared with readings before and after: how busy the machine is meanwhile does not matter.

import { execFile, spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import t, { type Test } from "tap";
import { Engine } from "../../cri/docker/engine/engine.ts";
import { within } from "../../plugins/kit/base/call.ts";
import { systemClock } from "../../plugins/kit/base/clock.ts";
import { Cgroups } from "../../plugins/kit/os/platform/cgroups.ts";
import { cgroupV1Source } from "../../plugins/stats/cgroup-v1.ts";
import { cgroupV2Source } from "../../plugins/stats/cgroup-v2.ts";
import { startDocker, withoutDocker } from "../harness/docker.ts";
import { busyboxImage, busyboxImageName, imageArchive } from "../harness/images.ts";
import { noNetworkReason } from "../harness/network.ts";
import { type RunningSkiff, startSkiff } from "../harness/skiff.ts";
import { until } from "../harness/until.ts";

const burnNs = 10e9;
/** Numbers closer together than this show the rate of before. */
const sameRateMs = 900;
const mega = 1 << 20;

const container = (name: string, script: string, more: object = {}) => ({
  name,
  image: busyboxImageName,
  imagePullPolicy: "Never",
  command: ["sh", "-c", script],
  ...more,
});

const pod = {
  apiVersion: "v1",
  kind: "Pod",
  metadata: { name: "busy" },
  spec: {
    terminationGracePeriodSeconds: 0,
    containers: [
      // It waits to be told, so that nothing is burnt before somebody looks.
      container("burner", "until [ -e /tmp/go ]; do sleep 0.1; done; while :; do :; done"),
      // A file in memory, which is charged to who wrote it.
      container("holder", "dd if=/dev/zero of=/dev/shm/held bs=1M count=40; sleep 1000 & sleep 1000 & wait", {
        volumeMounts: [{ name: "memory", mountPath: "/dev/shm" }],
      }),
      container("victim", "while :; do tail /dev/zero; sleep 0.5; done", { resources: { limits: { memory: "24Mi" } } }),
    ],
    volumes: [{ name: "memory", emptyDir: { medium: "Memory" } }],
  },
};

interface Stats {
  readonly name: string;
  readonly cpu: { readonly usageCoreNanoSeconds: number; readonly usageNanoCores?: number };
  readonly memory: { readonly usageBytes: number; readonly workingSetBytes: number };
}

interface Summary {
  readonly node: {
    readonly cpu: { readonly psi?: { readonly some: { readonly total: number } } };
    readonly swap: { readonly swapUsageBytes: number };
  };
  readonly pods: readonly {
    readonly podRef: { readonly name: string };
    readonly containers: readonly Stats[];
    readonly process_stats: { readonly process_count: number };
  }[];
}

/** Cgroup and id of each of the pod's containers, as cAdvisor's document tells them. */
interface Placed {
  readonly cgroup: string;
  readonly id: string;
}

/** Lets the group, and those of the node around it, go before everything else, so that a busy machine gives it what it asks for. */
function preferred(cgroups: Cgroups, cgroup: string): void {
  const [file, most] = cgroups.version === 2 ? ["cpu.weight", "10000"] : ["cpu.shares", "262144"];
  for (let path = cgroup; path.includes("/skiff-"); path = dirname(path))
    writeFileSync(join(cgroups.folder(path, "cpu"), file), most);
}

/** Asks the node for documents without a process for each. */
async function openProxy(t: Test, { kubeconfig, nodeName }: RunningSkiff): Promise<(path: string) => Promise<unknown>> {
  const proxy = spawn("kubectl", ["--kubeconfig", kubeconfig, "proxy", "--port=0"], {
    stdio: ["ignore", "pipe", "ignore"],
  });
  t.teardown(() => proxy.kill());
  let said = "";
  proxy.stdout.on("data", (chunk: Buffer) => (said += chunk.toString()));
  const [, address] = await until("the proxy", () => /Starting to serve on (\S+)/.exec(said));
  return async (path) => (await fetch(`http://${address}/api/v1/nodes/${nodeName}/proxy${path}`)).json();
}

async function againstKernel(
  t: Test,
  skiff: RunningSkiff,
  { isBurning }: { isBurning: boolean },
): Promise<ReadonlyMap<string, Placed>> {
  const proxied = (path: string) => skiff.kubectl("get", "--raw", `/api/v1/nodes/${skiff.nodeName}/proxy${path}`);
  await skiff.apply(pod);
  const places = new Map<string, Placed>();
  await until(
    "the containers to be looked at",
    async () => {
      const found = JSON.parse(await proxied("/api/v1.3/docker")) as Record<
        string,
        { id: string; spec: { labels: Record<string, string> } }
      >;
      for (const [cgroup, { id, spec }] of Object.entries(found))
        places.set(spec.labels["io.kubernetes.container.name"] ?? "", { cgroup, id });
      return ["burner", "holder", "victim"].every((name) => places.has(name));
    },
    120_000,
  );
  const cgroups = new Cgroups();
  const source =
    cgroups.version === 2 ? cgroupV2Source(cgroups, systemClock, false) : cgroupV1Source(cgroups, systemClock);
  const kernel = (name: string) => source.sample(places.get(name)?.cgroup ?? "", within(10_000));
  const summary = async () => JSON.parse(await proxied("/stats/summary")) as Summary;
  const of = ({ pods }: Summary, name: string) =>
    pods.find(({ podRef }) => podRef.name === "busy")?.containers.find((one) => one.name === name);

  await skiff.kubectl("exec", "busy", "-c", "burner", "--", "touch", "/tmp/go");
  const oneCore = "a container that burns one core for ten seconds shows one core";
  const burn = async (t: Test) => {
    preferred(cgroups, places.get("burner")?.cgroup ?? "");
    const ask = await openProxy(t, skiff);
    /** Numbers made between two looks at the kernel: those of the last second, which may be shown again, are passed over. */
    const look = (since = 0) =>
      until("newer numbers", async () => {
        const before = await kernel("burner");
        const told = of((await ask("/stats/summary")) as Summary, "burner")?.cpu;
        const after = await kernel("burner");
        const [usage, rate] = [told?.usageCoreNanoSeconds ?? 0, told?.usageNanoCores];
        const [least, most] = [Number(before.cpu?.usageNs), Number(after.cpu?.usageNs)];
        if (usage > most) t.fail(`shown ${usage} ns, when the kernel had counted ${most}`);
        const isNew = usage >= least && before.at - since > sameRateMs;
        return isNew && rate !== undefined && { least, most, from: before.at, to: after.at, cores: rate / 1e9 };
      });
    const first = await look();
    const stretches: { least: number; most: number; shown: number }[] = [];
    let last = first;
    // Ten seconds of a core, and however busy the machine is, a few stretches to compare.
    while (last.least - first.most < burnNs || stretches.length < 5) {
      const next = await look(last.to);
      const least = (next.least - last.most) / ((next.to - last.from) * 1e6);
      const most = (next.most - last.least) / ((next.from - last.to) * 1e6);
      stretches.push({ least, most, shown: next.cores });
      last = next;
    }
    const told = ({ least, most, shown }: (typeof stretches)[number]) =>
      `${shown.toFixed(3)} for ${least.toFixed(3)} to ${most.toFixed(3)}`;
    t.comment(`cores shown for those that the kernel gave: ${stretches.map(told).join(", ")}`);
    // Somebody else may have asked in between, and then the rate is that of a part: most are of the whole.
    const right = stretches.filter(({ least, most, shown }) => shown >= least * 0.95 && shown <= most * 1.05);
    t.ok(
      right.length > stretches.length / 2,
      `${right.length} of ${stretches.length} are the kernel's counter by time`,
    );
    const given = (last.least - first.most) / ((last.to - first.from) * 1e6);
    const shown = stretches.map((one) => one.shown).sort((a, b) => a - b)[Math.trunc(stretches.length / 2)] ?? 0;
    if (given > 0.9)
      t.ok(shown > 0.9 && shown < 1.1, `given ${given.toFixed(2)} of a core, it shows ${shown.toFixed(2)}`);
    else t.comment(`this machine is too busy to give anybody a whole core: it gave ${given.toFixed(2)}`);
    t.ok(
      stretches.every(({ shown }) => shown > 0 && shown < 1.15),
      "one process is at most one core",
    );
  };
  if (isBurning) await t.test(oneCore, burn);

  await t.test("memory, processes, kills, pressure and swap are the kernel's", async (t) => {
    await until(
      "the file to be held",
      async () => ((await kernel("holder")).memory?.usageBytes ?? 0) > 40 * mega,
      60_000,
    );
    const found = await until("the holder's numbers", async () => {
      const whole = await summary();
      const told = of(whole, "holder");
      return (told?.memory.workingSetBytes ?? 0) > 40 * mega && { whole, told };
    });
    const real = await kernel("holder");
    const near = (shown = 0, counted = 0) => Math.abs(shown - counted) < 4 * mega;
    t.ok(near(found.told?.memory.usageBytes, real.memory?.usageBytes), "usage");
    t.ok(near(found.told?.memory.workingSetBytes, real.memory?.workingSetBytes), "working set");
    const machine = JSON.parse(await proxied(`/api/v2.1/stats${places.get("holder")?.cgroup}?count=1`)) as Record<
      string,
      { stats: { processes: { process_count: number } }[] }
    >;
    t.equal(Object.values(machine)[0]?.stats[0]?.processes.process_count, real.processes, "processes");
    t.equal(real.processes, 3, "a shell and two that sleep");
    await until("the threads of both to be told as they are", async () => {
      const series = await proxied("/metrics/cadvisor");
      const count = (name: string, state: string) =>
        Number(
          new RegExp(`^container_tasks_state\\{container="${name}".*state="${state}"\\} (\\d+)`, "m").exec(series)?.[1],
        );
      return count("holder", "sleeping") === 3 && count("burner", "running") >= 1;
    });

    await until(
      "a kill for want of memory to be told",
      async () => {
        const text = await proxied("/api/v1.3/events?oom_events=true&subcontainers=true&max_events=100");
        const events = JSON.parse(text) as { container_name: string; event_type: string }[];
        return events.some(({ container_name }) => container_name === places.get("victim")?.cgroup);
      },
      120_000,
    );
    t.pass("a container that runs out of memory is told of");

    let stalled: number | undefined;
    try {
      stalled = Number(/^some .*total=(\d+)/m.exec(readFileSync("/proc/pressure/cpu", "utf8"))?.[1]);
    } catch {
      t.comment("this kernel tells no pressure");
    }
    // Numbers of the last second may be shown again: the first that are newer count.
    const { node } = await until("newer numbers", async () => {
      const whole = await summary();
      return (stalled === undefined || (whole.node.cpu.psi?.some.total ?? 0) / 1000 >= stalled) && whole;
    });
    t.pass("pressure goes on counting");
    const meminfo = readFileSync("/proc/meminfo", "utf8");
    const kb = (name: string) => Number(new RegExp(`^${name}:\\s+(\\d+)`, "m").exec(meminfo)?.[1] ?? 0) * 1024;
    t.ok(near(node.swap.swapUsageBytes, kb("SwapTotal") - kb("SwapFree")), "swap");
  });
  return places;
}

t.test("stats on the native runtime", { skip: noNetworkReason(), timeout: 600_000 }, async (t) => {
  const dataDir = mkdtempSync(join(tmpdir(), "skiff-stats-"));
  mkdirSync(join(dataDir, "images"));
  writeFileSync(join(dataDir, "images", "busybox.tar"), await imageArchive(busyboxImage()));
  const skiff = await startSkiff({ dataDir, flags: ["--runtime=native"] });
  t.teardown(async () => {
    await skiff.stop();
    rmSync(dataDir, { recursive: true, force: true });
  });
  await againstKernel(t, skiff, { isBurning: true });
});

interface DockerStats {
  readonly cpu_stats: { readonly cpu_usage: { readonly total_usage: number } };
}

t.test("stats on Docker, against docker stats", { skip: withoutDocker(), timeout: 600_000 }, async (t) => {
  const docker = await startDocker(t);
  process.env.DOCKER_HOST = `unix://${docker.socket}`;
  t.teardown(() => delete process.env.DOCKER_HOST);
  const skiff = await startSkiff({ flags: ["--runtime=docker"] });
  t.teardown(async () => {
    await skiff.stop();
    skiff.remove();
  });
  const places = await againstKernel(t, skiff, { isBurning: false });

  await t.test("docker stats tells the same", async (t) => {
    const engine = new Engine(docker.socket);
    t.teardown(() => engine.close());
    const summary = async () =>
      JSON.parse(await skiff.kubectl("get", "--raw", `/api/v1/nodes/${skiff.nodeName}/proxy/stats/summary`)) as Summary;
    const of = ({ pods }: Summary, name: string) =>
      pods.find(({ podRef }) => podRef.name === "busy")?.containers.find((one) => one.name === name);
    const id = places.get("burner")?.id ?? "";
    const counted = async () => {
      const path = `/containers/${id}/stats?stream=false&one-shot=true`;
      const { cpu_stats } = (await engine.get(path, {}, within(30_000))) as DockerStats;
      return cpu_stats.cpu_usage.total_usage;
    };
    const before = await counted();
    // Numbers of a second ago may be shown again: the first that are newer count.
    const shown = await until("newer numbers", async () => {
      const usage = of(await summary(), "burner")?.cpu.usageCoreNanoSeconds ?? 0;
      return usage >= before && usage;
    });
    t.ok(shown <= (await counted()), "CPU time lies between two looks of Docker's");

    const args = ["-H", `unix://${docker.socket}`, "stats", "--no-stream", "--no-trunc", "--format", "{{json .}}"];
    const { stdout } = await promisify(execFile)("docker", args);
    const rows = stdout.trim().split("\n");
    const told = rows.map((row) => JSON.parse(row) as { ID: string; MemUsage: string; PIDs: string });
    const holder = told.find(({ ID }) => ID === places.get("holder")?.id);
    const [, amount = "0"] = /^([\d.]+)MiB/.exec(holder?.MemUsage ?? "") ?? [];
    const ours = (of(await summary(), "holder")?.memory.workingSetBytes ?? 0) / mega;
    t.ok(Math.abs(ours - Number(amount)) < 4, `memory: ${ours.toFixed(1)} MiB here, ${amount} MiB there`);
    t.equal(holder?.PIDs, "3", "processes");
  });
});
