// How many pods the scheduler binds in a second, through the API in this process with the store in memory, on simulated nodes; and
// how long a pod waits for its node when pods come steadily.

import { createApiServer } from "../../control/api/server.ts";
import { Scheduler } from "../../control/scheduler/scheduler.ts";
import { uninterrupted as call } from "../../plugins/kit/base/call.ts";
import { ApiClient } from "../../plugins/kit/kube/client/api-client.ts";
import { systemClock as clock } from "../../plugins/kit/base/clock.ts";
import { EventRecorder } from "../../plugins/kit/kube/events.ts";
import { noLog as log } from "../../plugins/kit/base/log.ts";
import { resources } from "../../plugins/kit/kube/objects/resources.ts";
import type { Pod } from "../../plugins/kit/kube/objects/types.ts";
import { memoryStore } from "../../plugins/store/memory.ts";
import { admin } from "../harness/api-server.ts";
import { defaultProfile, node, requesting } from "../harness/scheduling.ts";

const namespace = "default";
const zones = 10;
const steadyPods = 200;
const steadyEveryMs = 10;

interface Shape {
  spec(index: number): object;
  /** What fills the nodes before, so that pods of the shape must drive others away. */
  filler?: object;
}

const app = (index: number) => ({ app: `app-${index % 100}` });
const requests = { resources: { requests: { cpu: "100m", memory: "100Mi" } } };
const shapes: Record<string, Shape> = {
  basic: { spec: () => requesting("100m", "100Mi") },
  affinity: {
    spec: (index) => ({
      ...requesting("100m", "100Mi"),
      affinity: {
        podAntiAffinity: {
          requiredDuringSchedulingIgnoredDuringExecution: [
            { labelSelector: { matchLabels: app(index) }, topologyKey: "kubernetes.io/hostname" },
          ],
        },
      },
    }),
  },
  spread: {
    spec: (index) => ({
      ...requesting("100m", "100Mi"),
      topologySpreadConstraints: [
        {
          maxSkew: 5,
          topologyKey: "topology.kubernetes.io/zone",
          whenUnsatisfiable: "DoNotSchedule",
          labelSelector: { matchLabels: app(index) },
        },
      ],
    }),
  },
  preemption: {
    spec: () => ({ ...requesting("3"), priority: 1000 }),
    filler: { ...requesting("3"), priority: 0, terminationGracePeriodSeconds: 0 },
  },
};

/** `node test/bench/main.ts scheduler [nodes,…] [pods] [shape,…]`. */
export async function run(args: string[]): Promise<void> {
  const nodeCounts = (args[0] ?? "100,1000,5000").split(",").map(Number);
  const podCount = Number(args[1] ?? 10_000);
  const names = (args[2] ?? Object.keys(shapes).join(",")).split(",");
  for (const nodes of nodeCounts) {
    for (const name of names) {
      const shape = shapes[name];
      if (!shape) throw new Error(`there is no shape "${name}", only ${Object.keys(shapes).join(", ")}`);
      // As many as fit: a node has room for 38 of the small ones, and one of the large.
      const pods = Math.min(
        podCount,
        shape.filler ? Math.min(nodes, 500) : nodes * 38,
        name === "affinity" ? nodes * 90 : Infinity,
      );
      await measure(name, shape, nodes, pods);
    }
  }
}

async function measure(name: string, shape: Shape, nodeCount: number, podCount: number): Promise<void> {
  const store = memoryStore();
  const api = await createApiServer({ store, clock, log, authenticators: [], authorizers: [], admission: [] });
  const client = new ApiClient({ fetch: api.fetchAs(admin), clock, log });
  const events = new EventRecorder({ client, component: "default-scheduler", clock, log });
  const context = { client, informers: api.informers, events, clock, log };
  const scheduler = new Scheduler({ context, profiles: [await defaultProfile()] });
  const stop = new AbortController();
  const create = (podName: string, spec: object, index: number) => {
    const pod = { apiVersion: "v1", kind: "Pod", metadata: { name: podName, namespace, labels: app(index) }, spec };
    return client.create(resources.pods, withDefaults(pod), call, { namespace });
  };
  await client.create(
    resources.namespaces,
    { apiVersion: "v1", kind: "Namespace", metadata: { name: namespace } },
    call,
  );
  for (let index = 0; index < nodeCount; index++) {
    const made = node(`n${index}`, { "topology.kubernetes.io/zone": `z${index % zones}` });
    await client.create(resources.nodes, made, call);
    if (shape.filler) await create(`filler-${index}`, { ...shape.filler, nodeName: `n${index}` }, index);
  }
  for (let index = 0; index < podCount; index++) await create(`p${index}`, shape.spec(index), index);

  const boundAt = new Map<string, number>();
  let wanted = podCount;
  let reached = () => {};
  const pods = api.informers.for<Pod>(resources.pods);
  await pods.synced;
  const stopListening = pods.onEvent(({ type, object }) => {
    const podName = object.metadata.name ?? "";
    // Nobody runs these pods: what is asked to go is gone at once.
    if (type === "update" && object.metadata.deletionTimestamp)
      void client.delete(resources.pods, { namespace, name: podName }, call, { gracePeriodSeconds: 0 }).catch(() => {});
    if (!object.spec?.nodeName || podName.startsWith("filler") || boundAt.has(podName)) return;
    boundAt.set(podName, clock.monotonic());
    if (boundAt.size >= wanted) reached();
  });
  const allBound = () => new Promise<void>((resolve) => (boundAt.size >= wanted ? resolve() : (reached = resolve)));
  const cpuBefore = process.cpuUsage();
  const startedAt = clock.monotonic();
  const running = scheduler.run({ signal: stop.signal });
  await allBound();
  const seconds = (clock.monotonic() - startedAt) / 1000;
  const { user, system } = process.cpuUsage(cpuBefore);

  const waits = shape.filler ? [] : await steady();
  async function steady(): Promise<number[]> {
    wanted += steadyPods;
    const createdAt: number[] = [];
    for (let index = 0; index < steadyPods; index++) {
      createdAt.push(clock.monotonic());
      await create(`s${index}`, requesting("1m", "1Mi"), index);
      await clock.sleep(steadyEveryMs, call);
    }
    await allBound();
    return createdAt.map((at, index) => (boundAt.get(`s${index}`) ?? at) - at).sort((a, b) => a - b);
  }
  const p99 = waits[Math.floor(waits.length * 0.99)];
  const tail = p99 === undefined ? "" : `, p99 ${p99.toFixed(1)} ms from create to bound when they come steadily`;
  const cpu = ((user + system) / 1e6).toFixed(2);
  const rate = (podCount / seconds).toFixed(0);
  console.log(
    `${name}: ${podCount} pods on ${nodeCount} nodes in ${seconds.toFixed(2)} s, ${rate} pods/s (${cpu} s CPU)${tail}`,
  );
  stop.abort();
  await running;
  stopListening();
  events.close();
  await api.close();
  await store.close();
}

const withDefaults = <T extends { spec: object }>(pod: T): T => ({
  ...pod,
  spec: { containers: [{ name: "c", image: "i", ...requests }], ...pod.spec },
});
