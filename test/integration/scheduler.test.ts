// The scheduler on a real API server in one process: pods get nodes by the binding subresource, in order of importance.

import t, { type Test } from "tap";
import type { Profile } from "../../control/scheduler/profile.ts";
import { uninterrupted } from "../../plugins/kit/base/call.ts";
import { resources } from "../../plugins/kit/kube/objects/resources.ts";
import type { Event, Pod } from "../../plugins/kit/kube/objects/types.ts";
import { defaultProfile, requesting } from "../harness/scheduling.ts";
import { schedulerCluster } from "../harness/scheduler-cluster.ts";
import { until } from "../harness/until.ts";

const cluster = async (t: Test, profile: Partial<Profile> = {}) =>
  schedulerCluster(t, { profiles: [{ ...(await defaultProfile()), ...profile }] });

t.test("Scheduler binds pods as soon as a node fits", async (t) => {
  const { addNode, addPod, get } = await cluster(t);
  await addPod("early", requesting("1"));
  await until("the scheduler", async () =>
    (await get("early")).status?.conditions?.some(({ reason }) => reason === "Unschedulable"),
  );
  await addNode("a");
  await until("the scheduler", async () => (await get("early")).spec?.nodeName === "a");
  const scheduled = (await get("early")).status?.conditions?.find(({ type }) => type === "PodScheduled");
  t.equal(scheduled?.status, "True");
});

t.test("Scheduler tells why a pod waits, in upstream's words", async (t) => {
  const { client, addNode, addPod } = await cluster(t);
  await addNode("a", "1");
  await addPod("big", requesting("2"));
  const message = await until("the scheduler", async () => {
    const { items } = await client.list<Event>(resources.events, { namespace: "default" }, uninterrupted);
    return items.find(({ reason }) => reason === "FailedScheduling")?.message;
  });
  t.equal(
    message,
    "0/1 nodes are available: 1 Insufficient cpu. preemption: 0/1 nodes are available: 1 No preemption victims found for incoming pod.",
  );
});

t.test("Scheduler spreads pods and never gives more than a node has", async (t) => {
  const { client, addNode, addPod } = await cluster(t);
  await Promise.all([addNode("a", "2"), addNode("b", "2")]);
  for (let index = 0; index < 6; index++) await addPod(`p${index}`, requesting("1"));
  const bound = await until("the scheduler", async () => {
    const { items } = await client.list<Pod>(resources.pods, { namespace: "default" }, uninterrupted);
    const placed = items.filter(({ spec }) => spec?.nodeName);
    return placed.length === 4 && items.every((item) => item.spec?.nodeName || item.status?.conditions?.length)
      ? placed
      : undefined;
  });
  t.same(Object.fromEntries(Map.groupBy(bound, ({ spec }) => spec?.nodeName ?? "")).a?.length, 2);
});

t.test("Scheduler gives a host port on as soon as the pod that had it ends", async (t) => {
  const { client, addNode, addPod, get } = await cluster(t);
  await addNode("a");
  const onPort = { containers: [{ name: "c", image: "i", ports: [{ containerPort: 80, hostPort: 8080 }] }] };
  await addPod("first", onPort);
  await until("the first pod to be bound", async () => (await get("first")).spec?.nodeName === "a");
  await addPod("second", onPort);
  await until("the second to wait", async () =>
    (await get("second")).status?.conditions?.some(({ reason }) => reason === "Unschedulable"),
  );
  const at = { namespace: "default", name: "first", subresource: "status" };
  await client.patch(resources.pods, at, { type: "merge", body: { status: { phase: "Succeeded" } } }, uninterrupted);
  await until("the second to be bound", async () => (await get("second")).spec?.nodeName === "a");
});

t.test("Scheduler makes room for a more important pod", async (t) => {
  const { client, addNode, addPod, get } = await cluster(t);
  await addNode("a", "1");
  await addPod("low", { ...requesting("1"), priority: 1 });
  await until("the scheduler", async () => (await get("low")).spec?.nodeName === "a");
  await addPod("high", { ...requesting("1"), priority: 100 });
  const low = await until("the scheduler", async () => {
    const found = await get("low");
    return found.metadata.deletionTimestamp ? found : undefined;
  });
  t.ok(
    low.status?.conditions?.some(
      ({ type, reason }) => type === "DisruptionTarget" && reason === "PreemptionByScheduler",
    ),
  );
  t.equal((await get("high")).status?.nominatedNodeName, "a");
  await client.delete(resources.pods, { namespace: "default", name: "low" }, uninterrupted, { gracePeriodSeconds: 0 });
  await until("the scheduler", async () => (await get("high")).spec?.nodeName === "a");
});

t.test("Scheduler promises each important pod a room of its own", async (t) => {
  const { client, addNode, addPod } = await cluster(t);
  const names = ["a", "b", "c"];
  for (const name of names) {
    await addNode(name, "1");
    await addPod(`low-${name}`, { ...requesting("1"), priority: 1 });
  }
  const podsWhere = async (is: (pod: Pod) => unknown) =>
    (await client.list<Pod>(resources.pods, { namespace: "default" }, uninterrupted)).items.filter(is);
  await until("all nodes to be full", async () => (await podsWhere(({ spec }) => spec?.nodeName)).length === 3);
  for (const name of names) await addPod(`high-${name}`, { ...requesting("1"), priority: 100 });
  const promised = await until("three promises", async () => {
    const found = await podsWhere(({ status }) => status?.nominatedNodeName);
    return found.length === 3 ? found : undefined;
  });
  t.same(new Set(promised.map(({ status }) => status?.nominatedNodeName)), new Set(names));
});

