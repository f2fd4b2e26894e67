// How long `skiff up` takes to a Ready node, the first time and the second, and what it holds in memory then; beside a bare Node.

import { spawn, spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { startSkiff } from "../harness/skiff.ts";

interface Memory {
  readonly resident: number;
  /** Not shared with other processes and not reclaimable. */
  readonly anonymous: number;
}

function memoryOf(pid: number): Memory {
  const status = readFileSync(`/proc/${pid}/status`, "utf8");
  const megabytes = (field: string) =>
    Math.round(Number(new RegExp(`${field}:\\s+(\\d+)`).exec(status)?.[1] ?? 0) / 1024);
  return { resident: megabytes("VmRSS"), anonymous: megabytes("RssAnon") };
}

const show = ({ resident, anonymous }: Memory) => `${resident} MB resident, ${anonymous} MB of it anonymous`;

async function bareNode(): Promise<Memory> {
  const child = spawn("node", ["-e", "setInterval(() => {}, 1000); console.log('up')"], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  await new Promise((resolve) => child.stdout.once("data", resolve));
  const memory = memoryOf(child.pid ?? 0);
  child.kill();
  return memory;
}

async function start(label: string, dataDir: string, runtime: "node" | "deno"): Promise<void> {
  const startedAt = performance.now();
  const skiff = await startSkiff({ dataDir, runtime, flags: ["--runtime=native"] });
  const seconds = (performance.now() - startedAt) / 1000;
  // The garbage of starting is collected with the first idle moments.
  await new Promise((resolve) => setTimeout(resolve, 5_000));
  const memory = memoryOf(skiff.process.pid ?? 0);
  const own = /seconds=([\d.]+)/.exec(skiff.ready)?.[1];
  console.log(
    `${label}: ${seconds.toFixed(2)} s from the command to a Ready node (${own} s of it in the program), ${show(memory)}`,
  );
  await skiff.stop();
}

export async function run(): Promise<void> {
  const root = join(import.meta.dirname, "../..");
  const setupAt = performance.now();
  spawnSync(join(root, "skiff"), ["setup", "run"], { stdio: "inherit" });
  console.log(`set-up that finds everything in place: ${((performance.now() - setupAt) / 1000).toFixed(3)} s`);
  console.log(`bare node: ${show(await bareNode())}`);
  for (const runtime of ["node", "deno"] as const) {
    const dataDir = mkdtempSync(join(tmpdir(), "skiff-bench-"));
    await start(`${runtime}, first start`, dataDir, runtime);
    await start(`${runtime}, second start`, dataDir, runtime);
    rmSync(dataDir, { recursive: true, force: true });
  }
}
