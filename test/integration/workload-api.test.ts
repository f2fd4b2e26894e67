// What conformance asks of the workload resources through a whole control plane: status and scale subresources, collections,
// adoption and release, failure conditions, and pods that come back. Nodes are simulated.

import t from "tap";
import { uninterrupted } from "../../plugins/kit/base/call.ts";
import { ApiClient } from "../../plugins/kit/kube/client/api-client.ts";
import { systemClock as clock } from "../../plugins/kit/base/clock.ts";
import { WatchingInformer } from "../../plugins/kit/kube/informer.ts";
import { noLog as log } from "../../plugins/kit/base/log.ts";
import { apiVersionOf, type ResourceRef, resources } from "../../plugins/kit/kube/objects/resources.ts";
import type { KubeObject, Node, Pod } from "../../plugins/kit/kube/objects/types.ts";
import { admin, type Json } from "../harness/api-server.ts";
import { startControl } from "../harness/control.ts";
import { podTemplate, readyNode } from "../harness/controllers.ts";
import { SimulatedKubelet } from "../harness/simulated-kubelet.ts";
import { until } from "../harness/until.ts";

const { control, close } = await startControl();
t.teardown(close);
const client = new ApiClient({ fetch: control.fetchAs(admin), clock, log });
const stop = new AbortController();
const call = { signal: stop.signal };
const informer = <T extends object>(ref: ResourceRef) => {
  const made = new WatchingInformer<T & KubeObject>({ client, ref, clock, log });
  void made.run(call).catch(() => undefined);
  return made;
};
const nodes = informer<Node>(resources.nodes);
const pods = informer<Pod>(resources.pods);
const failing = new Set<string>();
const kubelet = new SimulatedKubelet({
  client,
  pods,
  nodes,
  binds: false,
  outcome: ({ metadata }) => (failing.has(metadata.uid ?? "") ? { exitCode: 1 } : "ready"),
});
const running = kubelet.run(call).catch(() => undefined);
t.teardown(async () => {
  stop.abort();
  await running;
});
for (const name of ["a", "b"]) await client.create(resources.nodes, readyNode(name), call);
t.setTimeout(300_000);

let count = 0;
/** A namespace for each test, with the account that its pods need. */
async function room(): Promise<string> {
  const name = `room-${++count}`;
  await client.create(resources.namespaces, { apiVersion: "v1", kind: "Namespace", metadata: { name } }, call);
  await until("the default account", () =>
    client.get(resources.serviceaccounts, { namespace: name, name: "default" }, call),
  );
  return name;
}
const create = (ref: ResourceRef, namespace: string, object: Json): Promise<Json> =>
  client.create(ref, { apiVersion: apiVersionOf(ref), kind: ref.kind, ...object }, call, { namespace });
const get = (ref: ResourceRef, namespace: string, name: string, subresource?: string): Promise<Json> =>
  client.get(ref, { namespace, name, subresource }, call);
const patch = (ref: ResourceRef, namespace: string, name: string, body: Json, subresource?: string): Promise<Json> =>
  client.patch(ref, { namespace, name, subresource }, { type: "merge", body }, call);
const podsIn = (namespace: string) => pods.list(namespace).filter(({ metadata }) => !metadata.deletionTimestamp);

const matchLabels = { app: "web" };
const selector = { matchLabels };
const template = podTemplate(matchLabels, { terminationGracePeriodSeconds: 1 });
const jobTemplate = podTemplate({}, { restartPolicy: "Never" });
const kinds: [ResourceRef, Json, "scales" | ""][] = [
  [resources.deployments, { replicas: 1, selector, template }, "scales"],
  [resources.replicasets, { replicas: 1, selector, template }, "scales"],
  [resources.replicationcontrollers, { replicas: 1, selector: matchLabels, template }, "scales"],
  [resources.statefulsets, { replicas: 1, selector, serviceName: "web", template }, "scales"],
  [resources.daemonsets, { selector, template }, ""],
  [resources.jobs, { template: jobTemplate }, ""],
  [resources.cronjobs, { schedule: "0 0 1 1 *", jobTemplate: { spec: { template: jobTemplate } } }, ""],
];

