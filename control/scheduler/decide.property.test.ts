// decide() against a slow reference written apart from the plugins: it never breaks a constraint, refuses only when every node
// breaks one, and among the rest takes a node with the best score.

import fc from "fast-check";
import t from "tap";
import type { Node, Pod } from "../../plugins/kit/kube/objects/types.ts";
import { availablePlugins, isWokenBy, node, pod, snapshot } from "../../test/harness/scheduling.ts";
import { decide } from "./decide.ts";
import { configurationFrom } from "./configuration.ts";
import type { Profile } from "./profile.ts";
import { retryEvents } from "./retry-events.ts";

interface NodeCase {
  cpu: number;
  gpu: number;
  zone: string | undefined;
  disk: string | undefined;
  taint: { key: string; effect: string } | undefined;
  cordoned: boolean;
}
interface PodCase {
  cpu: number;
  gpu: number;
  app: string;
  port: number | undefined;
  disk: string | undefined;
  prefersDisk: string | undefined;
  tolerates: string | undefined;
  avoids: { app: string; key: string } | undefined;
  follows: { app: string; key: string } | undefined;
  spread: { key: string; maxSkew: number } | undefined;
}
interface Placed {
  readonly of: PodCase;
  readonly at: number;
}
/** What a profile tells its plugins. */
interface Rules {
  strategy: "LeastAllocated" | "MostAllocated" | "RequestedToCapacityRatio";
  cpuWeight: number;
  memoryWeight: number;
  gpuWeight: number;
  /** How a node is liked when it is empty, half full and full, from 0 to 10. */
  shape: [number, number, number];
  ignoresGpu: "by name" | "by group" | undefined;
  requiresDisk: string | undefined;
  prefersDisk: string | undefined;
  hardWeight: number;
  ignoresOthers: boolean;
  /** How pods of the service are spread that do not say it themselves. */
  spread: { key: string; maxSkew: number } | undefined;
}

const zone = "zone";
const gpu = "example.dev/gpu";
const host = "kubernetes.io/hostname";
const maybe = <T>(arbitrary: fc.Arbitrary<T>) => fc.option(arbitrary, { nil: undefined, freq: 2 });
const seldom = <T>(arbitrary: fc.Arbitrary<T>) =>
  fc.oneof({ weight: 4, arbitrary: fc.constant(undefined) }, { weight: 1, arbitrary });
const apps = fc.constantFrom("a", "b");
const keys = fc.constantFrom(zone, host);
const disks = fc.constantFrom("ssd", "hdd");
const taints = fc.constantFrom("red", "blue");
const nodeCase: fc.Arbitrary<NodeCase> = fc.record({
  cpu: fc.integer({ min: 1, max: 4 }),
  gpu: fc.integer({ min: 0, max: 3 }),
  zone: fc.option(fc.constantFrom("x", "y", "z"), { nil: undefined, freq: 8 }),
  disk: maybe(disks),
  taint: maybe(fc.record({ key: taints, effect: fc.constantFrom("NoSchedule", "PreferNoSchedule", "NoExecute") })),
  cordoned: fc.oneof({ weight: 6, arbitrary: fc.constant(false) }, { weight: 1, arbitrary: fc.constant(true) }),
});
const podCase: fc.Arbitrary<PodCase> = fc.record({
  cpu: fc.integer({ min: 0, max: 2 }),
  gpu: fc.oneof({ weight: 4, arbitrary: fc.constant(0) }, { weight: 1, arbitrary: fc.integer({ min: 1, max: 2 }) }),
  app: apps,
  port: maybe(fc.constantFrom(80, 443)),
  disk: seldom(disks),
  prefersDisk: maybe(disks),
  tolerates: maybe(taints),
  avoids: maybe(fc.record({ app: apps, key: keys })),
  follows: maybe(fc.record({ app: apps, key: keys })),
  spread: maybe(fc.record({ key: keys, maxSkew: fc.integer({ min: 1, max: 2 }) })),
});

const weights = fc.integer({ min: 1, max: 3 });
const points = fc.integer({ min: 0, max: 10 });
const rulesCase: fc.Arbitrary<Rules> = fc.record({
  strategy: fc.constantFrom("LeastAllocated", "MostAllocated", "RequestedToCapacityRatio"),
  cpuWeight: weights,
  memoryWeight: weights,
  gpuWeight: weights,
  shape: fc.tuple(points, points, points),
  ignoresGpu: maybe(fc.constantFrom("by name", "by group")),
  requiresDisk: seldom(disks),
  prefersDisk: maybe(disks),
  hardWeight: fc.integer({ min: 0, max: 3 }),
  ignoresOthers: fc.boolean(),
  spread: maybe(fc.record({ key: keys, maxSkew: fc.integer({ min: 1, max: 2 }) })),
});

