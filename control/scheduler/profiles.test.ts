import t from "tap";
import { decide } from "./decide.ts";
import { configurationFrom } from "./configuration.ts";
import { availablePlugins, node, pod, snapshot } from "../../test/harness/scheduling.ts";

const available = await availablePlugins();
const first = { startAt: 0, random: () => 0.99 };
const service = { metadata: { namespace: "default", name: "s" }, spec: { selector: { app: "web" } } };

t.test("configurationFrom() makes several profiles with plugins turned on, off and weighed", async (t) => {
  const config = {
    kind: "KubeSchedulerConfiguration",
    profiles: [
      {},
      {
        schedulerName: "packer",
        plugins: {
          filter: { disabled: [{ name: "NodePorts" }] },
          score: { disabled: [{ name: "*" }], enabled: [{ name: "MostAllocated", weight: 7 }] },
        },
      },
    ],
  };
  const [usual, packer] = configurationFrom(config, available, "config").profiles;
  t.equal(usual?.schedulerName, "default-scheduler");
  t.ok(usual?.filters.some(({ name }) => name === "NodePorts"));
  t.notOk(packer?.filters.some(({ name }) => name === "NodePorts"));
  t.same(
    packer?.scores.map(({ plugin, weight }) => [plugin.name, weight]),
    [["MostAllocated", 7]],
  );
});

t.test("configurationFrom() says what is wrong and where", async (t) => {
  const broken = (config: unknown) => () => configurationFrom(config, available, "config");
  t.throws(broken({ profile: [] }), /unknown key "profile"; did you mean "profiles"/);
  t.throws(broken({ profiles: [{}, {}] }), /config\.profiles\[1\]: there is a profile of the name/);
  t.throws(
    broken({ profiles: [{ plugins: { filter: { enabled: [{ name: "NodePort" }] } } }] }),
    /no plugin "NodePort" here; did you mean "NodePorts"/,
  );
  t.throws(broken({ kind: "Policy", predicates: [{ name: "Nope" }] }), /predicates\[0\]: there is no predicate "Nope"/);
});

t.test("configurationFrom() reads what kube-scheduler writes out in full", async (t) => {
  const config = {
    apiVersion: "kubescheduler.config.k8s.io/v1",
    kind: "KubeSchedulerConfiguration",
    clientConnection: { kubeconfig: "/etc/kubernetes/scheduler.conf", qps: 50 },
    leaderElection: { leaderElect: true },
    parallelism: 16,
    percentageOfNodesToScore: 40,
    podInitialBackoffSeconds: 2,
    podMaxBackoffSeconds: 30,
    profiles: [
      {
        schedulerName: "default-scheduler",
        plugins: {
          multiPoint: {
            enabled: [
              { name: "SchedulingGates" },
              { name: "PrioritySort" },
              { name: "TaintToleration", weight: 3 },
              { name: "NodeResourcesFit", weight: 4 },
              { name: "NodeResourcesBalancedAllocation", weight: 1 },
              { name: "DefaultPreemption" },
              { name: "DefaultBinder" },
            ],
            disabled: [{ name: "ImageLocality" }, { name: "NodePorts" }],
          },
        },
        pluginConfig: [
          { name: "DefaultPreemption", args: { kind: "DefaultPreemptionArgs", minCandidateNodesAbsolute: 100 } },
          {
            name: "InterPodAffinity",
            args: { apiVersion: "kubescheduler.config.k8s.io/v1", hardPodAffinityWeight: 1 },
          },
          {
            name: "NodeResourcesFit",
            args: {
              scoringStrategy: {
                type: "MostAllocated",
                resources: [
                  { name: "cpu", weight: 1 },
                  { name: "memory", weight: 1 },
                ],
              },
            },
          },
        ],
      },
      {
        schedulerName: "polite",
        percentageOfNodesToScore: 100,
        plugins: {
          postFilter: { disabled: [{ name: "*" }] },
          score: { disabled: [{ name: "NodeResourcesFit" }] },
        },
      },
    ],
  };
  const { profiles, ...rest } = configurationFrom(config, available, "config");
  t.same(rest, { initialBackoffMs: 2000, maxBackoffMs: 30_000 });
  const [usual, polite] = profiles;
  const scores = Object.fromEntries(usual?.scores.map(({ plugin, weight }) => [plugin.name, weight]) ?? []);
  t.match(scores, { MostAllocated: 4, BalancedAllocation: 1, TaintToleration: 3 });
  t.notOk("LeastAllocated" in scores || "ImageLocality" in scores);
  t.notOk(usual?.filters.some(({ name }) => name === "NodePorts"));
  t.ok(usual?.filters.some(({ name }) => name === "NodeResourcesFit"));
  t.match([usual?.percentageOfNodesToScore, usual?.preempts], [40, undefined]);
  t.match([polite?.percentageOfNodesToScore, polite?.preempts], [100, false]);
  t.notOk(polite?.scores.some(({ plugin }) => plugin.name === "LeastAllocated"));

  const broken =
    (profile: object, more: object = {}) =>
    () =>
      configurationFrom({ profiles: [profile], ...more }, available, "config");
  t.throws(broken({}, { podInitialBackoffSeconds: 20 }), /podMaxBackoffSeconds must be at least/);
});