for (const [ref, spec, scales] of kinds)
  t.test(`${ref.kind}: status, scale, patch and collections`, async (t) => {
    const namespace = await room();
    const labels = { set: "one" };
    await create(ref, namespace, { metadata: { name: "web", labels }, spec });
    const before = await get(ref, namespace, "web", "status");
    t.equal(before.metadata.name, "web", "the status is read by itself");
    const condition = { type: "StatusPatched", status: "True", reason: "ByHand", message: "seen" };
    // A cron job's status holds no conditions; the time of its last run can be set.
    const status =
      ref === resources.cronjobs ? { lastScheduleTime: "2026-01-01T00:00:00Z" } : { conditions: [condition] };
    const patched = await patch(
      ref,
      namespace,
      "web",
      { metadata: { annotations: { seen: "yes" } }, status },
      "status",
    );
    t.match(patched.status, status);
    await patch(ref, namespace, "web", { metadata: { labels: { more: "yes" } }, status: { observedGeneration: 99 } });
    const now = await get(ref, namespace, "web");
    t.equal(now.metadata.labels.more, "yes");
    t.not(now.status?.observedGeneration, 99, "the main resource does not write the status");
    if (scales) {
      const scale = await get(ref, namespace, "web", "scale");
      t.match(scale, { kind: "Scale", apiVersion: "autoscaling/v1", spec: { replicas: 1 } });
      // Without a version it is not held to the state that was read.
      const wish = { ...scale, metadata: { namespace, name: "web" }, spec: { replicas: 2 } };
      await client.update(ref, wish, call, { subresource: "scale" });
      await until("two pods", () => podsIn(namespace).length === 2, 60_000);
      await patch(ref, namespace, "web", { spec: { replicas: 3 } }, "scale");
      await until(
        "three, and told",
        async () => (await get(ref, namespace, "web", "scale")).status.replicas === 3,
        60_000,
      );
    }
    await create(ref, namespace, {
      metadata: { name: "other", labels: { set: "two" } },
      spec: { ...spec, ...(scales ? { replicas: 0 } : {}) },
    });
    await client.deleteCollection(ref, { namespace, labelSelector: "set=one" }, call);
    const left = async () =>
      (await client.list<Json>(ref, { namespace }, call)).items.map(({ metadata }) => metadata.name);
    await until("only the other one", async () => (await left()).join() === "other", 60_000);
  });

t.test("ReplicationController and ReplicaSet adopt what matches and release what no longer does", async (t) => {
  for (const [ref, spec] of [
    [resources.replicationcontrollers, { replicas: 1, selector: matchLabels, template }],
    [resources.replicasets, { replicas: 1, selector, template }],
  ] as const) {
    const namespace = await room();
    await create(resources.pods, namespace, { ...template, metadata: { name: "orphan", labels: matchLabels } });
    const owner = await create(ref, namespace, { metadata: { name: "web" }, spec });
    const ownerOf = async (name: string) =>
      (await get(resources.pods, namespace, name)).metadata.ownerReferences?.[0]?.uid;
    await until("the orphan is adopted", async () => (await ownerOf("orphan")) === owner.metadata.uid, 60_000);
    t.equal(podsIn(namespace).length, 1, "and none is made");
    await patch(resources.pods, namespace, "orphan", { metadata: { labels: { app: "gone" } } });
    await until("it is released", async () => (await ownerOf("orphan")) === undefined, 60_000);
    await until("and replaced", () => podsIn(namespace).length === 2, 60_000);
  }
});

