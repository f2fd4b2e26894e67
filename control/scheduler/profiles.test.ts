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
  t.throws(
    broken({ pluginConfig: [{ name: "InterPodAffinity", args: { hardPodAffinityWeight: 5 } }] }),
    /InterPodAffinity cannot be told another hardPodAffinityWeight here/,
  );
  t.throws(
    broken({ pluginConfig: [{ name: "NodeResourcesFit", args: { scoringStrategy: { type: "Other" } } }] }),
    /scoringStrategy.type must be one of/,
  );
  t.throws(broken({ plugins: { bind: { disabled: [{ name: "DefaultBinder" }] } } }), /plugins.bind: nothing can be/);
  t.throws(broken({}, { extenders: [] }), /unknown key "extenders"/);
  t.throws(broken({}, { podInitialBackoffSeconds: 20 }), /podMaxBackoffSeconds must be at least/);
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