/** One profile with these arguments of a plugin; what is wrong with them. */
function complaint(name: string, args: object): string {
  try {
    configurationFrom({ profiles: [{ pluginConfig: [{ name, args }] }] }, available, "config");
    return "";
  } catch (error) {
    return (error as Error).message;
  }
}

const strategy = (scoringStrategy: object) => ({ scoringStrategy });
const shaped = (shape: unknown) => strategy({ type: "RequestedToCapacityRatio", requestedToCapacityRatio: { shape } });
const spread = (more: object) => ({ maxSkew: 1, topologyKey: "zone", whenUnsatisfiable: "DoNotSchedule", ...more });
const added = (expression: object) => ({
  addedAffinity: {
    requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: [{ matchExpressions: [expression] }] },
  },
});

const wrongArguments: [plugin: string, args: object, place: string, what: RegExp][] = [
  ["NodeResourcesFit", { ignoredResources: ["a/b/c"] }, "ignoredResources[0]", /must be the name of a resource/],
  ["NodeResourcesFit", { ignoredResourceGroups: ["x.io/a"] }, "ignoredResourceGroups[0]", /before the slash/],
  ["NodeResourcesFit", strategy({ type: "Other" }), "scoringStrategy.type", /must be one of LeastAllocated/],
  [
    "NodeResourcesFit",
    strategy({ resources: [{ name: "cpu", weight: 101 }] }),
    "scoringStrategy.resources[0].weight",
    /at most 100, not 101/,
  ],
  ["NodeResourcesFit", shaped([]), "scoringStrategy.shape", /at least one point/],
  ["NodeResourcesFit", shaped(undefined), "scoringStrategy.shape", /must be a list, not missing/],
  [
    "NodeResourcesFit",
    shaped([
      { utilization: 50, score: 1 },
      { utilization: 50, score: 2 },
    ]),
    "scoringStrategy.shape[1].utilization",
    /more than that of the point before, 50/,
  ],
  ["NodeResourcesFit", shaped([{ utilization: 0, score: 11 }]), "scoringStrategy.shape[0].score", /at most 10/],
  [
    "NodeResourcesBalancedAllocation",
    { resources: [{ name: "cpu", weight: 2 }] },
    "resources[0].weight",
    /at most 1, not 2/,
  ],
  [
    "NodeResourcesBalancedAllocation",
    { resources: [{ name: "cpu" }, { name: "cpu" }] },
    "resources[1].name",
    /"cpu" is there already/,
  ],
  ["InterPodAffinity", { hardPodAffinityWeight: 101 }, "hardPodAffinityWeight", /at most 100, not 101/],
  ["PodTopologySpread", { defaultConstraints: [spread({})] }, "defaultingType", /must be List/],
  [
    "PodTopologySpread",
    { defaultingType: "List", defaultConstraints: [spread({ maxSkew: 0 })] },
    "defaultConstraints[0].maxSkew",
    /at least 1/,
  ],
  [
    "PodTopologySpread",
    { defaultingType: "List", defaultConstraints: [spread({}), spread({})] },
    "defaultConstraints[1]",
    /there already: \{zone, DoNotSchedule\}/,
  ],
  [
    "PodTopologySpread",
    { defaultingType: "List", defaultConstraints: [spread({ labelSelector: {} })] },
    "defaultConstraints[0].labelSelector",
    /cannot be given/,
  ],
  [
    "NodeAffinity",
    added({ key: "a", operator: "Is" }),
    "addedAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[0].matchExpressions[0].operator",
    /must be one of In/,
  ],
  [
    "NodeAffinity",
    added({ key: "a", operator: "Gt", values: ["x"] }),
    "addedAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[0].matchExpressions[0].values",
    /does not fit the operator Gt/,
  ],
  ["VolumeBinding", { bindTimeoutSeconds: -1 }, "bindTimeoutSeconds", /at least 0/],
  ["VolumeBinding", { shape: [{ utilization: 101, score: 0 }] }, "shape[0].utilization", /at most 100/],
  ["DefaultPreemption", { minCandidateNodesPercentage: 101 }, "minCandidateNodesPercentage", /at most 100/],
  ["DefaultPreemption", { minCandidateNodesAbsolute: -1 }, "minCandidateNodesAbsolute", /at least 0/],
  [
    "DefaultPreemption",
    { minCandidateNodesPercentage: 0, minCandidateNodesAbsolute: 0 },
    "minCandidateNodesPercentage",
    /cannot be 0/,
  ],
];

