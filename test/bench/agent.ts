// How long the agent takes from a pod's creation to Ready on containerd, one and many at once, with the time inside the runtime apart; and what
// it costs when nothing happens, bundled as it is released; and that the node takes as many pods as it says.
//   npm run bench -- agent [pods at once …, 10 30 100 unless told]

import { copyFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openCgroupFiles } from "../../agent/resources/cgroup-files.ts";
import type { Runtime } from "../../cri/api/contract.ts";
import { openRemote } from "../../cri/remote/open.ts";
import type { Pod } from "../../plugins/kit/kube/objects/types.ts";
import { startAgentProcess } from "../harness/agent-process.ts";
import { boundPod, conditionOf, makeNamespaces, startNode } from "../harness/agent-node.ts";
import { serveApi, type TestApi } from "../harness/api-server.ts";
import { startContainerd, withoutContainerd } from "../harness/containerd.ts";
import { until } from "../harness/until.ts";

const singles = 30;
const idleMs = 20_000;
const settleMs = 5_000;

export async function run(args: string[]): Promise<void> {
  const unfit = withoutContainerd();
  if (unfit) return console.log(`skipped: ${unfit}`);
  const counts = args.length > 0 ? args.map(Number) : [10, 30, 100];
  const closers: (() => Promise<void>)[] = [];
  const t = { teardown: (close: () => Promise<void>) => void closers.unshift(close) };
  try {
    const containerd = await startContainerd(t);
    const api = await serveApi();
    t.teardown(() => api.close());
    await makeNamespaces(api, "default", "kube-system", "kube-node-lease");
    await latencies(t, api, containerd.socket, counts);
    await idle(t, api, containerd.socket);
  } finally {
    for (const close of closers) await close();
  }
}

interface Teardown {
  teardown(close: () => Promise<void>): void;
}

async function latencies(t: Teardown, api: TestApi, socket: string, counts: readonly number[]): Promise<void> {
  const remote = openRemote({ socket });
  const { runtime, spans } = traced(remote);
  const cgroupRoot = `skiff-bench-${process.pid}`;
  t.teardown(async () => void openCgroupFiles().remove(cgroupRoot));
  const node = await startNode(t, runtime, { api, config: { cgroupRoot } });
  await until("the node", () => node.agent.isReady());
  const waiting = new Map<string, () => void>();
  api.server.informers.for({ group: "", plural: "pods" }).onEvent(({ object }) => {
    const pod = object as unknown as Pod;
    if (conditionOf(pod, "Ready") === "True") waiting.get(pod.metadata.name ?? "")?.();
  });
  const start = async (name: string): Promise<number> => {
    const from = performance.now();
    const ready = new Promise<void>((resolve) => waiting.set(name, resolve));
    await api.ask("POST", "/api/v1/namespaces/default/pods", boundPod(name));
    await ready;
    return performance.now() - from;
  };
  const remove = async (names: readonly string[]): Promise<number> => {
    const from = performance.now();
    for (const name of names) await api.ask("DELETE", `/api/v1/namespaces/default/pods/${name}`);
    const isGone = async (name: string) =>
      (await api.ask("GET", `/api/v1/namespaces/default/pods/${name}`)).status === 404;
    for (const name of names) await until(`${name} to be gone`, () => isGone(name), 120_000);
    return performance.now() - from;
  };

  await remove([await start("warm").then(() => "warm")]);
  const totals: number[] = [];
  const own: number[] = [];
  for (let round = 0; round < singles; round++) {
    spans.length = 0;
    const from = performance.now();
    totals.push(await start(`single-${round}`));
    own.push(performance.now() - from - covered(spans, from));
  }
  tell("one pod, create to Ready", totals);
  tell("  of that our own time", own);
  console.log(
    `delete ${singles} pods to gone: ${(await remove(totals.map((_, round) => `single-${round}`))).toFixed(0)} ms (grace 1 s, 2 s at least)`,
  );
  for (const count of counts) {
    const names = Array.from({ length: count }, (_, index) => `many-${count}-${index}`);
    const from = performance.now();
    await Promise.all(names.map(start));
    console.log(`${count} pods at once, all Ready: ${(performance.now() - from).toFixed(0)} ms`);
    await remove(names);
  }
  await node.agent.close();
  await remote.close();
}

const idlePods = [0, 10, 100];
const mostPods = 110;

