// decide() against a slow reference written apart from the plugins: it never breaks a constraint, refuses only when every node
// breaks one, and among the rest takes a node with the best score.

import fc from "fast-check";
import t from "tap";
import type { Node, Pod } from "../../plugins/kit/objects/types.ts";
import { availablePlugins, node, pod, snapshot } from "../../test/harness/scheduling.ts";
import { decide } from "./decide.ts";
import { configurationFrom } from "./configuration.ts";

interface NodeCase {
  cpu: number;
  zone: string | undefined;
  disk: string | undefined;
  taint: { key: string; effect: string } | undefined;
  cordoned: boolean;
}
interface PodCase {
  cpu: number;
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

const zone = "zone";
const host = "kubernetes.io/hostname";
const maybe = <T>(arbitrary: fc.Arbitrary<T>) => fc.option(arbitrary, { nil: undefined, freq: 2 });
const apps = fc.constantFrom("a", "b");
const keys = fc.constantFrom(zone, host);
const disks = fc.constantFrom("ssd", "hdd");
const taints = fc.constantFrom("red", "blue");
const nodeCase: fc.Arbitrary<NodeCase> = fc.record({
  cpu: fc.integer({ min: 1, max: 4 }),
  zone: fc.option(fc.constantFrom("x", "y", "z"), { nil: undefined, freq: 8 }),
  disk: maybe(disks),
  taint: maybe(fc.record({ key: taints, effect: fc.constantFrom("NoSchedule", "PreferNoSchedule", "NoExecute") })),
  cordoned: fc.oneof({ weight: 6, arbitrary: fc.constant(false) }, { weight: 1, arbitrary: fc.constant(true) }),
});
const podCase: fc.Arbitrary<PodCase> = fc.record({
  cpu: fc.integer({ min: 0, max: 2 }),
  app: apps,
  port: maybe(fc.constantFrom(80, 443)),
  disk: fc.option(disks, { nil: undefined, freq: 1 }),
  prefersDisk: maybe(disks),
  tolerates: maybe(taints),
  avoids: maybe(fc.record({ app: apps, key: keys })),
  follows: maybe(fc.record({ app: apps, key: keys })),
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
  return node(`n${index}`, labels, { spec, allocatable: { cpu: String(of.cpu) } });
}

function asPod(of: PodCase, name: string): Pod {
  const preference = { matchExpressions: [{ key: "disk", operator: "In", values: [of.prefersDisk] }] };
  const spec = {
    containers: [
      {
        name: "c",
        image: "i",
        ...(of.cpu ? { resources: { requests: { cpu: String(of.cpu) } } } : {}),
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

/** Whether the pod may be on the node, by reading each rule literally. */
function isAllowed(of: PodCase, at: number, nodes: readonly NodeCase[], placed: readonly Placed[]): boolean {
  const here = nodes[at] as NodeCase;
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
  return isEven(of, at, nodes, placed);
}

function isEven(of: PodCase, at: number, nodes: readonly NodeCase[], placed: readonly Placed[]): boolean {
  if (!of.spread) return true;
  const { key, maxSkew } = of.spread;
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

/** Free CPU after taking the pod (weight 1), the preferred disk (2), and few soft taints (3). */
function scoreOf(
  of: PodCase,
  at: number,
  fits: readonly number[],
  nodes: readonly NodeCase[],
  placed: readonly Placed[],
) {
  const gib = 1024 ** 3;
  const here = nodes[at] as NodeCase;
  const all = [...placed.filter((other) => other.at === at).map((other) => other.of), of];
  // A container that asks for none counts for 100m and 200 MiB.
  const cpu = all.reduce((sum, one) => sum + (one.cpu * 1000 || 100), 0);
  const share = Math.min(1, cpu / (here.cpu * 1000));
  const memoryShare = Math.min(1, (all.length * 200 * 1024 ** 2) / (4 * gib));
  const free = Math.floor((Math.floor((1 - share) * 100) + Math.floor((1 - memoryShare) * 100)) / 2);
  const likes = of.prefersDisk && here.disk === of.prefersDisk ? 100 : 0;
  const isTainted = (index: number) => {
    const taint = nodes[index]?.taint;
    return taint?.effect === "PreferNoSchedule" && taint.key !== of.tolerates;
  };
  // All are scored against the most tainted; where none is, all are best.
  const clean = fits.some(isTainted) && isTainted(at) ? 0 : 100;
  return free + 2 * likes + 3 * clean;
}

const available = await availablePlugins();
const enabled = [
  { name: "LeastAllocated", weight: 1 },
  { name: "NodeAffinity", weight: 2 },
  { name: "TaintToleration", weight: 3 },
];
const [profile] = configurationFrom(
  { profiles: [{ plugins: { score: { disabled: [{ name: "*" }], enabled } } }] },
  available,
  "test",
).profiles;

t.test("decide() breaks no constraint and takes the best score, as a brute-force reference sees it", async (t) => {
  if (!profile) return t.fail("no profile");
  let placedCount = 0;
  let refusedCount = 0;
  fc.assert(
    fc.property(
      fc.array(nodeCase, { minLength: 1, maxLength: 6 }),
      fc.array(podCase, { minLength: 1, maxLength: 12 }),
      fc.nat(5),
      (nodes, pods, startAt) => {
        const cluster = snapshot(nodes.map(asNode));
        const placed: Placed[] = [];
        for (const [index, of] of pods.entries()) {
          const fits = nodes.map((_, at) => at).filter((at) => isAllowed(of, at, nodes, placed));
          const wanted = asPod(of, `p${index}`);
          const decision = decide(wanted, cluster, profile, { startAt, random: () => 0.5 });
          if ("fitError" in decision) {
            if (fits.length > 0) throw new Error(`refused, but n${fits} would do: ${[...decision.fitError.plugins]}`);
            refusedCount++;
            continue;
          }
          const at = Number(decision.node.name.slice(1));
          if (!fits.includes(at)) throw new Error(`n${at} breaks a constraint; right would be n${fits}`);
          const scores = new Map(fits.map((each) => [each, scoreOf(of, each, fits, nodes, placed)]));
          const best = Math.max(...scores.values());
          if (scores.get(at) !== best) throw new Error(`n${at} has ${scores.get(at)}, the best is ${best}`);
          cluster.assume(wanted, decision.node.name);
          placed.push({ of, at });
          placedCount++;
        }
      },
    ),
    { numRuns: 400 },
  );
  t.ok(placedCount > 100 && refusedCount > 100, "both happen often");
});