t.test("configurationFrom() tells wrong arguments by their path, in one line", async (t) => {
  for (const [plugin, args, place, what] of wrongArguments) {
    const said = complaint(plugin, args);
    t.ok(said.startsWith(`config.profiles[0].pluginConfig[0].args.${place} `), `${plugin} ${place}: ${said}`);
    t.match(said, what);
    t.notMatch(said, /\n/);
  }
  t.match(complaint("NodePorts", { ports: 1 }), /pluginConfig\[0\]\.args: unknown key "ports"/);
  t.match(complaint("NodePort", {}), /pluginConfig\[0\]: there is no plugin "NodePort" here; did you mean "NodePorts"/);
  const twice = [{ name: "NodePorts" }, { name: "NodePorts" }];
  t.throws(
    () => configurationFrom({ profiles: [{ pluginConfig: twice }] }, available, "config"),
    /config\.profiles\[0\]\.pluginConfig\[1\] is there already: "NodePorts"/,
  );
});

t.test("configurationFrom() heeds multiPoint after the points, as upstream merges them", async (t) => {
  const scoresOf = (plugins: object) => {
    const [profile] = configurationFrom({ profiles: [{ plugins }] }, available, "config").profiles;
    return Object.fromEntries(profile?.scores.map(({ plugin, weight }) => [plugin.name, weight]) ?? []);
  };
  t.match(scoresOf({ multiPoint: { enabled: [{ name: "TaintToleration", weight: 7 }] } }), { TaintToleration: 7 });
  t.match(scoresOf({ multiPoint: { enabled: [{ name: "TaintToleration" }] } }), { TaintToleration: 1 });
  t.notOk(
    "TaintToleration" in
      scoresOf({
        multiPoint: { enabled: [{ name: "TaintToleration", weight: 7 }] },
        score: { disabled: [{ name: "TaintToleration" }] },
      }),
    "what a point takes away stays away",
  );
  t.same(
    scoresOf({
      multiPoint: {
        disabled: [{ name: "*" }],
        enabled: [{ name: "NodeResourcesFit", weight: 2 }, { name: "PrioritySort" }, { name: "DefaultBinder" }],
      },
      score: { enabled: [{ name: "NodeResourcesFit", weight: 5 }] },
    }),
    { LeastAllocated: 5 },
  );
  t.same(scoresOf({ preScore: { disabled: [{ name: "*" }] }, score: { disabled: [{ name: "*" }] } }), {});
  const broken = (plugins: object) => () => configurationFrom({ profiles: [{ plugins }] }, available, "config");
  const off = (name: string) => ({ disabled: [{ name }] });
  t.throws(
    broken({ preScore: off("NodeAffinity") }),
    /plugins\.preScore: "NodeAffinity" cannot be taken away here and stay at score/,
  );
  t.throws(broken({ preBind: off("VolumeBinding") }), /plugins\.preBind: "VolumeBinding" cannot be taken away/);
  t.doesNotThrow(broken({ preBind: off("VolumeBinding"), filter: off("VolumeBinding") }));
  t.throws(broken({ bind: off("DefaultBinder") }), /plugins\.bind: at least one bind plugin is needed/);
  t.throws(broken({ queueSort: off("PrioritySort") }), /exactly one queue sort plugin can be enabled, not 0/);
  t.throws(broken({ permit: { enabled: [{ name: "Gang" }] } }), /plugins\.permit: there is no plugin "Gang" here/);
});

t.test("configurationFrom() takes steps and an order of plugins, point by point", async (t) => {
  const gang = {
    name: "Gang",
    reserve: () => undefined,
    permit: async () => undefined,
    bind: async () => true,
  };
  const newest = { name: "Newest", precedes: (a: { since: number }, b: { since: number }) => a.since > b.since };
  const more = { ...available, placement: [gang], queueSorts: [newest] };
  const [usual] = configurationFrom({}, more, "config").profiles;
  t.same(usual?.placement?.map(Object.keys), [["name", "reserve", "permit", "bind"]]);
  const plugins = {
    reserve: { disabled: [{ name: "Gang" }] },
    bind: { disabled: [{ name: "DefaultBinder" }] },
    queueSort: { disabled: [{ name: "*" }], enabled: [{ name: "Newest" }] },
  };
  const { profiles, queueSort } = configurationFrom({ profiles: [{ plugins }] }, more, "config");
  t.same(profiles[0]?.placement?.map(Object.keys), [["name", "permit", "bind"]]);
  t.equal(profiles[0]?.bindsByApi, false);
  t.equal(queueSort?.name, "Newest");
  t.throws(
    () => configurationFrom({ profiles: [{ plugins }, { schedulerName: "other" }] }, more, "config"),
    /profiles\[1\]\.plugins\.queueSort must be the same for all profiles/,
  );
});

