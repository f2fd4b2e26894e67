// Memory of the agent and of the server, each in a process of its own, while pods come and go without end: whether it reaches a plateau.
//   npm run bench -- memory [minutes, 90] [pods in a round, 25]
// One line a minute, more often in a short run. The last lines compare the thirds: a leak grows by as much in the last as in the middle
// one, a plateau does not. The server keeps the Events of the last hour in memory, as many as stand in each line: until the first of them
// expire it grows with them.

import { execFile } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { busyboxImage, busyboxImageName, imageArchive } from "../harness/images.ts";
import { countersOf } from "../harness/process-counters.ts";
import { type RunningSkiff, startSkiff } from "../harness/skiff.ts";

const minuteMs = 60_000;
const programs = ["server", "agent"] as const;
type Program = (typeof programs)[number];

/** Megabytes at one moment, by program. */
interface Sample {
  readonly minute: number;
  readonly pods: number;
  readonly events: number;
  readonly resident: Readonly<Record<Program, number>>;
}

export async function run([minutes = "90", podsInRound = "25"]: string[]): Promise<void> {
  const dataDir = mkdtempSync(join(tmpdir(), "skiff-memory-"));
  const running: RunningSkiff[] = [];
  const stop = async () => {
    for (const one of running.toReversed()) await one.stop();
    for (const one of running) one.remove();
    rmSync(dataDir, { recursive: true, force: true });
  };
  process.once("SIGINT", () => void stop().then(() => process.exit(130)));
  try {
    const server = await startSkiff({ command: "server" });
    running.push(server);
    const { stdout } = await promisify(execFile)(join(import.meta.dirname, "../../skiff"), [
      "token",
      "create",
      `--data-dir=${server.dataDir}`,
    ]);
    mkdirSync(join(dataDir, "images"));
    writeFileSync(join(dataDir, "images", "busybox.tar"), await imageArchive(busyboxImage()));
    const joining = [`--server=https://127.0.0.1:${server.ports.https}`, `--token=${stdout.trim()}`];
    const agent = await startSkiff({ command: "agent", dataDir, flags: ["--runtime=native", ...joining] });
    running.push(agent);
    const samples = await churn({ server, agent }, Number(minutes) * minuteMs, Number(podsInRound));
    report(samples);
  } finally {
    await stop();
  }
}

async function churn(
  { server, agent }: Record<Program, RunningSkiff>,
  lastsMs: number,
  podsInRound: number,
): Promise<Sample[]> {
  const samples: Sample[] = [];
  const startedAt = performance.now();
  let pods = 0;
  const look = async () => {
    const metrics = await server.kubectl("get", "--raw", "/metrics");
    const events = Number(/^apiserver_storage_objects\{resource="events"\} (\d+)/m.exec(metrics)?.[1] ?? 0);
    const residentOf = (one: RunningSkiff) => countersOf(one.process.pid ?? 0).resident / 1e6;
    const minute = (performance.now() - startedAt) / minuteMs;
    const sample = { minute, pods, events, resident: { server: residentOf(server), agent: residentOf(agent) } };
    samples.push(sample);
    const columns = programs.map((name) => `${name} ${sample.resident[name].toFixed(1)} MB`);
    console.log(
      [
        `${minute.toFixed(1).padStart(6)} min`,
        `${pods} pods`.padStart(11),
        `${events} events`.padStart(13),
        ...columns,
      ].join("  "),
    );
  };
  await look();
  // A busy server may miss one.
  const timer = setInterval(() => void look().catch(() => {}), Math.min(minuteMs, lastsMs / 30));
  try {
    while (performance.now() - startedAt < lastsMs) {
      await comeAndGo(server, podsInRound);
      pods += podsInRound;
    }
  } finally {
    clearInterval(timer);
  }
  await look();
  return samples;
}

/** Pods of a deployment start, and are gone again when this returns. */
async function comeAndGo(server: RunningSkiff, replicas: number): Promise<void> {
  const labels = { app: "passing" };
  const container = { name: "c", image: busyboxImageName, imagePullPolicy: "Never", command: ["sleep", "100000"] };
  const template = { metadata: { labels }, spec: { terminationGracePeriodSeconds: 0, containers: [container] } };
  const spec = { replicas, selector: { matchLabels: labels }, template };
  await server.apply({ apiVersion: "apps/v1", kind: "Deployment", metadata: { name: "passing" }, spec });
  await server.kubectl("rollout", "status", "deployment/passing", "--timeout=600s");
  await server.kubectl("delete", "deployment/passing", "--cascade=foreground", "--timeout=600s");
}

function report(samples: readonly Sample[]): void {
  const lasted = samples.at(-1)?.minute ?? 0;
  for (const name of programs) {
    const third = (number: number) =>
      median(
        samples
          .filter(({ minute }) => minute >= (lasted * number) / 3 && minute <= (lasted * (number + 1)) / 3)
          .map(({ resident }) => resident[name]),
      );
    const [first, middle, last] = [third(0), third(1), third(2)];
    const growth = last - middle;
    const pods = (samples.at(-1)?.pods ?? 0) / 3;
    console.log(
      `${name}: median ${first.toFixed(1)}, ${middle.toFixed(1)}, ${last.toFixed(1)} MB in each third; ` +
        `${growth.toFixed(1)} MB from the middle to the last, ${((growth * 1000) / pods).toFixed(1)} KB for each pod`,
    );
  }
}

function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.trunc(sorted.length / 2)] ?? Number.NaN;
}
