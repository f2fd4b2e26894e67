import t from "tap";
import { resources } from "../../../plugins/kit/kube/objects/resources.ts";
import type { Node, Pod } from "../../../plugins/kit/kube/objects/types.ts";
import type { Json } from "../../../test/harness/api-server.ts";
import { controllerRoom, podTemplate, readyNode } from "../../../test/harness/controllers.ts";
import type { DaemonSet } from "./objects.ts";
import { nodeOf } from "./placement.ts";
import { planDaemons } from "./plan.ts";

const nodes = (...names: string[]): Node[] => names.map((name) => readyNode(name));
const pod = (
  node: string,
  how: { old?: boolean; ready?: boolean; phase?: string; going?: boolean; name?: string } = {},
): Pod =>
  ({
    metadata: {
      name: how.name ?? `${how.old ? "old" : "new"}-${node}`,
      labels: { "controller-revision-hash": how.old ? "old" : "new" },
      ...(how.going ? { deletionTimestamp: "2026-01-01T00:00:00Z" } : {}),
    },
    spec: { nodeName: node },
    status: {
      phase: how.phase ?? "Running",
      conditions: [{ type: "Ready", status: how.ready === false ? "False" : "True" }],
    },
  }) as unknown as Pod;
const set = (spec: Partial<DaemonSet["spec"]> = {}): DaemonSet => ({
  metadata: { name: "d" },
  spec: { template: {}, ...spec },
});
const rolling = (rollingUpdate: object) => set({ updateStrategy: { type: "RollingUpdate", rollingUpdate } });

t.test("planDaemons() has one pod on each node that fits and updates within its limits", async (t) => {
  const tainted = readyNode("b", { spec: { taints: [{ key: "x", effect: "NoExecute" }] } });
  const cordoned = readyNode("b", {
    spec: { unschedulable: true, taints: [{ key: "node.kubernetes.io/unschedulable", effect: "NoSchedule" }] },
  });
  const busy = readyNode("b", { spec: { taints: [{ key: "x", effect: "NoSchedule" }] } });
  const rows: { name: string; set: DaemonSet; nodes: Node[]; pods: Pod[]; create?: string[]; remove?: string[] }[] = [
    { name: "everywhere", set: set(), nodes: nodes("a", "b"), pods: [pod("a")], create: ["b"] },
    { name: "a cordoned node too", set: set(), nodes: [...nodes("a"), cordoned], pods: [pod("a")], create: ["b"] },
    {
      name: "not where a taint forbids",
      set: set(),
      nodes: [...nodes("a"), tainted],
      pods: [pod("a"), pod("b")],
      remove: ["new-b"],
    },
    { name: "what runs may stay on a NoSchedule taint", set: set(), nodes: [busy], pods: [pod("b")] },
    {
      name: "one is enough",
      set: set(),
      nodes: nodes("a"),
      pods: [pod("a", { name: "x" }), pod("a", { name: "y" })],
      remove: ["y"],
    },
    { name: "wait for one that goes", set: set(), nodes: nodes("a"), pods: [pod("a", { going: true })] },
    {
      name: "one at a time",
      set: set(),
      nodes: nodes("a", "b"),
      pods: [pod("a", { old: true }), pod("b", { old: true })],
      remove: ["old-a"],
    },
    {
      name: "as many as may be unavailable",
      set: rolling({ maxUnavailable: "50%" }),
      nodes: nodes("a", "b", "c", "d"),
      pods: ["a", "b", "c", "d"].map((name) => pod(name, { old: true })),
      remove: ["old-a", "old-b"],
    },
    {
      name: "an update that does not come up holds the rest",
      set: set(),
      nodes: nodes("a", "b"),
      pods: [pod("a", { ready: false }), pod("b", { old: true })],
    },
    {
      name: "broken old ones need no leave",
      set: set(),
      nodes: nodes("a", "b"),
      pods: [pod("a", { old: true, ready: false }), pod("b", { ready: false })],
      remove: ["old-a"],
    },
    {
      name: "surge makes the new one first",
      set: rolling({ maxSurge: 1, maxUnavailable: 0 }),
      nodes: nodes("a", "b"),
      pods: [pod("a", { old: true }), pod("b", { old: true })],
      create: ["a"],
    },
    {
      name: "and then takes the old one",
      set: rolling({ maxSurge: 1, maxUnavailable: 0 }),
      nodes: nodes("a", "b"),
      pods: [pod("a", { old: true }), pod("a"), pod("b", { old: true })],
      remove: ["old-a"],
    },
    {
      name: "on delete",
      set: set({ updateStrategy: { type: "OnDelete" } }),
      nodes: nodes("a"),
      pods: [pod("a", { old: true })],
    },
  ];
  for (const row of rows) {
    const plan = planDaemons({ set: row.set, nodes: row.nodes, pods: row.pods, hash: "new", now: 0 });
    t.same(
      [plan.create, plan.remove.map(({ metadata }) => metadata.name)],
      [row.create ?? [], row.remove ?? []],
      row.name,
    );
  }
});