const required = (term: { app: string; key: string }) => ({
  requiredDuringSchedulingIgnoredDuringExecution: [
    { labelSelector: { matchLabels: { app: term.app } }, topologyKey: term.key },
  ],
});

function asNode(of: NodeCase, index: number): Node {
  const labels = { ...(of.zone ? { [zone]: of.zone } : {}), ...(of.disk ? { disk: of.disk } : {}) };
  const spec = { unschedulable: of.cordoned, ...(of.taint ? { taints: [of.taint] } : {}) };
  return node(`n${index}`, labels, { spec, allocatable: { cpu: String(of.cpu), [gpu]: String(of.gpu) } });
}

function asPod(of: PodCase, name: string): Pod {
  const preference = { matchExpressions: [{ key: "disk", operator: "In", values: [of.prefersDisk] }] };
  const spec = {
    containers: [
      {
        name: "c",
        image: "i",
        resources: {
          requests: { ...(of.cpu ? { cpu: String(of.cpu) } : {}), ...(of.gpu ? { [gpu]: String(of.gpu) } : {}) },
        },
        ...(of.port ? { ports: [{ containerPort: of.port, hostPort: of.port }] } : {}),
      },
    ],
    ...(of.disk ? { nodeSelector: { disk: of.disk } } : {}),
    ...(of.tolerates ? { tolerations: [{ key: of.tolerates, operator: "Exists" }] } : {}),
    affinity: {
      ...(of.prefersDisk
        ? { nodeAffinity: { preferredDuringSchedulingIgnoredDuringExecution: [{ weight: 10, preference }] } }
        : {}),
      ...(of.avoids ? { podAntiAffinity: required(of.avoids) } : {}),
      ...(of.follows ? { podAffinity: required(of.follows) } : {}),
    },
    ...(of.spread
      ? {
          topologySpreadConstraints: [
            {
              maxSkew: of.spread.maxSkew,
              topologyKey: of.spread.key,
              whenUnsatisfiable: "DoNotSchedule",
              labelSelector: { matchLabels: { app: of.app } },
            },
          ],
        }
      : {}),
  };
  return pod(name, spec, { app: of.app });
}

/** The value that the node has for a topology key. */
const domainOf = (nodes: readonly NodeCase[], index: number, key: string) =>
  key === host ? `n${index}` : nodes[index]?.zone;

function sharesDomain(nodes: readonly NodeCase[], a: number, b: number, key: string): boolean {
  const domain = domainOf(nodes, a, key);
  return domain !== undefined && domain === domainOf(nodes, b, key);
}

/** The pods of app "a" have a service, and so belong together. */
const service = { metadata: { namespace: "default", name: "a" }, spec: { selector: { app: "a" } } };

interface Situation {
  readonly nodes: readonly NodeCase[];
  readonly placed: readonly Placed[];
  readonly rules: Rules;
}

/** Whether the pod may be on the node, by reading each rule literally. */
function isAllowed(of: PodCase, at: number, { nodes, placed, rules }: Situation): boolean {
  const here = nodes[at] as NodeCase;
  if (rules.requiresDisk && here.disk !== rules.requiresDisk) return false;
  const gpus = placed.filter((other) => other.at === at).reduce((sum, other) => sum + other.of.gpu, of.gpu);
  if (of.gpu > 0 && !rules.ignoresGpu && gpus > here.gpu) return false;
  const beside = placed.filter((other) => other.at === at);
  if (here.cordoned) return false;
  if (beside.reduce((sum, other) => sum + other.of.cpu, of.cpu) > here.cpu && of.cpu > 0) return false;
  if (of.port && beside.some((other) => other.of.port === of.port)) return false;
  if (of.disk && here.disk !== of.disk) return false;
  if (here.taint && here.taint.effect !== "PreferNoSchedule" && here.taint.key !== of.tolerates) return false;
  for (const other of placed) {
    const { avoids } = other.of;
    if (avoids && avoids.app === of.app && sharesDomain(nodes, at, other.at, avoids.key)) return false;
    if (of.avoids && of.avoids.app === other.of.app && sharesDomain(nodes, at, other.at, of.avoids.key)) return false;
  }
  if (of.follows) {
    const { app, key } = of.follows;
    if (domainOf(nodes, at, key) === undefined) return false;
    const leaders = placed.filter((other) => other.of.app === app && domainOf(nodes, other.at, key) !== undefined);
    const isFirstOfItsKind = leaders.length === 0 && of.app === app;
    if (!isFirstOfItsKind && !leaders.some((other) => sharesDomain(nodes, at, other.at, key))) return false;
  }
  return isEven(of, at, { nodes, placed, rules });
}

