// What `skiff up` costs while nothing happens, with 10 pods: memory, CPU seconds and bytes written, from the kernel's own counters;
// soon after its start, and again after 60 more pods have come and gone, as on a node that has lived.
//   npm run bench -- idle [seconds of the window, 60] [pods, 10]

import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { monitorsBelow } from "../../agent/assemble/monitors.ts";
import { instancePaths } from "../../agent/assemble/paths.ts";
import { busyboxImage, busyboxImageName, imageArchive } from "../harness/images.ts";
import { countersOf, reportCounters, sumOf } from "../harness/process-counters.ts";
import { type RunningSkiff, startSkiff } from "../harness/skiff.ts";

/** What the design asks of a whole node with 10 pods. */
const goals = { residentMegabytes: 150, cpuPercent: 2, writtenMegabytesADay: 20 };
const settleMs = 20_000;
const [rounds, podsInRound] = [2, 30];
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
  const before = { program: countersOf(pid), keepers: sumOf(keepers.map(countersOf)) };
  await new Promise((resolve) => setTimeout(resolve, seconds * 1000));
  const after = { program: countersOf(pid), keepers: sumOf(keepers.map(countersOf)) };
  reportCounters(label, before.program, after.program, seconds);
  reportCounters(`  and ${keepers.length} conmon`, before.keepers, after.keepers, seconds);
}
