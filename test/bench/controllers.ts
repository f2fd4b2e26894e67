// How long a large deployment takes from its declaration to available, through a rollout and to its end, on simulated nodes with
// the real scheduler and a durable store; and what 500 deployments at rest cost.

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openControl } from "../../control/assemble/control-plane.ts";
import { uninterrupted } from "../../plugins/kit/base/call.ts";
import { ApiClient } from "../../plugins/kit/kube/client/api-client.ts";
import { systemClock as clock } from "../../plugins/kit/base/clock.ts";
import { WatchingInformer } from "../../plugins/kit/kube/informer.ts";
import { noLog as log } from "../../plugins/kit/base/log.ts";
import { type ResourceRef, resources } from "../../plugins/kit/kube/objects/resources.ts";
import type { KubeObject, Node, Pod } from "../../plugins/kit/kube/objects/types.ts";
import { controlSettings } from "../harness/control-settings.ts";
import { admin, type Json } from "../harness/api-server.ts";
import { podTemplate, readyNode } from "../harness/controllers.ts";
import { SimulatedKubelet } from "../harness/simulated-kubelet.ts";
import { until } from "../harness/until.ts";

const nodeCount = 20;
const restSeconds = 10;
const heartbeatMs = 10_000;
const patienceMs = 5 * 60_000;

/** `node test/bench/main.ts controllers [replicas] [deployments]`. */
export async function run(args: string[]): Promise<void> {
  const replicas = Number(args[0] ?? 1000);
  const deployments = Number(args[1] ?? 500);
  const dataDir = mkdtempSync(join(tmpdir(), "skiff-bench-controllers-"));
  const stop = new AbortController();
  const call = { signal: stop.signal };
  const control = await openControl(
    {
      dataDir,
      ...controlSettings,
      advertise: { address: "192.0.2.1", port: 6443 },
    },
    uninterrupted,
  );
  const client = new ApiClient({ fetch: control.fetchAs(admin), clock, log });
  const informer = <T extends object>(ref: ResourceRef) => {
    const made = new WatchingInformer<T & KubeObject>({ client, ref, clock, log });
    void made.run(call).catch(() => undefined);
    return made;
  };
  const [pods, nodes] = [informer<Pod>(resources.pods), informer<Node>(resources.nodes)];
  const kubelet = new SimulatedKubelet({ client, pods, nodes, binds: false });
  const running = Promise.allSettled([control.run(call), kubelet.run(call)]);
  let heartbeats: Promise<void> | undefined;
  try {
    for (let index = 0; index < nodeCount; index++) await client.create(resources.nodes, readyNode(`n${index}`), call);
    heartbeats = beat(client, call);
    await measureOne(client, replicas, call);
    await measureRest(client, deployments, call);
  } finally {
    stop.abort();
    await Promise.allSettled([running, heartbeats]);
    await control.close();
    rmSync(dataDir, { recursive: true, force: true });
  }
}

type Call = { signal: AbortSignal };
const namespace = "default";

/** The leases of the nodes, as their kubelets renew them: without, the nodes are given up before a slow machine is done. */
async function beat(client: ApiClient, call: Call): Promise<void> {
  const spec = () => ({
    leaseDurationSeconds: 40,
    renewTime: new Date(clock.now()).toISOString().replace("Z", "000Z"),
  });
  const at = { namespace: "kube-node-lease" };
  const names = Array.from({ length: nodeCount }, (_, index) => `n${index}`);
  const apiVersion = "coordination.k8s.io/v1";
  for (const name of names) {
    const metadata = { ...at, name };
    const lease = { apiVersion, kind: "Lease", metadata, spec: { ...spec(), holderIdentity: name } };
    await client.create(resources.leases, lease, call, at);
  }
  for (;;) {
    await clock.sleep(heartbeatMs, call);
    for (const name of names)
      await client.patch(resources.leases, { ...at, name }, { type: "merge", body: { spec: spec() } }, call);
  }
}

