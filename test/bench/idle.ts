// What `skiff up` costs while nothing happens, with 10 pods: memory, CPU seconds and bytes written, from the kernel's own counters;
// soon after its start, and again after 60 more pods have come and gone, as on a node that has lived.
//   npm run bench -- idle [seconds of the window, 60] [pods, 10]

import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { monitorsBelow } from "../../agent/assemble/monitors.ts";
import { instancePaths } from "../../agent/assemble/paths.ts";
import { busyboxImage, busyboxImageName, imageArchive } from "../harness/images.ts";
import { type RunningSkiff, startSkiff } from "../harness/skiff.ts";

/** What the design asks of a whole node with 10 pods. */
const goals = { residentMegabytes: 150, cpuPercent: 2, writtenMegabytesADay: 20 };
const settleMs = 20_000;
const [rounds, podsInRound] = [2, 30];
/** Of the kernel's clock, which counts CPU time in hundredths of a second on every Linux that Node runs on. */
const ticksPerSecond = 100;

interface Counters {
  readonly resident: number;
  readonly proportional: number;
  readonly cpuSeconds: number;
  readonly writtenBytes: number;
}

const sum = (all: readonly Counters[]): Counters => ({
  resident: all.reduce((total, one) => total + one.resident, 0),
  proportional: all.reduce((total, one) => total + one.proportional, 0),
  cpuSeconds: all.reduce((total, one) => total + one.cpuSeconds, 0),
  writtenBytes: all.reduce((total, one) => total + one.writtenBytes, 0),
});

function read(pid: number): Counters {
  const proc = `/proc/${pid}`;
  const field = (text: string, name: string) => Number(new RegExp(`^${name}:\\s+(\\d+)`, "m").exec(text)?.[1] ?? 0);
  const maps = readFileSync(`${proc}/smaps_rollup`, "utf8");
  const stat = readFileSync(`${proc}/stat`, "utf8");
  // After the name, which may hold anything: user, system, and both of children that were waited for.
  const times = stat
    .slice(stat.lastIndexOf(")") + 2)
    .split(" ")
    .slice(11, 15);
  return {
    resident: field(maps, "Rss") * 1024,
    proportional: field(maps, "Pss") * 1024,
    cpuSeconds: times.reduce((total, ticks) => total + Number(ticks), 0) / ticksPerSecond,
    writtenBytes: field(readFileSync(`${proc}/io`, "utf8"), "write_bytes"),
  };
}

export async function run([windowSeconds = "60", pods = "10"]: string[]): Promise<void> {
  const dataDir = mkdtempSync(join(tmpdir(), "skiff-idle-"));
  mkdirSync(join(dataDir, "images"));
  writeFileSync(join(dataDir, "images", "busybox.tar"), await imageArchive(busyboxImage()));
  const skiff = await startSkiff({ dataDir, flags: ["--runtime=native"] });
  try {
    const container = { name: "c", image: busyboxImageName, imagePullPolicy: "Never", command: ["sleep", "100000"] };
    const spec = { terminationGracePeriodSeconds: 1, containers: [container] };
    const names = Array.from({ length: Number(pods) }, (_, index) => `idle-${index}`);
    await skiff.apply(...names.map((name) => ({ apiVersion: "v1", kind: "Pod", metadata: { name }, spec })));
    await skiff.kubectl("wait", "pod", "--all", "--for=condition=Ready", "--timeout=120s");
    await measure(skiff, `skiff up, ${pods} pods, ${windowSeconds} s`, Number(windowSeconds));
    for (let round = 0; round < rounds; round++) await comeAndGo(skiff, spec);
    await measure(skiff, `after ${rounds * podsInRound} pods have come and gone`, Number(windowSeconds));
    const { residentMegabytes, cpuPercent, writtenMegabytesADay } = goals;
    console.log(
      `goals of the program: ${residentMegabytes} MB, ${cpuPercent} % of a core, ${writtenMegabytesADay} MB a day`,
    );
  } finally {
    await skiff.stop();
    rmSync(dataDir, { recursive: true, force: true });
  }
}

/** Pods of a deployment start, and are gone again when this returns. */
async function comeAndGo(skiff: RunningSkiff, spec: object): Promise<void> {
  const labels = { app: "passing" };
  const template = { metadata: { labels }, spec };
  await skiff.apply({
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata: { name: "passing" },
    spec: { replicas: podsInRound, selector: { matchLabels: labels }, template },
  });
  await skiff.kubectl("rollout", "status", "deployment/passing", "--timeout=300s");
  await skiff.kubectl("delete", "deployment/passing", "--cascade=foreground", "--timeout=300s");
}

async function measure(skiff: RunningSkiff, label: string, seconds: number): Promise<void> {
  await new Promise((resolve) => setTimeout(resolve, settleMs));
  const pid = skiff.process.pid ?? 0;
  const keepers = monitorsBelow(instancePaths(skiff.dataDir).runDir);
  const before = { program: read(pid), keepers: sum(keepers.map(read)) };
  await new Promise((resolve) => setTimeout(resolve, seconds * 1000));
  const after = { program: read(pid), keepers: sum(keepers.map(read)) };
  report(label, before.program, after.program, seconds);
  report(`  and ${keepers.length} conmon`, before.keepers, after.keepers, seconds);
}

function report(label: string, before: Counters, after: Counters, seconds: number): void {
  const megabytes = (bytes: number) => (bytes / 1e6).toFixed(1);
  const cpu = after.cpuSeconds - before.cpuSeconds;
  const written = after.writtenBytes - before.writtenBytes;
  const perHour = (amount: number) => (amount * 3600) / seconds;
  console.log(
    [
      `${label}:`,
      `  resident ${megabytes(after.resident)} MB (${megabytes(after.proportional)} MB with shared pages split)`,
      `  CPU ${perHour(cpu).toFixed(1)} s an hour, ${((cpu / seconds) * 100).toFixed(2)} % of a core`,
      `  written ${megabytes(perHour(written))} MB an hour, ${megabytes(perHour(written) * 24)} MB a day`,
    ].join("\n"),
  );
}
