// Each score on small clusters: which node it prefers, and by how much.

import t from "tap";
import type { Node, Pod } from "../kit/kube/objects/types.ts";
import { podWeight } from "../kit/kube/pod-requests.ts";
import { type ScorePlugin, skip } from "../kit/contracts/scheduling.ts";
import { availablePlugins, node, pod, snapshot } from "../../test/harness/scheduling.ts";

const { scores } = await availablePlugins();
const named = (name: string): ScorePlugin => scores.find((plugin) => plugin.name === name) as ScorePlugin;

/** The points of each node, in their order; undefined when the score has nothing to say. */
function points(
  plugin: ScorePlugin,
  incoming: Pod,
  nodes: Node[],
  bound: [Pod, string][] = [],
  lists: Readonly<Record<string, readonly object[]>> = {},
): number[] | undefined {
  const cluster = snapshot(nodes, bound, lists);
  const views = nodes.map(({ metadata }) => {
    const view = cluster.nodeNamed(metadata.name ?? "");
    if (!view) throw new Error("a node is missing");
    return view;
  });
  const prepared = plugin.prepare?.(incoming, cluster, views);
  if (prepared === skip) return undefined;
  const given = views.map((view) => plugin.score(incoming, view, prepared));
  plugin.normalize?.(given, prepared);
  return given;
}

const asking = (requests: Record<string, string>) => ({
  containers: [{ name: "c", image: "i", resources: { requests } }],
});
const withImages = (name: string, ...images: [name: string, megabytes: number][]): Node => {
  const made = node(name);
  (made.status as { images?: object[] }).images = images.map(([image, size]) => ({
    names: [image],
    sizeBytes: size * 1024 * 1024,
  }));
  return made;
};
const big = pod("big", asking({ cpu: "3", memory: "3Gi" }));
const small = pod("small", asking({ cpu: "1", memory: "1Gi" }));
const pair = [node("used"), node("free")];

t.test("LeastAllocated and MostAllocated judge the same shares from opposite sides", async (t) => {
  t.same(points(named("LeastAllocated"), small, pair, [[big, "used"]]), [0, 75]);
  t.same(points(named("MostAllocated"), small, pair, [[big, "used"]]), [100, 25]);
  const nothing = pod("nothing");
  const two = pod("two", { containers: ["c", "d"].map((name) => ({ name, image: "i" })) });
  // 100m of 4 cores and 200 MiB of 4 GiB for each container.
  t.same(
    points(named("LeastAllocated"), nothing, pair, [[two, "used"]]),
    [88, 96],
    "who asks for nothing counts a little",
  );
});

t.test("podWeight() fills in what containers do not say, in whatever shape the pod is", async (t) => {
  const requests = { cpu: "1" };
  const containers = [
    { name: "c", image: "i", resources: { requests } },
    { name: "d", image: "i" },
  ];
  const mebibyte = 1024 * 1024;
  t.same(Object.fromEntries(podWeight(pod("p", { containers }))), { cpu: 1100, memory: 400 * mebibyte });
  const sidecar = { name: "s", image: "i", restartPolicy: "Always" };
  const beside = podWeight(pod("p", { containers, initContainers: [sidecar], overhead: { cpu: "50m" } }));
  t.same(Object.fromEntries(beside), { cpu: 1250, memory: 600 * mebibyte });
});

t.test("BalancedAllocation prefers nodes whose CPU and memory fill alike", async (t) => {
  const greedy = pod("greedy", asking({ cpu: "2" }));
  const nodes = [node("plain"), node("memory-heavy")];
  const hoarder = pod("hoarder", asking({ memory: "2Gi" }));
  const [plain = 0, heavy = 0] = points(named("BalancedAllocation"), greedy, nodes, [[hoarder, "memory-heavy"]]) ?? [];
  t.equal(heavy, 100, "half of each");
  t.equal(plain, 75, "half of one, nothing of the other");
  t.same(points(named("BalancedAllocation"), pod("nothing"), nodes, [[hoarder, "memory-heavy"]]), [100, 75]);
  const three = named("BalancedAllocation").withArguments?.(
    { resources: [{ name: "cpu" }, { name: "memory", weight: 1 }, { name: "example.dev/gpu" }] },
    "here",
  ) as ScorePlugin;
  const card = { allocatable: { "example.dev/gpu": "4" } };
  const wants = pod("wants", asking({ cpu: "2", memory: "2Gi", "example.dev/gpu": "2" }));
  t.same(points(three, wants, [node("a", {}, card)]), [100], "half of all three");
  t.same(points(three, greedy, [node("a", {}, card)]), [75], "who asks for no card is not judged by cards");
});

