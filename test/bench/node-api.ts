// The window into a node: how fast logs are read and followed, how long a command takes, what sampling and a scrape cost.

import { spawn } from "node:child_process";
import { appendFileSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { appendFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import type { ObservedPod } from "../../agent/model/observed.ts";
import type { AgentPod } from "../../agent/model/agent-pod.ts";
import { readLog } from "../../agent/server/logs/read-log.ts";
import { cadvisorMetrics } from "../../agent/stats/cadvisor-metrics.ts";
import { Sampler } from "../../agent/stats/sampler.ts";
import type { Runtime } from "../../cri/api/contract.ts";
import * as cri from "../../cri/api/gen/runtime.js";
import { uninterrupted } from "../../plugins/kit/base/call.ts";
import { FakeClock, systemClock } from "../../plugins/kit/base/clock.ts";
import { noLog } from "../../plugins/kit/base/log.ts";
import { Cgroups } from "../../plugins/kit/os/platform/cgroups.ts";
import type { StatsSource } from "../../plugins/kit/contracts/stats-source.ts";
import { cgroupV1Source } from "../../plugins/stats/cgroup-v1.ts";
import { cgroupV2Source } from "../../plugins/stats/cgroup-v2.ts";
import { Collected } from "../harness/collected.ts";
import { busyboxImageName } from "../harness/images.ts";
import { startNative, withoutNative } from "../harness/native.ts";

const beatMs = 10_000;

/** `npm run bench -- node-api` */
export async function run(): Promise<void> {
  const dir = mkdtempSync(join(tmpdir(), "skiff-bench-"));
  try {
    await logs(dir);
    for (const count of [0, 10, 100]) await sampling(dir, count);
    const why = withoutGroups();
    if (why) console.log(`the kernel's own groups: skipped, ${why}`);
    else for (const count of [10, 100]) await samplingKernel(count);
  } finally {
    rmSync(dir, { recursive: true, force: true });
  }
  const reason = withoutNative();
  if (reason) console.log(`exec: skipped, ${reason}`);
  else await execs();
}

async function logs(dir: string): Promise<void> {
  const path = join(dir, "log");
  const line = `2026-01-01T00:00:00.123456789Z stdout F ${"x".repeat(100)}\n`;
  const lines = 500_000;
  writeFileSync(path, line.repeat(lines));
  const wanted = { follow: false, timestamps: false };
  const time = async (what: string, request: Parameters<typeof readLog>[1]) => {
    const startedAt = performance.now();
    let bytes = 0;
    for await (const piece of readLog({ path, isAlive: () => false }, request, systemClock, uninterrupted))
      bytes += piece.length;
    const ms = performance.now() - startedAt;
    const rate = bytes > 1_000_000 ? `, ${(bytes / 1e6 / (ms / 1000)).toFixed(0)} MB/s shown` : "";
    console.log(`${what}: ${ms.toFixed(1)} ms${rate}`);
  };
  await time(`log of ${lines} lines`, wanted);
  await time("the same with timestamps", { ...wanted, timestamps: true });
  await time("its last 10 lines", { ...wanted, tailLines: 10 });
  await followed(path, line);
  await followedThroughput(dir, line);
}

/** From the write to what a follower sees. */
async function followed(path: string, line: string): Promise<void> {
  let isAlive = true;
  const log = readLog(
    { path, isAlive: () => isAlive },
    { follow: true, timestamps: false, tailLines: 0 },
    systemClock,
    uninterrupted,
  );
  const delays: number[] = [];
  for (let round = 0; round < 10; round++) {
    const next = log.next();
    // The follower has to have seen the end first.
    await systemClock.sleep(20, uninterrupted);
    const writtenAt = performance.now();
    appendFileSync(path, line);
    await next;
    delays.push(performance.now() - writtenAt);
  }
  isAlive = false;
  await log.next();
  console.log(`a followed line is shown after ${median(delays).toFixed(0)} ms`);
}

/** How fast a follower keeps up with a container that writes as fast as it can. */
async function followedThroughput(dir: string, line: string): Promise<void> {
  const path = join(dir, "followed");
  writeFileSync(path, "");
  let isAlive = true;
  const log = readLog(
    { path, isAlive: () => isAlive },
    { follow: true, timestamps: false },
    systemClock,
    uninterrupted,
  );
  const block = line.repeat(5_000);
  const blocks = 60;
  const startedAt = performance.now();
  const writing = (async () => {
    for (let round = 0; round < blocks; round++) await appendFile(path, block);
    isAlive = false;
  })();
  let bytes = 0;
  for await (const piece of log) bytes += piece.length;
  await writing;
  const seconds = (performance.now() - startedAt) / 1000;
  console.log(
    `a follower of a busy log: ${(bytes / 1e6 / seconds).toFixed(0)} MB/s shown, ${((5_000 * blocks) / seconds / 1000).toFixed(0)} thousand lines/s`,
  );
}

/** A recorded cgroup tree of as many containers as asked for, one per pod. */
async function sampling(dir: string, count: number): Promise<void> {
  const root = join(dir, `cgroup-${count}`);
  const calm = "some avg10=0.00 avg60=0.00 avg300=0.00 total=0\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=0\n";
  const files: Record<string, string> = {
    "cpu.stat": "usage_usec 1\nuser_usec 1\nsystem_usec 1\nnr_periods 0\nnr_throttled 0\nthrottled_usec 0\n",
    "memory.current": "1000000\n",
    "memory.max": "max\n",
    "memory.stat": Array.from({ length: 45 }, (_, index) => `field_${index} 123456`).join("\n"),
    "memory.events": "low 0\nhigh 0\nmax 0\noom 0\noom_kill 0\n",
    "memory.swap.current": "0\n",
    "pids.current": "3\n",
    "cgroup.procs": "1\n",
    "io.stat": "179:0 rbytes=1 wbytes=2 rios=3 wios=4 dbytes=0 dios=0\n",
    "cpu.pressure": calm,
    "memory.pressure": calm,
    "io.pressure": calm,
  };
  const write = (path: string, text: string) => {
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, text);
  };
  write(join(root, "cgroup.controllers"), "cpu memory io pids\n");
  const names = Array.from({ length: count }, (_, index) => `c${index}`);
  for (const name of names)
    for (const [file, text] of Object.entries(files)) {
      write(join(root, name, file), text);
      write(join(root, name, `id-${name}`, file), text);
    }
  const cgroups = new Cgroups(root);
  const clock = new FakeClock();
  await sampled(`${count} containers`, names, {
    cgroups,
    clock,
    parent: "",
    source: cgroupV2Source(cgroups, clock, true),
  });
}

function withoutGroups(): string | false {
  if (process.getuid?.() !== 0) return "needs root";
  return false;
}

/** As many groups of the kernel's own, each with a process: its files cost more to read than plain ones. */
async function samplingKernel(count: number): Promise<void> {
  const cgroups = new Cgroups();
  const clock = new FakeClock();
  const parent = `/skiff-bench-${process.pid}`;
  const names = Array.from({ length: count }, (_, index) => `c${index}`);
  const controllers = ["memory", "cpu", "cpuacct", "pids", "blkio"];
  const sleeper = spawn("sleep", ["1000"], { stdio: "ignore" });
  try {
    for (const name of names) cgroups.enter(`${parent}/${name}/id-${name}`, sleeper.pid ?? 0, controllers);
    const source = cgroups.version === 2 ? cgroupV2Source(cgroups, clock, true) : cgroupV1Source(cgroups, clock);
    await sampled(`${count} groups of the kernel's own`, names, { cgroups, clock, parent, source });
  } finally {
    const ended = new Promise((resolve) => sleeper.once("close", resolve));
    sleeper.kill("SIGKILL");
    await ended;
    cgroups.remove(parent);
  }
}

interface Sampled {
  readonly cgroups: Cgroups;
  readonly clock: FakeClock;
  readonly parent: string;
  readonly source: StatsSource;
}

async function sampled(what: string, names: readonly string[], from: Sampled): Promise<void> {
  const { cgroups, clock, parent, source } = from;
  const pods = names.map((name) => podNamed(name));
  const observed = names.map((name) => observedPod(name));
  const sampler = new Sampler({
    sources: [source],
    cgroups,
    runtime: {} as Runtime["runtime"],
    pods: () => pods,
    observed: () => observed,
    cgroupOf: (pod) => `${parent}/${pod.metadata.name}`,
    clock,
    log: noLog,
  });
  const costs: number[] = [];
  for (let round = 0; round < 20; round++) {
    await clock.advance(beatMs);
    const before = process.cpuUsage();
    await sampler.snapshot();
    const { user, system } = process.cpuUsage(before);
    costs.push((user + system) / 1000);
  }
  const snapshot = await sampler.snapshot();
  const startedAt = performance.now();
  const disk = { node: undefined, images: undefined, imageBytes: 0, pods: new Map() };
  const ids = { machineId: "", systemUuid: "", bootId: "", physicalCores: 4, sockets: 1 };
  const machine = { cpus: 4, memoryBytes: 1e9, kernelVersion: "", osImage: "", bootedAt: 0, ...ids };
  const text = cadvisorMetrics(snapshot, disk, machine);
  const scrapeMs = performance.now() - startedAt;
  const ms = median(costs);
  console.log(
    `${what}: a look takes ${ms.toFixed(2)} ms of CPU (${((ms / beatMs) * 100).toFixed(3)} % of a core), ` +
      `a scrape ${scrapeMs.toFixed(1)} ms, ${(text.length / 1024).toFixed(0)} KB`,
  );
}

function podNamed(name: string): AgentPod {
  const container = { name: "main", image: "image" };
  return { metadata: { name, namespace: "default", uid: name }, spec: { containers: [container] } } as AgentPod;
}

function observedPod(name: string): ObservedPod {
  const container = { id: `id-${name}`, name: "main", sandboxId: name, state: "running", image: "image", startedAt: 1 };
  const sandboxes = [{ id: name, isReady: true }];
  return { uid: name, name, namespace: "default", sandboxes, containers: [container] } as unknown as ObservedPod;
}

async function execs(): Promise<void> {
  const native = await startNative({ teardown: () => {} });
  try {
    const { runtime, sessions } = native.current();
    const config = { metadata: { name: "bench", uid: "bench", namespace: "default" } };
    const sandbox = cri.RunPodSandboxRequest.create({ config });
    const { podSandboxId } = await runtime.runPodSandbox(sandbox, uninterrupted);
    const create = cri.CreateContainerRequest.create({
      podSandboxId,
      config: { metadata: { name: "main" }, image: { image: busyboxImageName }, command: ["sleep", "1000"] },
      sandboxConfig: sandbox.config,
    });
    const { containerId } = await runtime.createContainer(create, uninterrupted);
    await runtime.startContainer({ containerId }, uninterrupted);
    const times: number[] = [];
    for (let round = 0; round < 20; round++) {
      const startedAt = performance.now();
      const session = { containerId, command: ["true"], tty: false };
      await sessions.exec(session, { stdout: new Collected() }, uninterrupted);
      times.push(performance.now() - startedAt);
    }
    console.log(`exec of "true" on the native runtime: ${median(times).toFixed(0)} ms`);
    await runtime.removePodSandbox({ podSandboxId }, uninterrupted);
  } finally {
    await native.stop();
  }
}

function median(values: readonly number[]): number {
  return [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0;
}
