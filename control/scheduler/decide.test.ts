import t from "tap";
import { noLog } from "../../plugins/kit/base/log.ts";
import { systemClock } from "../../plugins/kit/base/clock.ts";
import type { Node, Pod } from "../../plugins/kit/kube/objects/types.ts";
import type { FilterPlugin, ScorePlugin } from "../../plugins/kit/contracts/scheduling.ts";
import type { Plugin } from "../../plugins/kit/base/plugin.ts";
import { filters } from "../../plugins/filter/index.ts";
import { scores } from "../../plugins/score/index.ts";
import { decide, enoughNodes } from "./decide.ts";
import { describeFit } from "./fit-error.ts";
import type { Profile } from "./profile.ts";
import { Snapshot } from "./snapshot.ts";

const host = {
  settings: undefined,
  log: noLog,
  clock: systemClock,
  stateDir: "/nonexistent",
  all: () => [],
  onClose: () => {},
};
const uninterrupted = { signal: new AbortController().signal };
const opened = async <T>(plugin: Plugin<T>) => plugin.open(host as never, uninterrupted);
const profile: Profile = {
  schedulerName: "default-scheduler",
  filters: (await Promise.all(filters.map((plugin) => opened<FilterPlugin>(plugin)))) as FilterPlugin[],
  scores: (await Promise.all(scores.map((plugin) => opened<ScorePlugin>(plugin)))).map((plugin) => ({
    plugin,
    weight: plugin.weight,
  })),
};

function node(name: string, spec: Partial<Node["spec"]> = {}, labels: Record<string, string> = {}): Node {
  return {
    apiVersion: "v1",
    kind: "Node",
    metadata: { name, labels },
    spec: spec as Node["spec"],
    status: { allocatable: { cpu: "2", memory: "1Gi", pods: "3" } },
  } as Node;
}

function pod(name: string, spec: object = {}): Pod {
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { namespace: "default", name, uid: `uid-${name}` },
    spec: { containers: [{ name: "c", image: "i" }], ...spec },
  } as unknown as Pod;
}

const asking = (cpu: string) => ({ containers: [{ name: "c", image: "i", resources: { requests: { cpu } } }] });

function cluster(nodes: Node[], bound: [Pod, string][] = []): Snapshot {
  const snapshot = new Snapshot({ list: () => [], get: () => undefined });
  for (const item of nodes) snapshot.setNode(item);
  for (const [item, where] of bound) snapshot.assume(item, where);
  return snapshot;
}

const options = { startAt: 0, random: () => 0.99 };

t.test("decide() picks the emptier node", async (t) => {
  const decision = decide(
    pod("p"),
    cluster([node("a"), node("b")], [[pod("q", asking("1500m")), "a"]]),
    profile,
    options,
  );
  t.match(decision, { node: { name: "b" } });
});

t.test("decide() says in upstream's words why no node will do", async (t) => {
  const rows = [
    {
      name: "cpu, taint, cordon and selector",
      nodes: [
        node("a"),
        node("b", { taints: [{ key: "k", value: "v", effect: "NoSchedule" }] }),
        node("c", { unschedulable: true }),
      ],
      pod: pod("p", asking("4")),
      message:
        "0/3 nodes are available: 1 Insufficient cpu, 1 node(s) had untolerated taint {k: v}, 1 node(s) were unschedulable.",
    },
    { name: "no nodes", nodes: [], pod: pod("p"), message: "no nodes available to schedule pods" },
    {
      name: "selector",
      nodes: [node("a")],
      pod: pod("p", { nodeSelector: { disk: "ssd" } }),
      message: "0/1 nodes are available: 1 node(s) didn't match Pod's node affinity/selector.",
    },
  ];
  for (const row of rows) {
    const decision = decide(row.pod, cluster(row.nodes), profile, options);
    t.ok("fitError" in decision, row.name);
    if ("fitError" in decision) t.equal(describeFit(decision.fitError), row.message, row.name);
  }
});

t.test("decide() counts pods, host ports and assumed pods", async (t) => {
  const port = { containers: [{ name: "c", image: "i", ports: [{ containerPort: 80, hostPort: 8080 }] }] };
  const full = cluster(
    [node("a")],
    [
      [pod("1"), "a"],
      [pod("2"), "a"],
      [pod("3"), "a"],
    ],
  );
  t.match(decide(pod("p"), full, profile, options), { fitError: { countByReason: new Map([["Too many pods", 1]]) } });
  const busy = cluster([node("a")], [[pod("1", port), "a"]]);
  t.ok("fitError" in decide(pod("p", port), busy, profile, options), "same host port");
  busy.forget("uid-1");
  t.match(
    decide(pod("p", port), busy, profile, options),
    { node: { name: "a" } },
    "freed when the assumption is forgotten",
  );
});

t.test("enoughNodes() looks at every node of a small cluster and at a share of a large one", async (t) => {
  t.same(
    [5, 100, 1000, 5000].map((count) => enoughNodes(count)),
    [5, 100, 420, 500],
  );
  t.same([enoughNodes(1000, 30), enoughNodes(1000, 5), enoughNodes(50, 10)], [300, 100, 50], "as a profile says");
});

t.test("decide() takes the node that was promised, when it fits", async (t) => {
  const two = cluster([node("a"), node("b")], [[pod("1"), "b"]]);
  for (const first of ["a", "b"])
    t.match(decide(pod("p"), two, profile, { ...options, first }), { node: { name: first }, feasible: 1 });
  t.match(decide(pod("p"), two, profile, { ...options, first: "gone" }), { node: { name: /^[ab]$/ } });
});