t.test("ImageLocality prefers nodes that hold large images that many hold", async (t) => {
  const incoming = pod("p", { containers: [{ name: "c", image: "shop/cart" }] });
  const nodes = [withImages("has", ["shop/cart:latest", 1000]), node("has-not")];
  const [has = 0, hasNot = 0] = points(named("ImageLocality"), incoming, nodes) ?? [];
  t.equal(has, Math.floor((100 * (500 - 23)) / (1000 - 23)), "half of the nodes hold it, so it counts half");
  t.equal(hasNot, 0);
  const all = [withImages("a", ["shop/cart:latest", 2000]), withImages("b", ["shop/cart:latest", 2000])];
  t.same(points(named("ImageLocality"), incoming, all), [100, 100], "more than enough is enough");
  t.same(points(named("ImageLocality"), incoming, [withImages("a", ["shop/cart:latest", 10]), node("b")]), [0, 0]);
  t.equal(points(named("ImageLocality"), incoming, [node("a")]), undefined, "nobody has it");
  const tagged = pod("t", { containers: [{ name: "c", image: "host:5000/shop/cart" }] });
  const local = [withImages("a", ["host:5000/shop/cart:latest", 3000]), node("b")];
  t.same(points(named("ImageLocality"), tagged, local), [100, 0], "a port is no tag");
  const endless = pod("e", { containers: [{ name: "c", image: `${":".repeat(500_000)}/` }] });
  t.equal(points(named("ImageLocality"), endless, nodes), undefined, "an absurd name is only an unknown one");
});

t.test("NodeAffinity adds the weights of what a node matches", async (t) => {
  const prefers = (weight: number, key: string, value: string) => ({
    weight,
    preference: { matchExpressions: [{ key, operator: "In", values: [value] }] },
  });
  const terms = [prefers(60, "disk", "ssd"), prefers(20, "zone", "a")];
  const incoming = pod("p", {
    affinity: { nodeAffinity: { preferredDuringSchedulingIgnoredDuringExecution: terms } },
  });
  const nodes = [node("both", { disk: "ssd", zone: "a" }), node("one", { zone: "a" }), node("none")];
  t.same(points(named("NodeAffinity"), incoming, nodes), [100, 25, 0]);
  t.equal(points(named("NodeAffinity"), pod("q"), nodes), undefined);
});

t.test("TaintToleration prefers nodes with fewer taints that say better not", async (t) => {
  const taint = (key: string) => ({ key, effect: "PreferNoSchedule" });
  const nodes = [
    node("two", {}, { spec: { taints: [taint("a"), taint("b")] } }),
    node("one", {}, { spec: { taints: [taint("a")] } }),
    node("none"),
  ];
  t.same(points(named("TaintToleration"), pod("p"), nodes), [0, 50, 100]);
  const tolerant = pod("t", { tolerations: [{ key: "a", operator: "Exists" }] });
  t.same(points(named("TaintToleration"), tolerant, nodes), [0, 100, 100]);
  t.equal(points(named("TaintToleration"), pod("p"), [node("a")]), undefined);
});

t.test("NodeLabelPreference asks for a label or for its absence, in profiles that name it", async (t) => {
  const plugin = named("NodeLabelPreference");
  const nodes = [node("has", { rack: "1" }), node("has-not")];
  t.equal(points(plugin, pod("p"), nodes), undefined, "not without arguments");
  const presence = (wanted: boolean) =>
    plugin.withArguments?.({ label: "rack", presence: wanted }, "here") as ScorePlugin;
  t.same(points(presence(true), pod("p"), nodes), [100, 0]);
  t.same(points(presence(false), pod("p"), nodes), [0, 100]);
  t.throws(() => plugin.withArguments?.({ labels: "rack" }, "here"), { code: "invalid" });
});