function isEven(of: PodCase, at: number, { nodes, placed, rules }: Situation): boolean {
  const spread = of.spread ?? (of.app === "a" ? rules.spread : undefined);
  if (!spread) return true;
  const { key, maxSkew } = spread;
  const own = domainOf(nodes, at, key);
  if (own === undefined) return false;
  // Nodes that the pod's own selector rules out do not count.
  const counted = nodes.map((_, index) => index).filter((index) => !of.disk || nodes[index]?.disk === of.disk);
  const domains = new Set(counted.map((index) => domainOf(nodes, index, key)).filter((value) => value !== undefined));
  const pods = (domain: string) =>
    placed.filter(
      (other) => other.of.app === of.app && counted.includes(other.at) && domainOf(nodes, other.at, key) === domain,
    ).length;
  return pods(own) + 1 - Math.min(...[...domains].map(pods)) <= maxSkew;
}

/** What one resource is worth when this much of so much would be used. */
function worth({ strategy, shape }: Rules, used: number, most: number): number {
  const percent = used > most ? 100 : Math.floor((used * 100) / most);
  if (strategy === "LeastAllocated") return used > most ? 0 : Math.floor(((most - used) * 100) / most);
  if (strategy === "MostAllocated") return percent;
  const [empty, half, full] = shape.map((point) => point * 10) as [number, number, number];
  return percent <= 50
    ? empty + Math.trunc(((half - empty) * percent) / 50)
    : half + Math.trunc(((full - half) * (percent - 50)) / 50);
}

/** How full the node would be, by the rules' strategy and weights. */
function fullness(of: PodCase, at: number, { nodes, placed, rules }: Situation): number {
  const here = nodes[at] as NodeCase;
  const all = [...placed.filter((other) => other.at === at).map((other) => other.of), of];
  const judged = [
    // A container that asks for none counts for 100m and 200 MiB.
    {
      used: all.reduce((sum, one) => sum + (one.cpu * 1000 || 100), 0),
      most: here.cpu * 1000,
      weight: rules.cpuWeight,
    },
    { used: all.length * 200 * 1024 ** 2, most: 4 * 1024 ** 3, weight: rules.memoryWeight },
    // What the pod does not ask for, or the node does not have, does not count.
    ...(of.gpu > 0 && here.gpu > 0
      ? [{ used: all.reduce((sum, one) => sum + one.gpu, 0), most: here.gpu, weight: rules.gpuWeight }]
      : []),
  ].map(({ used, most, weight }) => ({ points: worth(rules, used, most), weight }));
  const isShaped = rules.strategy === "RequestedToCapacityRatio";
  const counted = isShaped ? judged.filter((one) => one.points > 0) : judged;
  const weight = counted.reduce((sum, one) => sum + one.weight, 0);
  const mean = counted.reduce((sum, one) => sum + one.points * one.weight, 0) / weight;
  return weight === 0 ? 0 : isShaped ? Math.round(mean) : Math.floor(mean);
}

/** How much the pods that are there, by what they follow, would have the pod near. */
function pull(of: PodCase, at: number, { nodes, placed, rules }: Situation): number {
  // No pod here prefers another: with this rule nobody is asked.
  if (rules.ignoresOthers) return 0;
  return placed.reduce((sum, { of: other, at: where }) => {
    const { follows } = other;
    const isWanted = follows?.app === of.app && sharesDomain(nodes, at, where, follows.key);
    return sum + (isWanted ? rules.hardWeight : 0);
  }, 0);
}

/** Fullness (weight 1), disks that the pod and the profile prefer (2), nearness (2), and few soft taints (3). */
function scoreOf(of: PodCase, at: number, fits: readonly number[], situation: Situation) {
  const { nodes, rules } = situation;
  const liked = (index: number) =>
    [of.prefersDisk, rules.prefersDisk].filter((disk) => disk && nodes[index]?.disk === disk).length * 10;
  const most = Math.max(...fits.map(liked));
  const likes = most === 0 ? 0 : Math.floor((liked(at) * 100) / most);
  const pulls = fits.map((index) => pull(of, index, situation));
  const range = Math.max(...pulls) - Math.min(...pulls);
  const nearness = range === 0 ? 0 : Math.floor((100 * (pull(of, at, situation) - Math.min(...pulls))) / range);
  const isTainted = (index: number) => {
    const taint = nodes[index]?.taint;
    return taint?.effect === "PreferNoSchedule" && taint.key !== of.tolerates;
  };
  // All are scored against the most tainted; where none is, all are best.
  const clean = fits.some(isTainted) && isTainted(at) ? 0 : 100;
  return fullness(of, at, situation) + 2 * likes + 2 * nearness + 3 * clean;
}

