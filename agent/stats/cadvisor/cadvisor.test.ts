// cAdvisor's REST documents: upstream's names, over a recorded tree of control groups.

import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import t from "tap";
import { uninterrupted } from "../../../plugins/kit/base/call.ts";
import { FakeClock } from "../../../plugins/kit/base/clock.ts";
import { noLog } from "../../../plugins/kit/base/log.ts";
import { Cgroups } from "../../../plugins/kit/os/platform/cgroups.ts";
import type { CgroupSample, StatsSource } from "../../../plugins/kit/contracts/stats-source.ts";
import type { ObservedContainer } from "../../model/observed.ts";
import type { AgentPod } from "../../model/agent-pod.ts";
import { failed } from "../../server/answers.ts";
import type { AgentView } from "../../server/contract.ts";
import { openStats } from "../routes.ts";

const start = Date.parse("2026-01-01T00:00:00Z");
const id = "c0ffee00c0ffee00";
const cgroup = "/kubepods/pod-1";

function setUp(t: { teardown(then: () => void): void }) {
  const root = mkdtempSync(join(tmpdir(), "skiff-cadvisor-"));
  t.teardown(() => rmSync(root, { recursive: true, force: true }));
  const files: Record<string, string> = {
    "cgroup.controllers": "cpu memory\n",
    [`${cgroup}/${id}/memory.max`]: "67108864\n",
    [`${cgroup}/${id}/cpu.max`]: "50000 100000\n",
    [`${cgroup}/${id}/cpu.weight`]: "20\n",
    [`${cgroup}/${id}/pids.max`]: "max\n",
  };
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), text);
  }
  const clock = new FakeClock(start);
  let oomKills = 0;
  let round = 0n;
  const source: StatsSource = {
    name: "recorded",
    claim: () => "mine",
    async sample(path): Promise<CgroupSample> {
      const usageNs = (round + 1n) * 1_000_000_000n;
      return {
        at: clock.now(),
        cpu: { usageNs, userNs: usageNs / 2n, systemNs: usageNs / 2n },
        memory: { usageBytes: 1000, workingSetBytes: 900, rssBytes: 800, oomKills: path.endsWith(id) ? oomKills : 0 },
        processes: 1,
        threads: 2,
        io: [{ device: "999:9", readBytes: 1, writeBytes: 2, reads: 3, writes: 4 }],
      };
    },
  };
  const container = {
    id,
    name: "main",
    sandboxId: "s",
    state: "running",
    restartCount: 0,
    createdAt: start - 5000,
    startedAt: start - 4000,
    finishedAt: 0,
    exitCode: 0,
    reason: "",
    image: "web:1",
    logPath: "",
  } as unknown as ObservedContainer;
  const pod = {
    metadata: { name: "web", namespace: "shop", uid: "u1", creationTimestamp: "2025-12-31T23:59:50Z" },
    spec: { containers: [{ name: "main", image: "web:1" }] },
  } as unknown as AgentPod;
  let observed = container;
  const view = {
    nodeName: "node",
    pods: () => [pod],
    observed: () => [
      {
        uid: "u1",
        name: "web",
        namespace: "shop",
        sandboxes: [{ id: "s", isReady: true, attempt: 0, createdAt: 0, ips: [], isHostNetwork: false }],
        containers: [observed],
      },
    ],
    runtime: {
      runtime: {
        version: async () => ({ runtimeName: "containerd", runtimeVersion: "1", runtimeApiVersion: "v1" }),
        listContainerStats: async () => ({ stats: [] }),
      },
      image: { imageFsInfo: async () => ({ imageFilesystems: [] }) },
    },
  } as unknown as AgentView;
  const ids = { machineId: "m", systemUuid: "u", bootId: "b", physicalCores: 2, sockets: 1 };
  const stats = openStats({
    view,
    sources: [source],
    cgroups: new Cgroups(root),
    cgroupOf: () => cgroup,
    dataDir: root,
    volumesOf: () => [],
    machine: { cpus: 2, memoryBytes: 1e9, kernelVersion: "6", osImage: "os", bootedAt: start - 60_000, ...ids },
    defaultInterface: () => "eth0",
    probes: () => "",
    clock,
    log: noLog,
  });
  const ask = async (path: string, body?: object) => {
    const url = new URL(path, "http://node");
    const request = {
      method: body ? "POST" : "GET",
      path: url.pathname,
      query: url.searchParams,
      parts: url.pathname.slice(1).split("/"),
      body: async () => (body ? JSON.stringify(body) : ""),
    };
    const found = stats.routes(request, uninterrupted);
    if (!found) return { status: 404, body: undefined };
    const response = await found.catch(failed);
    const text = await response.text();
    return { status: response.status, body: response.ok ? (JSON.parse(text) as unknown) : text };
  };
  return {
    ask,
    stats,
    /** A look ten seconds later. */
    async beat() {
      await clock.advance(10_000);
      round += 5n;
      await ask("/stats/summary?only_cpu_and_memory=true");
    },
    killForMemory: () => oomKills++,
    end: () => (observed = { ...container, state: "exited", exitCode: 137, finishedAt: clock.now() }),
  };
}