const extender = (more: object) => ({ urlPrefix: "http://127.0.0.1:1/x", ...more });

t.test("configurationFrom() checks extenders", async (t) => {
  const broken =
    (...extenders: object[]) =>
    () =>
      configurationFrom({ extenders }, available, "config");
  t.throws(broken({}), /config\.extenders\[0\]\.urlPrefix must be a string, not missing/);
  t.throws(broken({ urlPrefix: "ftp://x" }), /extenders\[0\]\.urlPrefix must be a URL/);
  t.throws(broken(extender({ prioritizeVerb: "p" })), /extenders\[0\]\.weight must be more than 0/);
  t.throws(broken(extender({ bindVerb: "b" }), extender({ bindVerb: "b" })), /extenders: only one extender can bind/);
  t.throws(broken(extender({ httpTimeout: "soon" })), /extenders\[0\]\.httpTimeout must be a duration/);
  t.throws(
    broken(extender({ managedResources: [{ name: "cpu" }] })),
    /extenders\[0\]\.managedResources\[0\]\.name must be the name of an extended resource/,
  );
  const owned = { managedResources: [{ name: "example.dev/gpu" }] };
  t.throws(broken(extender(owned), extender(owned)), /extenders\[1\]\.managedResources\[0\]\.name .* already/);
  t.throws(
    broken(extender({ tlsConfig: { caFile: "/nonexistent/ca" } })),
    /extenders\[0\]\.tlsConfig\.caFile cannot be read/,
  );
  const { extenders } = configurationFrom(
    { extenders: [extender({ ignorable: true }), { urlPrefix: "https://b.example/", httpTimeout: "1m30s" }] },
    available,
    "config",
  );
  t.same(
    extenders?.map(({ url }) => url),
    ["https://b.example", "http://127.0.0.1:1/x"],
    "those that may fail come last",
  );
  const ignored = { managedResources: [{ name: "example.dev/gpu", ignoredByScheduler: true }] };
  const [profile] = configurationFrom({ extenders: [extender(ignored)] }, available, "config").profiles;
  if (!profile) return t.fail("no profile");
  const wants = pod("p", {
    containers: [{ name: "c", image: "i", resources: { requests: { "example.dev/gpu": "1" } } }],
  });
  t.match(decide(wants, snapshot([node("a")]), profile, first), { node: { name: "a" } }, "somebody else counts it");
  const old = { kind: "Policy", extenders: [extender({ filterVerb: "f", httpTimeout: 2_000_000_000 })] };
  t.equal(configurationFrom(old, available, "policy").extenders?.length, 1, "policies had them too");
});

t.test("a policy file with label presence, service affinity and a label preference decides as it says", async (t) => {
  const policy = {
    kind: "Policy",
    apiVersion: "v1",
    predicates: [
      { name: "GeneralPredicates" },
      { name: "Racked", argument: { labelsPresence: { labels: ["rack"], presence: true } } },
      { name: "SameZone", argument: { serviceAffinity: { labels: ["zone"] } } },
    ],
    priorities: [{ name: "Fast", weight: 3, argument: { labelPreference: { label: "ssd", presence: true } } }],
  };
  const [profile] = configurationFrom(policy, available, "policy").profiles;
  t.ok(profile);
  if (!profile) return;
  const nodes = [
    node("bare", { ssd: "yes", zone: "a" }),
    node("a-slow", { rack: "1", zone: "a" }),
    node("b-fast", { rack: "1", zone: "b", ssd: "" }),
    node("a-fast", { rack: "2", zone: "a", ssd: "" }),
  ];
  const web = (name: string) => pod(name, {}, { app: "web" });
  const free = decide(web("x"), snapshot(nodes), profile, first);
  t.match("node" in free && free.node.name, "b-fast", "racked and fast, the first among equals");
  const bound = snapshot(nodes, [[web("sibling"), "a-slow"]], { services: [service] });
  const held = decide(web("y"), bound, profile, first);
  t.match("node" in held && held.node.name, "a-fast", "in the zone of its sibling");
  const other = decide(pod("z", {}, { app: "other" }), bound, profile, first);
  t.match("node" in other && other.node.name, "b-fast", "pods of no service are free");
});
