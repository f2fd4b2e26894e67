// Filters that look at single facts of nodes: ports, cordons, taints, and the labels that a profile names.

import t from "tap";
import type { Node, Pod } from "../kit/kube/objects/types.ts";
import { type FilterPlugin, type NodeView, skip } from "../kit/contracts/scheduling.ts";
import { availablePlugins, node, pod, snapshot } from "../../test/harness/scheduling.ts";

const { filters } = await availablePlugins();
const named = (name: string): FilterPlugin => filters.find((plugin) => plugin.name === name) as FilterPlugin;

/** Why each node is refused, in their order; an empty text where it is not. */
function refusals(
  plugin: FilterPlugin,
  incoming: Pod,
  nodes: Node[],
  bound: [Pod, string][] = [],
  services: object[] = [],
): string[] {
  const cluster = snapshot(nodes, bound, { services });
  const prepared = plugin.prepare?.(incoming, cluster);
  return nodes.map(({ metadata }) => {
    const at = cluster.nodeNamed(metadata.name ?? "");
    if (!at) throw new Error("a node is missing");
    return prepared === skip ? "" : (plugin.filter(incoming, at, prepared)?.reasons[0] ?? "");
  });
}

const port = (name: string, more: object) =>
  pod(name, { containers: [{ name: "c", image: "i", ports: [{ containerPort: 80, hostPort: 80, ...more }] }] });
const two = [node("a"), node("b")];

t.test("NodePorts refuses a port that is taken, on that address and for that protocol", async (t) => {
  const why = "node(s) didn't have free ports for the requested pod ports";
  const ask = (incoming: Pod, there: Pod) => refusals(named("NodePorts"), incoming, two, [[there, "a"]]);
  t.same(ask(port("p", {}), port("q", {})), [why, ""]);
  t.same(ask(port("p", { protocol: "UDP" }), port("q", {})), ["", ""]);
  t.same(ask(port("p", { hostIP: "10.0.0.1" }), port("q", { hostIP: "10.0.0.2" })), ["", ""]);
  t.same(ask(port("p", { hostIP: "10.0.0.1" }), port("q", { hostIP: "0.0.0.0" })), [why, ""]);
  t.same(ask(port("p", {}), port("q", { hostIP: "10.0.0.2" })), [why, ""], "every address is wanted");
});

t.test("NodeUnschedulable and TaintToleration refuse what is not tolerated", async (t) => {
  const cordoned = node("a", {}, { spec: { unschedulable: true } });
  t.same(refusals(named("NodeUnschedulable"), pod("p"), [cordoned, node("b")]), ["node(s) were unschedulable", ""]);
  const any = pod("q", { tolerations: [{ operator: "Exists" }] });
  t.same(refusals(named("NodeUnschedulable"), any, [cordoned]), [""]);
  const taints = [
    { key: "soft", effect: "PreferNoSchedule" },
    { key: "hard", value: "yes", effect: "NoSchedule" },
  ];
  const tainted = node("a", {}, { spec: { taints } });
  t.same(refusals(named("TaintToleration"), pod("p"), [tainted]), ["node(s) had untolerated taint {hard: yes}"]);
  const tolerant = pod("r", { tolerations: [{ key: "hard", operator: "Equal", value: "yes" }] });
  t.same(refusals(named("TaintToleration"), tolerant, [tainted]), [""]);
});

t.test("NodeLabelPresence asks for labels or for their absence, whatever their values", async (t) => {
  const plugin = named("NodeLabelPresence");
  const nodes = [node("both", { rack: "1", disk: "" }), node("one", { rack: "2" }), node("none")];
  t.same(refusals(plugin, pod("p"), nodes), ["", "", ""], "not without arguments");
  const why = "node(s) didn't have the requested labels";
  const wanting = (presence: boolean) =>
    plugin.withArguments?.({ labels: ["rack", "disk"], presence }, "here") as FilterPlugin;
  t.same(refusals(wanting(true), pod("p"), nodes), ["", why, why]);
  t.same(refusals(wanting(false), pod("p"), nodes), [why, why, ""]);
  t.throws(() => plugin.withArguments?.({ labels: "rack" }, "here"), { code: "invalid" });
});

t.test("ServiceAffinity keeps the pods of a service where its first one is", async (t) => {
  const nodes = [node("a1", { zone: "a" }), node("a2", { zone: "a" }), node("b1", { zone: "b" })];
  const plugin = named("ServiceAffinity").withArguments?.({ labels: ["zone"] }, "here") as FilterPlugin;
  const service = { metadata: { name: "web", namespace: "default" }, spec: { selector: { app: "web" } } };
  const web = (name: string, spec: object = {}) => pod(name, spec, { app: "web" });
  const why = "node(s) didn't match service affinity";
  const first: [Pod, string][] = [[web("w1"), "a1"]];
  t.same(refusals(plugin, web("w2"), nodes, first, [service]), ["", "", why]);
  t.same(refusals(plugin, web("w2"), nodes, [], [service]), ["", "", ""], "the first is free");
  t.same(refusals(plugin, pod("other", {}, { app: "db" }), nodes, first, [service]), ["", "", ""]);
  const own = web("w3", { nodeSelector: { zone: "b" } });
  t.same(refusals(plugin, own, nodes, first, [service]), [why, why, ""], "what the pod says itself holds");
});

t.test(
  "NodeAffinity adds what the profile requires of every pod, and NodeResourcesFit leaves out what others count",
  async (t) => {
    const terms = [{ matchExpressions: [{ key: "pool", operator: "In", values: ["blue"] }] }];
    const addedAffinity = { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: terms } };
    const told = named("NodeAffinity").withArguments?.({ addedAffinity }, "here") as FilterPlugin;
    const incoming = pod("p");
    t.equal(
      told.prepare?.(incoming, snapshot([])),
      undefined,
      "it has something to say of a pod that asks for nothing",
    );
    const [blue, red] = snapshot([node("a", { pool: "blue" }), node("b")]).nodes;
    t.equal(told.filter(incoming, blue as NodeView, undefined), undefined);
    t.match(told.filter(incoming, red as NodeView, undefined), {
      reasons: ["node(s) didn't match scheduler-enforced node affinity"],
      final: true,
    });
    const requests = { "example.dev/gpu": "1", "other.example/disk": "1", "hugepages-2Mi": "2Mi" };
    const greedy = pod("greedy", { containers: [{ name: "c", image: "i", resources: { requests } }] });
    const fit = (args?: object) => {
      const filter = named("NodeResourcesFit");
      const own = args ? (filter.withArguments?.(args, "here") as FilterPlugin) : filter;
      return own.filter(greedy, blue as NodeView, own.prepare?.(greedy, snapshot([])))?.reasons.length;
    };
    t.equal(fit(), 3);
    t.equal(fit({ ignoredResources: ["example.dev/gpu"] }), 2);
    t.equal(fit({ ignoredResourceGroups: ["example.dev", "other.example"] }), 1);
    t.equal(fit({ ignoredResources: ["hugepages-2Mi"] }), 3, "only extended resources can be ignored");
  },
);