const below = `${cgroup}/${id}`;

t.test("version 1 tells of containers by their control group, with samples and what is below", async (t) => {
  const { ask, beat } = setUp(t);
  await beat();
  await beat();
  const found = await ask(`/api/v1.3/containers${below}`, { num_stats: 1 });
  t.match(found.body, {
    id,
    name: below,
    aliases: ["k8s_main_web_shop_u1_0", id],
    namespace: "containerd",
    spec: {
      creation_time: "2025-12-31T23:59:55.000Z",
      labels: { "io.kubernetes.container.name": "main", "io.kubernetes.pod.namespace": "shop" },
      has_cpu: true,
      cpu: { quota: 50_000, period: 100_000 },
      memory: { limit: 67_108_864 },
      image: "web:1",
    },
    stats: [
      {
        timestamp: "2026-01-01T00:00:20.000Z",
        cpu: { usage: { total: 11_000_000_000, user: 5_500_000_000 } },
        memory: { usage: 1000, working_set: 900, rss: 800 },
        diskio: {
          io_service_bytes: [{ device: "999:9", major: 999, minor: 9, stats: { Read: 1, Write: 2, Total: 3 } }],
        },
        processes: { process_count: 1, threads_current: 2 },
      },
    ],
  });
  t.equal((found.body as { stats: unknown[] }).stats.length, 1);
  t.match(await ask("/api/v1.3/containers/"), {
    status: 200,
    body: { name: "/", subcontainers: [{ name: "/kubepods" }] },
  });
  t.match(await ask("/api/v1.0/containers/kubepods"), {
    body: { subcontainers: [{ name: cgroup }], stats: [{ memory: { usage: 1000 } }] },
  });
  const names = ((await ask("/api/v1.1/subcontainers/kubepods")).body as { name: string }[]).map(({ name }) => name);
  t.same(names, ["/kubepods", cgroup, below]);
  t.same(Object.keys((await ask("/api/v1.2/docker")).body as object), [below]);
  t.same(Object.keys((await ask(`/api/v1.2/docker/${id.slice(0, 12)}`)).body as object), [below]);
  t.equal((await ask("/api/v1.3/containers/nope")).status, 404);
  t.equal((await ask("/api/v1.2/docker/nope")).status, 404);
});

t.test("versions 2.0 and 2.1 tell stats, specs, summaries and storage", async (t) => {
  const { ask, beat } = setUp(t);
  await beat();
  await beat();
  const flat = (await ask(`/api/v2.0/stats${below}?count=2`)).body as Record<string, object[]>;
  t.match(flat[below]?.[1], { has_cpu: true, cpu_inst: { usage: { total: 500_000_000 } }, has_memory: true });
  const framed = (await ask("/api/v2.1/stats/?recursive=true")).body as Record<string, { stats: object[] }>;
  t.same(Object.keys(framed), ["/kubepods", cgroup, below], "the machine has a path of its own");
  t.match(framed[below], { spec: { aliases: ["k8s_main_web_shop_u1_0", id] }, stats: { length: 2 } });
  t.match((await ask("/api/v2.1/machinestats")).body, [{ cpu: { usage: {} }, memory: { usage: Number } }]);
  t.match((await ask(`/api/v2.0/summary${below}`)).body, {
    [below]: {
      latest_usage: { memory: 900 },
      minute_usage: { cpu: { present: true, max: 500 }, memory: { mean: 900 } },
    },
  });
  t.match((await ask(`/api/v2.0/spec/${id}?type=docker`)).body, {
    [below]: { image: "web:1", namespace: "containerd" },
  });
  t.ok(Array.isArray((await ask("/api/v2.0/storage")).body));
  t.ok(Array.isArray((await ask("/api/v2.0/ps/")).body));
  t.equal(typeof (await ask("/api/v2.0/version")).body, "string");
  t.equal((await ask("/api/v2.0/stats/?count=-2")).status, 400);
  t.equal((await ask("/api/v2.0/stats/?type=nope")).status, 400);
  t.equal((await ask("/api/v9/machine")).status, 404);
  t.match(await ask("/api/"), { status: 400, body: /v1\.3/ });
  t.match(await ask("/api/v2.1/"), { status: 400, body: /machinestats/ });
});

