import t from "tap";
import { FakeClock } from "../../../plugins/kit/base/clock.ts";
import { resources } from "../../../plugins/kit/kube/objects/resources.ts";
import type { Node } from "../../../plugins/kit/kube/objects/types.ts";
import type { Json } from "../../../test/harness/api-server.ts";
import { controllerRoom, podTemplate, readyNode } from "../../../test/harness/controllers.ts";
import { until } from "../../../test/harness/until.ts";
import { msTolerated } from "../taint-eviction/tolerance.ts";
import { paceOf, zoneState } from "./zones.ts";

const node = (name: string, status: string, zone = "z"): Node =>
  readyNode(name, {
    labels: { "topology.kubernetes.io/zone": zone },
    status: { conditions: [{ type: "Ready", status }] },
  });
const some = (count: number, status: string, zone?: string) =>
  Array.from({ length: count }, (_, index) => node(`${zone}${status}${index}`, status, zone));

t.test("zoneState() and paceOf() slow down when many nodes are hit", async (t) => {
  t.equal(zoneState(some(3, "True")), "normal");
  t.equal(zoneState([...some(1, "Unknown"), ...some(1, "True")]), "normal");
  t.equal(zoneState([...some(6, "Unknown"), ...some(4, "True")]), "partial");
  t.equal(zoneState(some(2, "Unknown")), "full");
  t.equal(paceOf("/z", [...some(1, "Unknown"), ...some(5, "True")]), 10_000);
  t.equal(paceOf("/z", some(3, "Unknown")), "lift", "all silent: nobody is moved");
  t.equal(paceOf("/z", [...some(6, "Unknown"), ...some(4, "True")]), "halt", "a small zone half gone");
  t.equal(paceOf("/z", [...some(60, "Unknown"), ...some(40, "True")]), 100_000, "a large one goes slowly");
  t.equal(paceOf("/z", [...some(3, "Unknown"), ...some(1, "True", "other")]), 10_000, "one of two zones");
});

t.test("msTolerated() is the shortest of the tolerations that are used", async (t) => {
  const taint = (key: string, effect = "NoExecute") => ({ key, effect }) as never;
  const tolerate = (key: string, tolerationSeconds?: number) =>
    ({
      key,
      operator: "Exists",
      effect: "NoExecute",
      ...(tolerationSeconds === undefined ? {} : { tolerationSeconds }),
    }) as never;
  t.equal(msTolerated([taint("a")], []), 0);
  t.equal(msTolerated([taint("a", "NoSchedule")], []), undefined);
  t.equal(msTolerated([taint("a")], [tolerate("a")]), undefined);
  t.equal(msTolerated([taint("a"), taint("b")], [tolerate("a", 300), tolerate("b", 10)]), 10_000);
  t.equal(msTolerated([taint("a"), taint("b")], [tolerate("a", 300)]), 0);
  t.equal(msTolerated([taint("a")], [tolerate("a", -5)]), 0);
});

const unreachable = (tolerationSeconds: number) => ({
  key: "node.kubernetes.io/unreachable",
  operator: "Exists",
  effect: "NoExecute",
  tolerationSeconds,
});

const microTime = (ms: number): string => new Date(ms).toISOString().replace("Z", "000Z");

const lease = (name: string, renewTime: string) => ({
  metadata: { name, namespace: "kube-node-lease" },
  spec: { holderIdentity: name, leaseDurationSeconds: 40, renewTime },
});

t.test("a node that falls silent is marked, its pods stop serving and move away in time", async (t) => {
  const clock = new FakeClock(Date.now());
  const room = await controllerRoom(t, ["node-controller"], { clock, nodes: ["a", "b"], kubelet: false });
  for (const name of ["a", "b"]) await room.create(resources.leases, lease(name, microTime(clock.now())));
  const tolerations = ["not-ready", "unreachable"].map((key) => ({
    key: `node.kubernetes.io/${key}`,
    operator: "Exists",
    effect: "NoExecute",
    tolerationSeconds: 300,
  }));
  for (const [name, nodeName] of [
    ["lost", "a"],
    ["kept", "b"],
  ] as const) {
    await room.create(resources.pods, {
      ...podTemplate({}, { nodeName, tolerations: name === "lost" ? tolerations : [] }),
      metadata: { name },
    });
    await room.patch(
      resources.pods,
      name,
      { status: { phase: "Running", conditions: [{ type: "Ready", status: "True" }] } },
      "status",
    );
  }
  const live = async () => {
    const renewTime = microTime(clock.now());
    await room.patch(resources.leases, "b", { spec: { renewTime } }, undefined, "kube-node-lease");
  };
  for (let second = 0; second < 60; second += 10) {
    await clock.advance(10_000);
    await live();
  }
  const ready = (object: Json) => object.status.conditions.find(({ type }: Json) => type === "Ready").status;
  await room.until(resources.nodes, "a", (one) => ready(one) === "Unknown");
  t.equal(ready(room.get(resources.nodes, "b")), "True");
  await room.until(resources.pods, "lost", (one) => ready(one) === "False");
  const has = (effect: string) => (one: Json) =>
    one.spec.taints?.some((taint: Json) => taint.key === "node.kubernetes.io/unreachable" && taint.effect === effect);
  await room.until(resources.nodes, "a", has("NoExecute"));
  await room.until(resources.nodes, "a", has("NoSchedule"));
  t.notOk(room.get(resources.pods, "lost").metadata.deletionTimestamp);
  for (let second = 0; second < 310; second += 20) {
    await clock.advance(20_000);
    await live();
  }
  const lost = await room.until(resources.pods, "lost", ({ metadata }) => metadata.deletionTimestamp);
  t.match(lost.status.conditions, [{ type: "DisruptionTarget", reason: "DeletionByTaintManager" }, {}]);
  t.notOk(room.get(resources.pods, "kept").metadata.deletionTimestamp);
  // The kubelet is back: it says so itself, and the taints go.
  await room.patch(
    resources.nodes,
    "a",
    {
      status: {
        conditions: [{ type: "Ready", status: "True", lastHeartbeatTime: new Date(clock.now()).toISOString() }],
      },
    },
    "status",
  );
  await room.until(resources.nodes, "a", ({ spec }) => !spec.taints?.length);
});