async function idle(t: Teardown, api: TestApi & { url?: string }, socket: string): Promise<void> {
  const dataDir = mkdtempSync(join(tmpdir(), "skiff-bench-"));
  t.teardown(async () => rmSync(dataDir, { recursive: true, force: true }));
  const cgroupRoot = `skiff-bench-idle-${process.pid}`;
  t.teardown(async () => void openCgroupFiles().remove(cgroupRoot));
  const agent = startAgentProcess({ socket, server: api.url ?? "", dataDir, cgroupRoot }, await bundled(t));
  t.teardown(() => agent.kill());
  const pid = agent.process.pid ?? 0;
  const names: string[] = [];
  const get = async (name: string) =>
    (await api.ask("GET", `/api/v1/namespaces/default/pods/${name}`)).body as Pod | undefined;
  const fill = async (count: number) => {
    while (names.length < count) {
      names.push(`idle-${names.length}`);
      await api.ask("POST", "/api/v1/namespaces/default/pods", boundPod(names.at(-1) ?? ""));
    }
    for (const name of names) await until(name, async () => conditionOf(await get(name), "Ready") === "True", 300_000);
  };
  for (const pods of idlePods) {
    await fill(pods);
    // What starting them has left behind is collected before it counts.
    await new Promise((resolve) => setTimeout(resolve, settleMs));
    const before = cpuSeconds(pid);
    await new Promise((resolve) => setTimeout(resolve, idleMs));
    const used = ((cpuSeconds(pid) - before) * 60_000) / idleMs;
    console.log(`idle with ${pods} pods: ${used.toFixed(2)} CPU seconds a minute, ${residentMb(pid)} MB`);
  }
  const from = performance.now();
  await fill(mostPods);
  console.log(`${mostPods} pods on the node, all Ready (the last ${mostPods - 100} in ${seconds(from)} s)`);
  await api.ask("POST", "/api/v1/namespaces/default/pods", boundPod("one-too-many"));
  await until(
    "the verdict on one too many",
    async () => (await get("one-too-many"))?.status?.phase === "Failed",
    60_000,
  );
  console.log(`one more is refused: ${(await get("one-too-many"))?.status?.reason}`);
  names.push("one-too-many");
  const removing = performance.now();
  for (const name of names) await api.ask("DELETE", `/api/v1/namespaces/default/pods/${name}`);
  for (const name of names) await until(`${name} to be gone`, async () => !(await get(name))?.spec, 300_000);
  console.log(`${names.length} pods deleted to gone: ${seconds(removing)} s`);
}

const seconds = (from: number) => ((performance.now() - from) / 1000).toFixed(1);

/** The command of the agent alone, bundled with the options that the launcher uses. */
async function bundled(t: Teardown): Promise<string[]> {
  const { build } = await import("esbuild");
  // Within the project, so that the packages which cannot be bundled are found.
  const cache = join(import.meta.dirname, "../../.cache");
  mkdirSync(cache, { recursive: true });
  const folder = mkdtempSync(join(cache, "bench-agent-"));
  t.teardown(async () => rmSync(folder, { recursive: true, force: true }));
  // A bundle takes the folder above it for the project's.
  const outdir = join(folder, "dist");
  copyFileSync(join(cache, "../package.json"), join(folder, "package.json"));
  await build({
    entryPoints: [join(import.meta.dirname, "../harness/agent-process.ts")],
    bundle: true,
    splitting: true,
    format: "esm",
    platform: "node",
    target: "node24",
    minifySyntax: true,
    minifyWhitespace: true,
    keepNames: true,
    external: ["koffi", "node-pty"],
    outdir,
    logLevel: "error",
    banner: {
      js: "import { createRequire as makeRequire } from 'node:module'; const require = makeRequire(import.meta.url);",
    },
  });
  const heap = ["--max-semi-space-size=2", "--no-parallel-scavenge", "--heap-growing-percent=20"];
  const node = [process.execPath, ...heap, "--disable-warning=ExperimentalWarning"];
  return ["env", "MALLOC_ARENA_MAX=1", ...node, join(outdir, "agent-process.js")];
}

interface Span {
  readonly from: number;
  readonly to: number;
}

/** Every call of the runtime leaves a span. */
function traced(runtime: Runtime): { runtime: Runtime; spans: Span[] } {
  const spans: Span[] = [];
  const wrap = <T extends object>(service: T): T =>
    Object.fromEntries(
      Object.entries(service).map(([name, method]) => [
        name,
        name === "getContainerEvents"
          ? (method as unknown)
          : async (...args: unknown[]) => {
              const from = performance.now();
              try {
                return await (method as (...args: unknown[]) => Promise<unknown>)(...args);
              } finally {
                spans.push({ from, to: performance.now() });
              }
            },
      ]),
    ) as T;
  return { runtime: { ...runtime, runtime: wrap(runtime.runtime), image: wrap(runtime.image) }, spans };
}

/** How much time since `from` some span covers. */
function covered(spans: readonly Span[], from: number): number {
  let end = from;
  let sum = 0;
  for (const span of [...spans].sort((a, b) => a.from - b.from)) {
    sum += Math.max(0, span.to - Math.max(span.from, end));
    end = Math.max(end, span.to);
  }
  return sum;
}

function tell(what: string, values: readonly number[]): void {
  const sorted = [...values].sort((a, b) => a - b);
  const at = (share: number) =>
    (sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0).toFixed(0);
  console.log(`${what}: median ${at(0.5)} ms, p99 ${at(0.99)} ms of ${sorted.length}`);
}

function cpuSeconds(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, "utf8").split(") ")[1]?.split(" ") ?? [];
  return (Number(fields[11]) + Number(fields[12])) / 100;
}

function residentMb(pid: number): number {
  return Math.round(Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1] ?? 0) / 1024);
}
