import t from "tap";
import type { Node, Service } from "../../../plugins/kit/kube/objects/types.ts";
import type { Endpoint } from "./desired.ts";
import { hintsFor } from "./hints.ts";

const node = (zone: string | undefined, cpu = "1", ready = "True", labels = {}): Node =>
  ({
    metadata: { labels: { ...(zone ? { "topology.kubernetes.io/zone": zone } : {}), ...labels } },
    status: { allocatable: { cpu }, conditions: [{ type: "Ready", status: ready }] },
  }) as unknown as Node;

/** Endpoints by the zones they are in; ids are a0, a1, b2 … */
const endpointsIn = (zones: string): Map<string, Endpoint> =>
  new Map(
    zones.split("").map((zone, index) => [
      `${zone}${index}`,
      {
        addresses: [`10.0.0.${index}`],
        conditions: { ready: zone !== "x", serving: true, terminating: false },
        ...(zone === "-" ? {} : { zone }),
      },
    ]),
  );

const service = (spec: object, annotations: object = {}): Service =>
  ({ metadata: { annotations }, spec }) as unknown as Service;
const auto = service({}, { "service.kubernetes.io/topology-mode": "Auto" });
const countsOf = (zones: ReadonlyMap<string, string>) =>
  Object.fromEntries([...Map.groupBy(zones.values(), (zone) => zone)].map(([zone, all]) => [zone, all.length]));

t.test(
  "hintsFor() gives none where nobody asks, and an endpoint's own zone where close ones are preferred",
  async (t) => {
    const nodes = () => [node("a"), node("b")];
    t.equal(hintsFor(service({}), endpointsIn("ab"), new Map(), nodes).zones.size, 0);
    const close = hintsFor(service({ trafficDistribution: "PreferClose" }), endpointsIn("abx-"), new Map(), nodes);
    t.same(
      [...close.zones],
      [
        ["a0", "a"],
        ["b1", "b"],
      ],
    );
  },
);

t.test("hintsFor() shares endpoints out over the zones by their CPU", async (t) => {
  const rows = [
    { name: "as they are", nodes: [node("a"), node("b")], endpoints: "aabb", counts: { a: 2, b: 2 } },
    { name: "given away", nodes: [node("a"), node("b")], endpoints: "aaab", counts: { a: 2, b: 2 } },
    { name: "by size", nodes: [node("a", "3"), node("b", "1")], endpoints: "aabb", counts: { a: 3, b: 1 } },
    {
      name: "a zone without nodes gives all",
      nodes: [node("a"), node("b")],
      endpoints: "abcc",
      counts: { a: 2, b: 2 },
    },
    {
      name: "nodes that are not ready, and those of the control plane, do not count",
      nodes: [
        node("a"),
        node("b"),
        node("b", "8", "False"),
        node("a", "8", "True", { "node-role.kubernetes.io/control-plane": "" }),
      ],
      endpoints: "aabb",
      counts: { a: 2, b: 2 },
    },
  ];
  for (const { name, nodes, endpoints, counts } of rows)
    t.same(countsOf(hintsFor(auto, endpointsIn(endpoints), new Map(), () => nodes).zones), counts, name);
});

t.test("hintsFor() keeps hints that are still good enough", async (t) => {
  const endpoints = endpointsIn("aabb");
  const before = new Map([
    ["a0", "b"],
    ["a1", "a"],
    ["b2", "a"],
    ["b3", "b"],
  ]);
  t.same(hintsFor(auto, endpoints, before, () => [node("a"), node("b")]).zones, before);
  const onesided = new Map([...endpoints.keys()].map((id) => [id, "a"]));
  t.same(countsOf(hintsFor(auto, endpoints, onesided, () => [node("a"), node("b")]).zones), { a: 2, b: 2 });
});

t.test("hintsFor() says why there are none", async (t) => {
  const rows = [
    { why: /^Insufficient Node information/, nodes: [node("a"), node("a")], endpoints: "aaa" },
    { why: /^Insufficient Node information/, nodes: [node("a"), node(undefined), node("b")], endpoints: "abab" },
    {
      why: /^Insufficient number of endpoints \(1 endpoints, 2 zones\)$/,
      nodes: [node("a"), node("b")],
      endpoints: "a",
    },
    {
      why: /^Unable to allocate minimum required endpoints .* \(3 endpoints, 2 zones\)$/,
      nodes: [node("a"), node("b")],
      endpoints: "aab",
    },
    { why: /^One or more endpoints do not have a zone specified$/, nodes: [node("a"), node("b")], endpoints: "aab-" },
  ];
  for (const { why, nodes, endpoints } of rows) {
    const hints = hintsFor(auto, endpointsIn(endpoints), new Map(), () => nodes);
    t.match(hints.why, why);
    t.equal(hints.zones.size, 0);
  }
});