t.test("a Job takes back its own orphans and lets go of pods that are no longer its own", async (t) => {
  const namespace = await room();
  const job = await create(resources.jobs, namespace, {
    metadata: { name: "sum" },
    spec: { parallelism: 2, completions: 2, template: jobTemplate },
  });
  const first = await until("a pod", () => (podsIn(namespace).length === 2 ? podsIn(namespace)[0] : undefined), 60_000);
  const name = first.metadata.name ?? "";
  const owners = async () => (await get(resources.pods, namespace, name)).metadata.ownerReferences ?? [];
  await patch(resources.pods, namespace, name, { metadata: { ownerReferences: null } });
  await until("it is adopted", async () => (await owners())[0]?.uid === job.metadata.uid, 60_000);
  await patch(resources.pods, namespace, name, { metadata: { labels: null } });
  await until("it is released", async () => (await owners()).length === 0, 60_000);
  t.pass();
});

t.test("a quota that cannot be met is a condition, which goes when it can", async (t) => {
  const namespace = await room();
  await create(resources.resourcequotas, namespace, { metadata: { name: "few" }, spec: { hard: { pods: "2" } } });
  await until(
    "the quota counts",
    async () => (await get(resources.resourcequotas, namespace, "few")).status?.hard?.pods,
    60_000,
  );
  const ref = resources.replicationcontrollers;
  await create(ref, namespace, { metadata: { name: "web" }, spec: { replicas: 3, selector: matchLabels, template } });
  const failure = async () =>
    (await get(ref, namespace, "web")).status?.conditions?.find(({ type }: Json) => type === "ReplicaFailure");
  const told = await until("the condition", failure, 60_000);
  t.match(told, { status: "True", reason: "FailedCreate", message: /exceeded quota: few/ });
  t.equal(podsIn(namespace).length, 2);
  await patch(ref, namespace, "web", { spec: { replicas: 2 } }, "scale");
  await until("no condition", async () => !(await failure()), 60_000);
});

t.test("pods that fail for good are made anew: of a DaemonSet, and of a StatefulSet by the same name", async (t) => {
  const namespace = await room();
  await create(resources.daemonsets, namespace, { metadata: { name: "agent" }, spec: { selector, template } });
  const db = { matchLabels: { app: "db" } };
  await create(resources.statefulsets, namespace, {
    metadata: { name: "db" },
    spec: { replicas: 1, serviceName: "db", selector: db, template: podTemplate(db.matchLabels) },
  });
  const running = () => podsIn(namespace).filter(({ status }) => status?.phase === "Running");
  await until("all run", () => running().length === 3, 60_000);
  const victims = ["agent-", "db-"].map((start) => running().find(({ metadata }) => metadata.name?.startsWith(start)));
  for (const victim of victims) {
    const { name = "" } = victim?.metadata ?? {};
    await client.patch(
      resources.pods,
      { namespace, name, subresource: "status" },
      { type: "merge", body: { status: { phase: "Failed", reason: "Evicted" } } },
      uninterrupted,
    );
  }
  const isNew = () =>
    !running().some(({ metadata }) => victims.some((victim) => victim?.metadata.uid === metadata.uid));
  await until("they run again", () => running().length === 3 && isNew(), 60_000);
  t.equal(running().filter(({ metadata }) => metadata.name === "db-0").length, 1);
});

t.test("PriorityClass: a value that is set stays", async (t) => {
  const ref = resources.priorityclasses;
  const made = await client.create<Json>(
    ref,
    { apiVersion: "scheduling.k8s.io/v1", kind: "PriorityClass", metadata: { name: "rush" }, value: 7 },
    call,
  );
  t.equal(made.preemptionPolicy, "PreemptLowerPriority");
  const change = (body: Json) => client.patch<Json>(ref, { name: "rush" }, { type: "merge", body }, call);
  await t.rejects(change({ value: 8 }), { code: "invalid", message: /may not be changed in an update/ });
  t.equal((await change({ description: "in a hurry" })).description, "in a hurry");
});
