// What `skiff up` costs while nothing happens, with 10 pods: memory, CPU seconds and bytes written, from the kernel's own counters;
// soon after its start, and again after 60 more pods have come and gone, as on a node that has lived. Kubernetes itself beside it in the
// same run, where its programs are on PATH.
// What pods did when they started is written within ten minutes: bytes written at rest want a settling time of that and a long window.
//   npm run bench -- idle [seconds of the window, 60] [pods, 10] [seconds to settle, 20]

import { busyboxImageName } from "../harness/images.ts";
import { type MeasuredCluster, onEachCluster } from "../harness/measured-cluster.ts";
import { countersOf, reportCounters, sumOf } from "../harness/process-counters.ts";

/** What the design asks of a whole node with 10 pods. */
const goals = { residentMegabytes: 150, cpuPercent: 2, writtenMegabytesADay: 20 };
const [rounds, podsInRound] = [2, 30];

export async function run([windowSeconds = "60", pods = "10", settleSeconds = "20"]: string[]): Promise<void> {
  const container = { name: "c", image: busyboxImageName, imagePullPolicy: "Never", command: ["sleep", "100000"] };
  const spec = { terminationGracePeriodSeconds: 1, containers: [container] };
  const times = { settleMs: Number(settleSeconds) * 1000, windowSeconds: Number(windowSeconds) };
  const names = Array.from({ length: Number(pods) }, (_, index) => `idle-${index}`);
  await onEachCluster(async (cluster) => {
    await cluster.apply(...names.map((name) => ({ apiVersion: "v1", kind: "Pod", metadata: { name }, spec })));
    await cluster.kubectl("wait", "pod", "--all", "--for=condition=Ready", "--timeout=120s");
    await measure(cluster, `${cluster.name}, ${pods} pods, ${windowSeconds} s`, times);
    for (let round = 0; round < rounds; round++) await comeAndGo(cluster, spec);
    await measure(cluster, `after ${rounds * podsInRound} pods have come and gone`, times);
  });
  const { residentMegabytes, cpuPercent, writtenMegabytesADay } = goals;
  console.log(
    `goals of our program: ${residentMegabytes} MB, ${cpuPercent} % of a core, ${writtenMegabytesADay} MB a day`,
  );
}

/** Pods of a deployment start, and are gone again when this returns. */
async function comeAndGo(cluster: MeasuredCluster, spec: object): Promise<void> {
  const labels = { app: "passing" };
  const template = { metadata: { labels }, spec };
  await cluster.apply({
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata: { name: "passing" },
    spec: { replicas: podsInRound, selector: { matchLabels: labels }, template },
  });
  await cluster.kubectl("rollout", "status", "deployment/passing", "--timeout=300s");
  await cluster.kubectl("delete", "deployment/passing", "--cascade=foreground", "--timeout=300s");
}

interface Times {
  readonly settleMs: number;
  readonly windowSeconds: number;
}

async function measure(cluster: MeasuredCluster, label: string, times: Times): Promise<void> {
  const { settleMs, windowSeconds: seconds } = times;
  await new Promise((resolve) => setTimeout(resolve, settleMs));
  const { programs, keepers } = cluster.processes();
  const look = () => ({ programs: sumOf(programs.map(countersOf)), keepers: sumOf(keepers.map(countersOf)) });
  const before = look();
  await new Promise((resolve) => setTimeout(resolve, seconds * 1000));
  const after = look();
  reportCounters(label, before.programs, after.programs, seconds);
  reportCounters(`  and ${keepers.length} processes beside the containers`, before.keepers, after.keepers, seconds);
}
