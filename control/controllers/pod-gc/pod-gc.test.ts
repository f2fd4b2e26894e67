import t from "tap";
import { FakeClock } from "../../../plugins/kit/base/clock.ts";
import { resources } from "../../../plugins/kit/kube/objects/resources.ts";
import type { Node, Pod } from "../../../plugins/kit/kube/objects/types.ts";
import { controllerRoom, podTemplate, readyNode } from "../../../test/harness/controllers.ts";
import { until } from "../../../test/harness/until.ts";
import { beyond, orphaned, outOfServiceGoing, unscheduledGoing } from "./choose.ts";

const pod = (name: string, at: number, status: object, more: object = {}): Pod =>
  ({
    metadata: { name, creationTimestamp: new Date(at * 1000).toISOString() },
    spec: { nodeName: "a" },
    status,
    ...more,
  }) as unknown as Pod;
const names = (pods: readonly Pod[]) => pods.map(({ metadata }) => metadata.name);

t.test("beyond() takes the oldest that are done, evicted ones first, and as few as it must", async (t) => {
  const pods = [
    pod("new", 5, { phase: "Succeeded" }),
    pod("old", 1, { phase: "Failed" }),
    pod("evicted", 4, { phase: "Failed", reason: "Evicted" }),
    pod("running", 0, { phase: "Running" }),
    pod("middle", 3, { phase: "Succeeded" }),
  ];
  t.strictSame(names(beyond(pods, 4)), []);
  t.strictSame(names(beyond(pods, 2)), ["evicted", "old"]);
  t.strictSame(names(beyond(pods, 0)), ["evicted", "old", "middle", "new"]);
});

t.test("orphaned(), unscheduledGoing() and outOfServiceGoing() tell why nobody will clean up", async (t) => {
  const going = { deletionTimestamp: "2026-01-01T00:00:00Z" };
  const lost = pod("lost", 0, {}, { spec: { nodeName: "b" } });
  const waiting = pod("waiting", 0, {}, { spec: {} });
  const cancelled = pod("cancelled", 0, {}, { metadata: { name: "cancelled", ...going }, spec: {} });
  const leaving = pod("leaving", 0, {}, { metadata: { name: "leaving", ...going } });
  const all = [pod("fine", 0, {}), lost, waiting, cancelled, leaving];
  t.strictSame(names(orphaned(all, (name) => name === "a")), ["lost"]);
  t.strictSame(names(unscheduledGoing(all)), ["cancelled"]);
  const node = (ready: string, key: string): Node =>
    readyNode("a", {
      spec: { taints: [{ key, effect: "NoExecute" }] },
      status: { conditions: [{ type: "Ready", status: ready }] },
    });
  const out = "node.kubernetes.io/out-of-service";
  const gone = (of: Node) => names(outOfServiceGoing(all, (name) => (name === "a" ? of : undefined)));
  t.strictSame(gone(node("Unknown", out)), ["leaving"]);
  t.strictSame(gone(node("True", out)), [], "a node that answers ends its pods itself");
  t.strictSame(gone(node("Unknown", "other")), []);
});

t.test("podGarbageCollector() removes what no node will, and says what it was", async (t) => {
  const clock = new FakeClock(Date.now());
  const room = await controllerRoom(t, ["pod-garbage-collector"], { clock, kubelet: false });
  const last = new Map<string, Pod>();
  room.api.server.informers.for<Pod>(resources.pods).onEvent(({ object }) => {
    last.set(object.metadata.name ?? "", object);
  });
  const create = (name: string, spec: object, finalizers?: string[]) =>
    room.create(resources.pods, {
      ...podTemplate({}, spec),
      metadata: { name, ...(finalizers ? { finalizers } : {}) },
    });
  await create("orphan", { nodeName: "vanished" });
  await create("fine", { nodeName: "node" });
  await create("cut-off", { nodeName: "node" });
  await create("waiting", {}, ["x.example/y"]);
  await room.delete(resources.pods, "waiting");
  const waiting = await room.until(resources.pods, "waiting", ({ status }) => status.phase === "Failed");
  t.notOk(
    waiting.status.conditions?.some(({ type }: { type: string }) => type === "DisruptionTarget"),
    "that it never ran disrupts nobody",
  );
  await clock.advance(30_000);
  t.ok(room.get(resources.pods, "orphan"), "the node may be on its way");
  await clock.advance(40_000);
  await until("the orphan to go", () => !room.get(resources.pods, "orphan"));
  t.match(last.get("orphan")?.status, {
    phase: "Failed",
    conditions: [{ type: "DisruptionTarget", reason: "DeletionByPodGC", message: "PodGC: node no longer exists" }],
  });
  await room.delete(resources.pods, "cut-off");
  await room.patch(
    resources.nodes,
    "node",
    { status: { conditions: [{ type: "Ready", status: "Unknown" }] } },
    "status",
  );
  const taints = [{ key: "node.kubernetes.io/out-of-service", value: "nodeshutdown", effect: "NoExecute" }];
  await room.patch(resources.nodes, "node", { spec: { taints } });
  await clock.advance(20_000);
  await until("the pod that was cut off to go", () => !room.get(resources.pods, "cut-off"));
  t.ok(room.get(resources.pods, "fine"));
});