t.test("Scheduler keeps a promise that it reads from the pod, as after a restart", async (t) => {
  const { client, addNode, addPod, get } = await cluster(t);
  await addNode("a", "2");
  await addPod("low", { ...requesting("1"), priority: 1 });
  await until("the first to be bound", async () => (await get("low")).spec?.nodeName === "a");
  // It drives nobody out by itself: only what its status says can keep the room.
  await addPod("high", { ...requesting("2"), priority: 100, preemptionPolicy: "Never" });
  const refused = (name: string) => async () =>
    (await get(name)).status?.conditions?.some(({ type, status }) => type === "PodScheduled" && status === "False");
  await until("the large one to wait", refused("high"));
  const body = { status: { nominatedNodeName: "a" } };
  const at = { namespace: "default", name: "high", subresource: "status" };
  await client.patch(resources.pods, at, { type: "merge", body }, uninterrupted);
  await addPod("rival", { ...requesting("1"), priority: 100 });
  await until("the rival to wait", refused("rival"));
  t.notOk((await get("rival")).spec?.nodeName, "there is room, but it is promised");
  await client.delete(resources.pods, { namespace: "default", name: "low" }, uninterrupted, { gracePeriodSeconds: 0 });
  await until("the large one to get it", async () => (await get("high")).spec?.nodeName === "a");
});

t.test("Scheduler says why a pod that may not preempt waits", async (t) => {
  const { addNode, addPod, get } = await cluster(t);
  await addNode("a", "1");
  await addPod("low", { ...requesting("1"), priority: 1 });
  await until("the first to be bound", async () => (await get("low")).spec?.nodeName === "a");
  await addPod("meek", { ...requesting("1"), priority: 100, preemptionPolicy: "Never" });
  const told = await until("it to be told", async () =>
    (await get("meek")).status?.conditions?.find(({ reason }) => reason === "Unschedulable"),
  );
  t.equal(
    told.message,
    "0/1 nodes are available: 1 Insufficient cpu. preemption: not eligible due to preemptionPolicy=Never.",
  );
});

t.test("Scheduler takes a promise back when a more important pod gets the room", async (t) => {
  const { client, addNode, addPod, get } = await cluster(t);
  await addNode("a", "1");
  await addPod("low", { ...requesting("1"), priority: 1 });
  await until("the first to be bound", async () => (await get("low")).spec?.nodeName === "a");
  await addPod("high", { ...requesting("1"), priority: 100 });
  await until("a promise", async () => (await get("high")).status?.nominatedNodeName === "a");
  await addPod("higher", { ...requesting("1"), priority: 1000 });
  await until("the promise to be another's", async () => (await get("higher")).status?.nominatedNodeName === "a");
  await until("the first promise to be taken back", async () => !(await get("high")).status?.nominatedNodeName);
  await client.delete(resources.pods, { namespace: "default", name: "low" }, uninterrupted, { gracePeriodSeconds: 0 });
  await until("the most important one to get the room", async () => (await get("higher")).spec?.nodeName === "a");
});

t.test("Scheduler gives room to others when nothing comes of a promise", async (t) => {
  const { client, addNode, addPod, get } = await cluster(t);
  await addNode("a", "2");
  await addNode("b", "1");
  await addPod("guest", { ...requesting("1"), priority: 1, nodeSelector: { "kubernetes.io/hostname": "b" } });
  await until("the guest to be bound", async () => (await get("guest")).spec?.nodeName === "b");
  await addPod("large", { ...requesting("3"), priority: 100 });
  const refused = async (name: string) =>
    (await get(name)).status?.conditions?.some(({ reason }) => reason === "Unschedulable");
  await until("the large one to wait", () => refused("large"));
  const at = { namespace: "default", name: "large", subresource: "status" };
  await client.patch(
    resources.pods,
    at,
    { type: "merge", body: { status: { nominatedNodeName: "a" } } },
    uninterrupted,
  );
  await addPod("small", { ...requesting("1"), priority: 50 });
  await until("the small one to find the room promised", () => refused("small"));
  // Any change of a node makes the large one try again: it will never fit, so that its promise is void.
  await addNode("c", "1m");
  await until("the promise to be taken back", async () => !(await get("large")).status?.nominatedNodeName);
  await until("the small one to get the room", async () => (await get("small")).spec?.nodeName === "a");
});

t.test("Scheduler leaves everybody in place where a profile turns preemption off", async (t) => {
  const { addNode, addPod, get } = await cluster(t, { preempts: false });
  await addNode("a", "1");
  await addPod("low", { ...requesting("1"), priority: 1 });
  await until("the first to be bound", async () => (await get("low")).spec?.nodeName === "a");
  await addPod("high", { ...requesting("1"), priority: 100 });
  const told = await until("it to be told", async () =>
    (await get("high")).status?.conditions?.find(({ reason }) => reason === "Unschedulable"),
  );
  t.equal(told.message, "0/1 nodes are available: 1 Insufficient cpu.");
  t.notOk((await get("low")).metadata.deletionTimestamp);
});