const object = (name: string, spec: Json = {}): Json => ({
  metadata: { name },
  spec: { selector: { matchLabels: { app: name } }, template: podTemplate({ app: name }), ...spec },
});

t.test("daemonSetController() follows nodes and rolls a new template out", async (t) => {
  const room = await controllerRoom(t, ["daemon-set-controller"], { nodes: ["a", "b", "c"] });
  await room.create(resources.daemonsets, object("agent"));
  await room.until(resources.daemonsets, "agent", ({ status }) => status?.numberAvailable === 3);
  t.same(
    room
      .pods()
      .map(nodeOf)
      .sort((a, b) => ((a ?? "") < (b ?? "") ? -1 : 1)),
    ["a", "b", "c"],
  );
  await room.create(resources.nodes, readyNode("d"));
  await room.until(resources.daemonsets, "agent", ({ status }) => status?.numberAvailable === 4);
  const before = new Set(room.pods().map((one) => one.metadata.uid));
  await room.patch(resources.daemonsets, "agent", { spec: { template: { metadata: { labels: { v: "2" } } } } });
  await room.until(
    resources.daemonsets,
    "agent",
    ({ status, metadata }) =>
      status.updatedNumberScheduled === 4 &&
      status.numberAvailable === 4 &&
      status.observedGeneration === metadata.generation,
  );
  t.ok(room.pods().every((one) => !before.has(one.metadata.uid)));
  const created = room.list(resources.events).find(({ reason }) => reason === "SuccessfulCreate");
  t.equal(created?.source.component, "daemonset-controller", "events are signed as upstream signs them");
  t.same(
    room
      .list(resources.controllerrevisions)
      .map(({ revision }) => revision)
      .sort((a, b) => a - b),
    [1, 2],
  );
});

t.test("daemonSetController() replaces a failed daemon, later each time", async (t) => {
  let fails = true;
  const room = await controllerRoom(t, ["daemon-set-controller"], {
    outcome: () => (fails ? { exitCode: 1 } : "ready"),
  });
  await room.create(resources.daemonsets, object("agent"));
  await room.untilEvent("FailedDaemonPod");
  fails = false;
  await room.until(resources.daemonsets, "agent", ({ status }) => status?.numberAvailable === 1);
});

t.test("daemonSetController() makes the new pod beside the old one when it may surge", async (t) => {
  const room = await controllerRoom(t, ["daemon-set-controller"], { nodes: ["a", "b"] });
  await room.create(
    resources.daemonsets,
    object("agent", { updateStrategy: { type: "RollingUpdate", rollingUpdate: { maxSurge: 1, maxUnavailable: 0 } } }),
  );
  await room.until(resources.daemonsets, "agent", ({ status }) => status?.numberAvailable === 2);
  let least = 2;
  const stop = room.api.server.informers.for<DaemonSet>(resources.daemonsets).onEvent(({ object: { status } }) => {
    least = Math.min(least, status?.numberAvailable ?? 0);
  });
  await room.patch(resources.daemonsets, "agent", { spec: { template: { metadata: { labels: { v: "2" } } } } });
  await room.until(
    resources.daemonsets,
    "agent",
    ({ status }) => status.updatedNumberScheduled === 2 && room.pods().length === 2,
  );
  stop();
  t.equal(least, 2, "no node was ever without");
});