t.test("PodTopologySpread weighs a key by its values among the nodes that are left", async (t) => {
  const web = { app: "web" };
  const constraint = (topologyKey: string) => ({
    maxSkew: 1,
    topologyKey,
    whenUnsatisfiable: "ScheduleAnyway",
    labelSelector: { matchLabels: web },
  });
  const incoming = pod("new", { topologySpreadConstraints: [constraint("zone"), constraint("rack")] }, web);
  const nodes = [
    node("a", { zone: "east", rack: "1" }),
    node("b", { zone: "west", rack: "2" }),
    node("c", { zone: "west" }),
  ];
  const at = (name: string) => pod(`on-${name}`, {}, web);
  t.same(points(named("PodTopologySpread"), incoming, nodes, [[at("a"), "a"]]), [0, 100, 0], "one lacks a key");
  t.same(
    points(named("PodTopologySpread"), incoming, nodes.slice(0, 2), [
      [at("a"), "a"],
      [pod("lost", {}, web), "c"],
    ]),
    [0, 100],
    "pods where the keys are not all there count nowhere",
  );
});

t.test("RequestedToCapacityRatio likes nodes as full as its shape says", async (t) => {
  const shape = [
    { utilization: 0, score: 0 },
    { utilization: 50, score: 10 },
    { utilization: 100, score: 5 },
  ];
  const told = (resources: object[]) =>
    named("RequestedToCapacityRatio").withArguments?.({ shape, resources }, "here") as ScorePlugin;
  t.equal(points(named("RequestedToCapacityRatio"), small, pair), undefined, "without arguments it says nothing");
  t.same(points(told([{ name: "cpu" }]), small, pair, [[big, "used"]]), [50, 50], "full, and a quarter");
  const odd = pod("odd", asking({ cpu: "2", memory: "1Gi" }));
  t.same(points(told([{ name: "cpu", weight: 3 }, { name: "memory" }]), odd, pair), [88, 88], "weighed, and rounded");
});

t.test("VolumeBinding likes volumes by the share of them that is asked for, where a shape is given", async (t) => {
  const shape = [
    { utilization: 0, score: 0 },
    { utilization: 100, score: 10 },
  ];
  const only = (name: string) => ({
    required: {
      nodeSelectorTerms: [{ matchExpressions: [{ key: "kubernetes.io/hostname", operator: "In", values: [name] }] }],
    },
  });
  const volume = (name: string, storage: string) => ({
    metadata: { name: `on-${name}` },
    spec: {
      capacity: { storage },
      accessModes: ["ReadWriteOnce"],
      storageClassName: "hand",
      nodeAffinity: only(name),
    },
    status: { phase: "Available" },
  });
  const lists = {
    storageclasses: [
      {
        metadata: { name: "hand" },
        provisioner: "kubernetes.io/no-provisioner",
        volumeBindingMode: "WaitForFirstConsumer",
      },
    ],
    persistentvolumeclaims: [
      {
        metadata: { namespace: "default", name: "c" },
        spec: {
          accessModes: ["ReadWriteOnce"],
          storageClassName: "hand",
          resources: { requests: { storage: "5Gi" } },
        },
      },
    ],
    persistentvolumes: [volume("used", "10Gi"), volume("free", "5Gi")],
  };
  const incoming = pod("p", { volumes: [{ name: "v", persistentVolumeClaim: { claimName: "c" } }] });
  const told = named("VolumeBinding").withArguments?.({ shape, bindTimeoutSeconds: 5 }, "here") as ScorePlugin;
  t.same(points(told, incoming, pair, [], lists), [50, 100]);
  t.equal(points(told, pod("none"), pair, [], lists), undefined);
  t.equal(points(named("VolumeBinding"), incoming, pair, [], lists), undefined);
});