const available = await availablePlugins();
const enabled = [
  { name: "NodeResourcesFit", weight: 1 },
  { name: "NodeAffinity", weight: 2 },
  { name: "InterPodAffinity", weight: 2 },
  { name: "TaintToleration", weight: 3 },
];

const diskTerm = (disk: string) => ({ matchExpressions: [{ key: "disk", operator: "In", values: [disk] }] });

/** The rules as a configuration says them. */
function profileOf(rules: Rules): Profile {
  const [empty, half, full] = rules.shape;
  const shape = [
    { utilization: 0, score: empty },
    { utilization: 50, score: half },
    { utilization: 100, score: full },
  ];
  const isShaped = rules.strategy === "RequestedToCapacityRatio";
  const pluginConfig = [
    {
      name: "NodeResourcesFit",
      args: {
        ...(rules.ignoresGpu === "by name" ? { ignoredResources: [gpu] } : {}),
        ...(rules.ignoresGpu === "by group" ? { ignoredResourceGroups: ["example.dev"] } : {}),
        scoringStrategy: {
          type: rules.strategy,
          resources: [
            { name: "cpu", weight: rules.cpuWeight },
            { name: "memory", weight: rules.memoryWeight },
            { name: gpu, weight: rules.gpuWeight },
          ],
          ...(isShaped ? { requestedToCapacityRatio: { shape } } : {}),
        },
      },
    },
    {
      name: "NodeAffinity",
      args: {
        addedAffinity: {
          ...(rules.requiresDisk
            ? {
                requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: [diskTerm(rules.requiresDisk)] },
              }
            : {}),
          ...(rules.prefersDisk
            ? {
                preferredDuringSchedulingIgnoredDuringExecution: [
                  { weight: 10, preference: diskTerm(rules.prefersDisk) },
                ],
              }
            : {}),
        },
      },
    },
    {
      name: "InterPodAffinity",
      args: { hardPodAffinityWeight: rules.hardWeight, ignorePreferredTermsOfExistingPods: rules.ignoresOthers },
    },
    {
      name: "PodTopologySpread",
      args: {
        defaultingType: "List",
        defaultConstraints: rules.spread
          ? [
              {
                maxSkew: rules.spread.maxSkew,
                topologyKey: rules.spread.key,
                whenUnsatisfiable: "DoNotSchedule",
              },
            ]
          : [],
      },
    },
  ];
  const profiles = [{ plugins: { score: { disabled: [{ name: "*" }], enabled } }, pluginConfig }];
  const [profile] = configurationFrom({ profiles }, available, "test").profiles;
  if (!profile) throw new Error("no profile");
  return profile;
}

t.test("decide() breaks no constraint and takes the best score, as a brute-force reference sees it", async (t) => {
  let placedCount = 0;
  let refusedCount = 0;
  fc.assert(
    fc.property(
      fc.array(nodeCase, { minLength: 1, maxLength: 6 }),
      fc.array(podCase, { minLength: 1, maxLength: 12 }),
      rulesCase,
      fc.nat(5),
      (nodes, pods, rules, startAt) => {
        const profile = profileOf(rules);
        const cluster = snapshot(nodes.map(asNode), [], { services: [service] });
        const placed: Placed[] = [];
        const situation = { nodes, placed, rules };
        for (const [index, of] of pods.entries()) {
          const fits = nodes.map((_, at) => at).filter((at) => isAllowed(of, at, situation));
          const wanted = asPod(of, `p${index}`);
          const decision = decide(wanted, cluster, profile, { startAt, random: () => 0.5 });
          if ("fitError" in decision) {
            if (fits.length > 0) throw new Error(`refused, but n${fits} would do: ${[...decision.fitError.plugins]}`);
            refusedCount++;
            continue;
          }
          const at = Number(decision.node.name.slice(1));
          if (!fits.includes(at)) throw new Error(`n${at} breaks a constraint; right would be n${fits}`);
          const scores = new Map(fits.map((each) => [each, scoreOf(of, each, fits, situation)]));
          const best = Math.max(...scores.values());
          if (scores.get(at) !== best) throw new Error(`n${at} has ${scores.get(at)}, the best is ${best}`);
          cluster.assume(wanted, decision.node.name);
          placed.push({ of, at });
          placedCount++;
        }
      },
    ),
    { numRuns: 600 },
  );
  t.ok(placedCount > 100 && refusedCount > 100, "both happen often");
});