t.test("an outage of a zone moves pods slowly or not at all, one of everything spares them", async (t) => {
  const clock = new FakeClock(Date.now());
  const room = await controllerRoom(t, ["node-controller"], { clock, nodes: [], kubelet: false });
  const zones = { east: ["e1", "e2", "e3", "e4"], west: ["w1", "w2", "w3"] };
  const alive = new Set([...zones.east, ...zones.west]);
  for (const [zone, names] of Object.entries(zones))
    for (const name of names) {
      const labels = { "topology.kubernetes.io/zone": zone };
      await room.create(resources.nodes, readyNode(name, { labels }));
      await room.create(resources.leases, lease(name, microTime(clock.now())));
      const template = podTemplate({}, { nodeName: name, tolerations: [unreachable(120)] });
      await room.create(resources.pods, { ...template, metadata: { name: `on-${name}` } });
    }
  const taintOf = (name: string) =>
    room.get(resources.nodes, name).spec.taints?.find((taint: Json) => taint.effect === "NoExecute");
  const tainted = () => [...zones.east, ...zones.west].filter((name) => taintOf(name));
  const unknown = () =>
    room.list(resources.nodes).filter(({ status }) => status.conditions.some((one: Json) => one.status === "Unknown"))
      .length;
  const beat = async () => {
    const renewTime = microTime(clock.now());
    for (const name of alive)
      await room.patch(resources.leases, name, { spec: { renewTime } }, undefined, "kube-node-lease");
  };
  /** Time goes by in steps, those who live say so, and the controllers come to rest after each. */
  const pass = async (seconds: number) => {
    for (let second = 0; second < seconds; second += 5) {
      await beat();
      await clock.advance(5000);
      for (let turn = 0; turn < 30; turn++) await new Promise((resolve) => setImmediate(resolve));
    }
  };
  const passUntil = async (what: string, is: () => boolean) => {
    for (let tries = 0; tries < 60 && !is(); tries++) await pass(5);
    t.ok(is(), what);
  };
  const silence = (...names: string[]) => names.forEach((name) => alive.delete(name));
  const revive = async (...names: string[]) => {
    for (const name of names) {
      alive.add(name);
      const lastHeartbeatTime = new Date(clock.now()).toISOString();
      const conditions = [{ type: "Ready", status: "True", lastHeartbeatTime }];
      await room.patch(resources.nodes, name, { status: { conditions } }, "status");
    }
  };

  await pass(60);
  t.strictSame(tainted(), [], "while all speak nobody is tainted");

  silence("e1");
  await passUntil("a single node is tainted", () => tainted().join() === "e1");

  silence("e2", "e3");
  await passUntil("three of four are silent", () => unknown() === 3);
  const halted = tainted();
  await pass(120);
  t.strictSame(tainted(), halted, "no further node of a small zone that is mostly gone is tainted");
  t.ok(halted.includes("e1") && halted.length < 3, `those that were stay so: ${halted.join(", ")}`);

  silence("e4");
  await passUntil("a zone that is gone is given up", () => tainted().length === 4);
  const times = zones.east.map((name) => Date.parse(taintOf(name).timeAdded)).sort((a, b) => a - b);
  const gaps = times.slice(1).map((time, index) => time - (times[index] ?? 0));
  t.ok(
    gaps.every((gap) => gap >= 9000),
    `one node every ten seconds: ${gaps.join(", ")} ms`,
  );

  silence(...zones.west);
  await passUntil("with nobody left who speaks, all taints go", () => unknown() === 7 && tainted().length === 0);
  const gone = () => room.list(resources.pods).filter(({ metadata }) => metadata.deletionTimestamp);
  const before = gone().map(({ metadata }) => metadata.name);
  await pass(300);
  t.strictSame(tainted(), [], "and none comes");
  t.strictSame(
    gone().map(({ metadata }) => metadata.name),
    before,
    "nor is a pod moved, however long it lasts",
  );

  await revive(...zones.west);
  await passUntil("once a zone is back the other is given up again", () => tainted().join() === zones.east.join());
  await passUntil("and its pods move when they no longer tolerate it", () =>
    zones.east.every((name) => room.get(resources.pods, `on-${name}`).metadata.deletionTimestamp),
  );
  t.ok(
    zones.west.every((name) => !room.get(resources.pods, `on-${name}`).metadata.deletionTimestamp),
    "those of the zone that came back stay",
  );
});

t.test("it is told of nodes that come and go", async (t) => {
  const room = await controllerRoom(t, ["node-controller"], { nodes: ["a"], kubelet: false });
  const told = (reason: string) => room.list(resources.events).find((event) => event.reason === reason);
  await until("the node to be registered", async () => told("RegisteredNode"));
  const { uid } = room.get(resources.nodes, "a").metadata;
  await room.delete(resources.nodes, "a");
  await until("the node to be forgotten", async () => told("RemovingNode"));
  t.match(told("RegisteredNode"), {
    message: "Node a event: Registered Node a in Controller",
    involvedObject: { kind: "Node", name: "a", uid },
    source: { component: "node-controller" },
  });
  t.match(told("RemovingNode"), { message: "Node a event: Removing Node a from Controller", involvedObject: { uid } });
});