t.test("the machine's document has upstream's fields, and the board's", async (t) => {
  const { ask } = setUp(t);
  const machine = (await ask("/api/v1.3/machine")).body as Record<string, unknown>;
  for (const field of [
    "num_cores",
    "num_physical_cores",
    "num_sockets",
    "cpu_frequency_khz",
    "memory_capacity",
    "machine_id",
    "system_uuid",
    "boot_id",
    "filesystems",
    "disk_map",
    "network_devices",
    "topology",
    "hugepages",
  ])
    t.ok(field in machine, field);
  t.match(machine.board, { model: String, serial: String, baseboard: {}, disks: Array });
  const nodes = machine.topology as { cores: { thread_ids: number[] }[] }[];
  const threads = nodes.flatMap(({ cores }) => cores.flatMap(({ thread_ids }) => thread_ids));
  t.ok(threads.length >= Number(machine.num_cores), "every processor stands in the topology");
  t.match((await ask("/api/v2.0/attributes")).body, { num_cores: machine.num_cores, kernel_version: String });
  t.match((await ask("/spec/")).body, { num_cores: machine.num_cores });
});

t.test("events tell creation, kills for memory and the end", async (t) => {
  const { ask, beat, killForMemory, end } = setUp(t);
  await beat();
  killForMemory();
  await beat();
  end();
  await beat();
  const all = (await ask("/api/v1.3/events?all_events=true&subcontainers=true")).body as { event_type: string }[];
  t.same(
    all.map(({ event_type }) => event_type),
    ["containerCreation", "oom", "oomKill", "containerDeletion"],
  );
  t.match(all.at(-1), { container_name: below, event_data: { container_deletion: { exit_code: 137 } } });
  const some = await ask(`/api/v2.0/events${below}?creation_events=true`);
  t.match(some.body, [{ event_type: "containerCreation", timestamp: "2025-12-31T23:59:55.000Z" }]);
  t.same((await ask("/api/v1.3/events?all_events=true")).body, [], "the machine itself, without what is below");
});

t.test("a stream of events goes on until its reader leaves", async (t) => {
  const { stats, beat } = setUp(t);
  const query = new URLSearchParams({ stream: "true", all_events: "true", subcontainers: "true" });
  const request = { method: "GET", path: "", query, parts: ["api", "v1.3", "events"], body: async () => "" };
  const response = await stats.routes(request, uninterrupted);
  const reader = response?.body?.getReader();
  const first = reader?.read();
  await beat();
  const text = new TextDecoder().decode((await first)?.value);
  t.match(JSON.parse(text), { event_type: "containerCreation", container_name: below });
  await reader?.cancel();
});

t.test("the kubelet's old paths give the same documents", async (t) => {
  const { ask, beat } = setUp(t);
  await beat();
  t.match(await ask("/stats/"), { status: 200, body: { name: "/" } });
  t.match((await ask("/stats/shop/web/u1/main")).body, { name: below });
  t.equal((await ask("/stats/shop/web/other/main")).status, 404);
  const posted = await ask("/stats/container", { containerName: "/kubepods", subcontainers: true, num_stats: 1 });
  t.same(Object.keys(posted.body as object), ["/kubepods", cgroup, below]);
  t.equal((await ask("/stats/summary", {})).status, 404, "only looked at");
});
