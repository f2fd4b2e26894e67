import t from "tap";
import { firstRefusal, prepareFilters } from "../../control/scheduler/decide.ts";
import type { Node, Pod } from "../kit/kube/objects/types.ts";
import { defaultProfile, node, pod, snapshot } from "../../test/harness/scheduling.ts";

const profile = await defaultProfile();
const zones = [node("a1", { zone: "a" }), node("a2", { zone: "a" }), node("b1", { zone: "b" }), node("nowhere")];
const term = (app: string, topologyKey = "zone", more: object = {}) => ({
  topologyKey,
  labelSelector: { matchLabels: { app } },
  ...more,
});
const near = (...terms: object[]) => ({
  affinity: { podAffinity: { requiredDuringSchedulingIgnoredDuringExecution: terms } },
});
const far = (...terms: object[]) => ({
  affinity: { podAntiAffinity: { requiredDuringSchedulingIgnoredDuringExecution: terms } },
});
const web = pod("web", {}, { app: "web" });

/** Every node that no filter refuses. */
function feasible(incoming: Pod, nodes: readonly Node[], bound: [Pod, string][] = []): string[] {
  const cluster = snapshot(nodes, bound);
  const prepared = prepareFilters(incoming, cluster, profile.filters);
  if (!Array.isArray(prepared)) return [];
  return cluster.nodes.filter((candidate) => !firstRefusal(incoming, candidate, prepared)).map(({ name }) => name);
}

t.test("InterPodAffinity", async (t) => {
  const rows: { name: string; pod: Pod; bound?: [Pod, string][]; expected: string[] }[] = [
    {
      name: "near a pod: its whole zone",
      pod: pod("p", near(term("web"))),
      bound: [[web, "a1"]],
      expected: ["a1", "a2"],
    },
    { name: "near a pod that is nowhere", pod: pod("p", near(term("web"))), expected: [] },
    {
      name: "the first of a group that wants its own kind",
      pod: pod("p", near(term("web")), { app: "web" }),
      expected: ["a1", "a2", "b1"],
    },
    {
      name: "near two pods in different zones",
      pod: pod("p", near(term("web"), term("db"))),
      bound: [
        [web, "a1"],
        [pod("db", {}, { app: "db" }), "b1"],
      ],
      expected: [],
    },
    { name: "far from a pod", pod: pod("p", far(term("web"))), bound: [[web, "a1"]], expected: ["b1", "nowhere"] },
    {
      name: "far on the same host only",
      pod: pod("p", far(term("web", "kubernetes.io/hostname"))),
      bound: [[web, "a1"]],
      expected: ["a2", "b1", "nowhere"],
    },
    {
      name: "a pod there wants this one far",
      pod: pod("p", {}, { app: "web" }),
      bound: [[pod("lonely", far(term("web"))), "a2"]],
      expected: ["b1", "nowhere"],
    },
    {
      name: "another namespace is not meant",
      pod: pod("p", far(term("web", "zone", { namespaces: ["other"] }))),
      bound: [[web, "a1"]],
      expected: ["a1", "a2", "b1", "nowhere"],
    },
    {
      name: "namespaces by their labels",
      pod: pod("p", far(term("web", "zone", { namespaceSelector: { matchLabels: { team: "a" } } }))),
      bound: [[web, "a1"]],
      expected: ["b1", "nowhere"],
    },
  ];
  for (const row of rows) t.same(feasible(row.pod, zones, row.bound), row.expected, row.name);
});

t.test("PodTopologySpread", async (t) => {
  const spread = (maxSkew: number, more: object = {}) => ({
    topologySpreadConstraints: [
      {
        maxSkew,
        topologyKey: "zone",
        whenUnsatisfiable: "DoNotSchedule",
        labelSelector: { matchLabels: { app: "web" } },
        ...more,
      },
    ],
  });
  const webs = (...on: string[]): [Pod, string][] =>
    on.map((where, index) => [pod(`w${index}`, {}, { app: "web" }), where]);
  const rows: { name: string; pod: Pod; bound: [Pod, string][]; expected: string[] }[] = [
    {
      name: "even: any zone",
      pod: pod("p", spread(1), { app: "web" }),
      bound: webs("a1", "b1"),
      expected: ["a1", "a2", "b1"],
    },
    { name: "skewed: the emptier zone", pod: pod("p", spread(1), { app: "web" }), bound: webs("a1"), expected: ["b1"] },
    {
      name: "more skew is allowed",
      pod: pod("p", spread(2), { app: "web" }),
      bound: webs("a1"),
      expected: ["a1", "a2", "b1"],
    },
    {
      name: "too few domains count as an empty one",
      pod: pod("p", spread(1, { minDomains: 3 }), { app: "web" }),
      bound: webs("a1", "b1"),
      expected: [],
    },
    {
      name: "pods that are going are not counted",
      pod: pod("p", spread(1), { app: "web" }),
      bound: [[{ ...web, metadata: { ...web.metadata, deletionTimestamp: "2026-01-01T00:00:00Z" } } as Pod, "a1"]],
      expected: ["a1", "a2", "b1"],
    },
  ];
  for (const row of rows) t.same(feasible(row.pod, zones, row.bound), row.expected, row.name);
});