type World = Pick<Situation, "nodes" | "placed">;

const replaced = <T>(list: readonly T[], at: number, by: (old: T) => T) =>
  list.map((old, index) => (index === at % list.length ? by(old) : old));

/** Whatever may happen in the cluster, under the name that the scheduler gives it. */
const happenings: Record<string, (world: World, at: number, newNode: NodeCase, newPod: PodCase) => World> = {
  "Pod/Add": ({ nodes, placed }, at, _, of) => ({ nodes, placed: [...placed, { of, at: at % nodes.length }] }),
  "Pod/Delete": ({ nodes, placed }, at) => ({
    nodes,
    placed: placed.filter((_, index) => index !== at % placed.length),
  }),
  "Pod/Update": ({ nodes, placed }, at, _, { app, cpu }) => ({
    nodes,
    placed: replaced(placed, at, (old) => ({ ...old, of: { ...old.of, app, cpu } })),
  }),
  "Node/Add": ({ nodes, placed }, _, newNode) => ({ nodes: [...nodes, newNode], placed }),
  "Node/Update": ({ nodes, placed }, at, newNode) => ({ nodes: replaced(nodes, at, () => newNode), placed }),
  // The last one, so that the others keep their numbers, and without pods: those go by events of their own.
  "Node/Delete": ({ nodes, placed }) => ({
    nodes: placed.some(({ at }) => at === nodes.length - 1) ? nodes : nodes.slice(0, -1),
    placed,
  }),
};

t.test("whatever lets a refused pod fit is among the events that its filters retry on", async (t) => {
  const helped = new Map<string, Set<string>>();
  const property = fc.property(
    fc.array(nodeCase, { minLength: 1, maxLength: 4 }),
    fc.array(podCase, { minLength: 1, maxLength: 10 }),
    rulesCase,
    nodeCase,
    podCase,
    fc.nat(9),
    (nodes, pods, rules, newNode, newPod, at) => {
      const profile = profileOf(rules);
      const lists = { services: [service] };
      const first = snapshot(nodes.map(asNode), [], lists);
      const tryIn = (cluster: typeof first, wanted: Pod) =>
        decide(wanted, cluster, profile, { startAt: 0, random: () => 0.5 });
      const placed: Placed[] = [];
      const refused: Pod[] = [];
      for (const [index, of] of pods.entries()) {
        const wanted = asPod(of, `p${index}`);
        const decision = tryIn(first, wanted);
        if ("fitError" in decision) refused.push(wanted);
        else {
          first.assume(wanted, decision.node.name);
          placed.push({ of, at: Number(decision.node.name.slice(1)) });
        }
      }
      const snapshotOf = (of: World) =>
        snapshot(
          of.nodes.map(asNode),
          of.placed.map((each, index) => [asPod(each.of, `placed-${index}`), `n${each.at}`]),
          lists,
        );
      const before = snapshotOf({ nodes, placed });
      for (const wanted of refused) {
        const refusal = tryIn(before, wanted);
        if (!("fitError" in refusal)) continue;
        const { plugins } = refusal.fitError;
        const events = retryEvents(profile, refusal.fitError);
        for (const [event, happen] of Object.entries(happenings)) {
          if ("fitError" in tryIn(snapshotOf(happen({ nodes, placed }, at, newNode, newPod)), wanted)) continue;
          const known = helped.get(event) ?? new Set();
          helped.set(event, new Set([...known, ...plugins]));
          if (!isWokenBy(event, events))
            throw new Error(`${event} lets the pod fit, but ${[...plugins]} retry on ${[...events]}`);
        }
      }
    },
  );
  fc.assert(property, { numRuns: 1500 });
  for (const event of Object.keys(happenings)) t.ok((helped.get(event)?.size ?? 0) > 0, `${event} helped sometimes`);
  const all = new Set([...helped.values()].flatMap((plugins) => [...plugins]));
  for (const name of [
    "NodeUnschedulable",
    "TaintToleration",
    "NodeAffinity",
    "NodePorts",
    "NodeResourcesFit",
    "PodTopologySpread",
    "InterPodAffinity",
  ])
    t.ok(all.has(name), `${name} refused a pod that was let in later`);
});
