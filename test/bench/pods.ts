// How long pods take on `skiff up` with the embedded runtime and, where its programs are on PATH, on Kubernetes itself in the same run:
// created by kubectl and by the API until Ready is seen on a watch, deleted until they are gone, and a deployment until all its replicas
// are Ready.
//   npm run bench -- pods [pods, 8] [replicas, 30]

import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { uninterrupted as call } from "../../plugins/kit/base/call.ts";
import { ApiClient } from "../../plugins/kit/kube/client/api-client.ts";
import { loadKubeconfig } from "../../plugins/kit/kube/client/kubeconfig.ts";
import { resources } from "../../plugins/kit/kube/objects/resources.ts";
import { busyboxImageName } from "../harness/images.ts";
import { type MeasuredCluster, onEachCluster } from "../harness/measured-cluster.ts";

interface Pod {
  readonly metadata: { readonly name: string };
  readonly status?: { readonly conditions?: readonly { readonly type: string; readonly status: string }[] };
}

const graceSeconds = 1;
const spec = {
  terminationGracePeriodSeconds: graceSeconds,
  containers: [{ name: "c", image: busyboxImageName, imagePullPolicy: "Never", command: ["sleep", "100000"] }],
};
const podNamed = (name: string) => ({ apiVersion: "v1", kind: "Pod", metadata: { name, namespace: "default" }, spec });

/** Milliseconds by what was measured, of one cluster. */
type Figures = Map<string, number>;

export async function run([pods = "8", replicas = "30"]: string[]): Promise<void> {
  const all: Figures[] = [];
  await onEachCluster(async (cluster) => {
    console.log(cluster.name);
    const figures: Figures = new Map();
    const kubeconfig = await loadKubeconfig(cluster.kubeconfig);
    try {
      const client = new ApiClient(kubeconfig);
      await singles(cluster, client, Number(pods), figures);
      await deployment(cluster, client, Number(replicas), figures);
    } finally {
      kubeconfig.close();
    }
    all.push(figures);
  });
  const [ours, theirs] = all;
  if (!ours || !theirs) return;
  console.log("ours / Kubernetes'");
  for (const [what, value] of ours) console.log(`  ${what}: ${(value / (theirs.get(what) ?? 0)).toFixed(2)}`);
}

async function singles(cluster: MeasuredCluster, client: ApiClient, count: number, figures: Figures): Promise<void> {
  const ways: Record<string, (name: string) => Promise<unknown>> = {
    "kubectl create": (name) => {
      const file = join(cluster.dir, `${name}.json`);
      writeFileSync(file, JSON.stringify(podNamed(name)));
      return cluster.kubectl("create", "-f", file);
    },
    "API create": (name) => client.create(resources.pods, podNamed(name), call),
  };
  const gone: number[] = [];
  for (const [way, create] of Object.entries(ways)) {
    const ready: number[] = [];
    // The first of each way is not counted: it finds nothing compiled.
    for (let round = 0; round <= count; round++) {
      const name = `${way.replace(" ", "-").toLowerCase()}-${round}`;
      const readySeen = await watchFor(client, (all) => isReady(all.get(name)));
      const from = performance.now();
      await Promise.all([create(name), readySeen.at]);
      const readyMs = (await readySeen.at) - from;
      const goneSeen = await watchFor(client, (all) => !all.has(name));
      const removing = performance.now();
      await client.delete(resources.pods, { namespace: "default", name }, call, { gracePeriodSeconds: graceSeconds });
      const goneMs = (await goneSeen.at) - removing;
      if (round === 0) continue;
      ready.push(readyMs);
      gone.push(goneMs);
    }
    tell(`${way} to Ready`, ready, figures);
  }
  tell(`delete (grace ${graceSeconds} s) to gone`, gone, figures);
}

async function deployment(
  cluster: MeasuredCluster,
  client: ApiClient,
  replicas: number,
  figures: Figures,
): Promise<void> {
  const labels = { app: "many" };
  const object = {
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata: { name: "many", namespace: "default" },
    spec: { replicas, selector: { matchLabels: labels }, template: { metadata: { labels }, spec } },
  };
  const readySeen = await watchFor(client, (all) => [...all.values()].filter(isReady).length >= replicas);
  const from = performance.now();
  await cluster.apply(object);
  tell(`${replicas} replicas all Ready`, [(await readySeen.at) - from], figures);
  const goneSeen = await watchFor(client, (all) => all.size === 0);
  const removing = performance.now();
  await cluster.kubectl("delete", "deployment", "many", "--wait=false");
  tell(`${replicas} replicas deleted to gone`, [(await goneSeen.at) - removing], figures);
}

/** When it was seen on a watch, which runs by the time this resolves. */
async function watchFor(
  client: ApiClient,
  isSo: (all: ReadonlyMap<string, Pod>) => boolean,
): Promise<{ at: Promise<number> }> {
  const list = await client.list<Pod>(resources.pods, { namespace: "default" }, call);
  const all = new Map(list.items.map((pod) => [pod.metadata.name, pod]));
  const follow = async () => {
    const options = { namespace: "default", resourceVersion: list.metadata.resourceVersion };
    for await (const { type, object } of client.watch<Pod>(resources.pods, options, call)) {
      if (type === "DELETED") all.delete(object.metadata.name);
      else if (type !== "BOOKMARK") all.set(object.metadata.name, object);
      if (isSo(all)) return performance.now();
    }
    throw new Error("the watch ended");
  };
  return { at: follow() };
}

function isReady(pod: Pod | undefined): boolean {
  return pod?.status?.conditions?.some(({ type, status }) => type === "Ready" && status === "True") ?? false;
}

function tell(what: string, times: number[], figures: Figures): void {
  const sorted = times.toSorted((a, b) => a - b);
  const median = sorted[Math.trunc(sorted.length / 2)] ?? Number.NaN;
  figures.set(what, median);
  const [least = Number.NaN] = sorted;
  const spread =
    sorted.length > 1 ? `, median of ${sorted.length}, ${least.toFixed(0)} to ${sorted.at(-1)?.toFixed(0)} ms` : "";
  console.log(`  ${what}: ${median.toFixed(0)} ms${spread}`);
}