const deployment = (name: string, replicas: number): Json => ({
  apiVersion: "apps/v1",
  kind: "Deployment",
  metadata: { name, namespace },
  spec: {
    replicas,
    selector: { matchLabels: { app: name } },
    template: podTemplate({ app: name }, { terminationGracePeriodSeconds: 1 }),
  },
});

async function timed(what: string, replicas: number, work: () => Promise<unknown>): Promise<void> {
  const startedAt = performance.now();
  const cpu = process.cpuUsage();
  await work();
  const seconds = (performance.now() - startedAt) / 1000;
  const { user, system } = process.cpuUsage(cpu);
  const perSecond = (replicas / seconds).toFixed(0);
  console.log(`${what}: ${seconds.toFixed(1)} s, ${perSecond} pods/s, ${((user + system) / 1e6).toFixed(1)} s of CPU`);
}

async function measureOne(client: ApiClient, replicas: number, call: Call): Promise<void> {
  const at = { namespace, name: "large" };
  const isDone = async () => {
    const { metadata, status } = await client.get<Json>(resources.deployments, at, call);
    return (
      status?.observedGeneration === metadata.generation &&
      [status.replicas, status.updatedReplicas, status.availableReplicas].every((count) => count === replicas)
    );
  };
  console.log(`controllers: one deployment of ${replicas} replicas on ${nodeCount} simulated nodes`);
  await timed("declared to available", replicas, async () => {
    await client.create(resources.deployments, deployment("large", replicas), call, { namespace });
    await until("all available", isDone, patienceMs);
  });
  await timed("rolled out anew (25% surge, 25% unavailable)", replicas, async () => {
    const body = { spec: { template: { metadata: { labels: { version: "two" } } } } };
    await client.patch(resources.deployments, at, { type: "merge", body }, call);
    await until("all of the new template", isDone, patienceMs);
  });
  await timed("deleted to gone", replicas, async () => {
    await client.delete(resources.deployments, at, call, { propagationPolicy: "Background" });
    const listed = () => client.list(resources.pods, { namespace, limit: 1 }, call);
    await until("all gone", async () => (await listed()).items.length === 0, patienceMs);
  });
}

/** What is still under way, such as statuses and events, ends first: nothing but heartbeats was written for a while. */
async function untilQuiet(client: ApiClient, call: Call): Promise<void> {
  const newest = async (ref: ResourceRef) => {
    const { items } = await client.list<KubeObject>(ref, { namespace }, call);
    return Math.max(0, ...items.map(({ metadata }) => Number(metadata.resourceVersion)));
  };
  const state = async () => {
    const followed = [resources.deployments, resources.replicasets, resources.pods, resources.events];
    return (await Promise.all(followed.map(newest))).join();
  };
  const giveUpAt = performance.now() + 60_000;
  for (let before = await state(), now = ""; before !== now && performance.now() < giveUpAt; ) {
    before = now;
    await clock.sleep(2_000, call);
    now = await state();
  }
}

async function measureRest(client: ApiClient, count: number, call: Call): Promise<void> {
  await timed(`${count} deployments of one replica to available`, count, async () => {
    for (let index = 0; index < count; index++)
      await client.create(resources.deployments, deployment(`small-${index}`, 1), call, { namespace });
    const listed = () => client.list<Json>(resources.deployments, { namespace }, call);
    const isReady = ({ status }: Json) => status?.availableReplicas === 1;
    await until("all available", async () => (await listed()).items.every(isReady), patienceMs);
  });
  await untilQuiet(client, call);
  const before = process.cpuUsage();
  await clock.sleep(restSeconds * 1000, call);
  const { user, system } = process.cpuUsage(before);
  const percent = (user + system) / 1e4 / restSeconds;
  const memory = (process.memoryUsage().rss / 2 ** 20).toFixed(0);
  console.log(`at rest with ${count} deployments: ${percent.toFixed(2)} % of one core, ${memory} MB resident`);
}
