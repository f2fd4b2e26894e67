import t from "tap";
import type { Deployment, ReplicaSet } from "./objects.ts";
import { isScaling, newSetReplicas, planRolling, planScale } from "./plan.ts";

let age = 0;
function set(name: string, replicas: number, available = replicas, extra: Record<string, string> = {}): ReplicaSet {
  return {
    metadata: {
      name,
      creationTimestamp: new Date(Date.UTC(2026, 0, 1) + 1000 * age++).toISOString(),
      annotations: extra,
    },
    spec: { replicas, template: {} },
    status: { replicas, availableReplicas: available },
  };
}

function deployment(
  replicas: number,
  strategy: { maxSurge?: number | string; maxUnavailable?: number | string } = {},
): Deployment {
  return {
    metadata: { name: "d" },
    spec: { replicas, selector: {}, template: {}, strategy: { type: "RollingUpdate", rollingUpdate: strategy } },
  };
}

const plain = (steps: { set: ReplicaSet; replicas: number }[]) =>
  Object.fromEntries(steps.map((step) => [step.set.metadata.name, step.replicas]));

t.test("newSetReplicas() leaves room for the old ones and never passes the surge", async (t) => {
  const rows = [
    { name: "fresh", replicas: 3, old: [], strategy: {}, expected: 3 },
    {
      name: "a quarter, rounded up, on top of the old ones",
      replicas: 10,
      old: [set("old", 10)],
      strategy: {},
      expected: 3,
    },
    {
      name: "no surge",
      replicas: 10,
      old: [set("old", 10)],
      strategy: { maxSurge: 0, maxUnavailable: 1 },
      expected: 0,
    },
    { name: "all at once", replicas: 4, old: [set("old", 4)], strategy: { maxSurge: "100%" }, expected: 4 },
    {
      name: "pods that an old set has yet to delete",
      replicas: 10,
      old: [set("old", 6)],
      strategy: {},
      leaving: 4,
      expected: 3,
    },
    { name: "more of them than there is room", replicas: 4, old: [], strategy: {}, leaving: 12, expected: 0 },
  ];
  for (const { name, replicas, strategy, old, leaving = 0, expected } of rows)
    t.equal(newSetReplicas(deployment(replicas, strategy), old, 0, leaving), expected, name);
});

t.test("planRolling() grows the new set first, then shrinks the old ones as availability allows", async (t) => {
  const rows = [
    { name: "grow", wanted: 10, next: set("new", 0), old: [set("old", 10)], expected: { new: 3 } },
    { name: "wait for availability", wanted: 10, next: set("new", 3, 0), old: [set("old", 10)], expected: { old: 8 } },
    {
      name: "shrink by what became available",
      wanted: 10,
      next: set("new", 3, 3),
      old: [set("old", 8)],
      expected: { new: 5 },
    },
    {
      name: "broken old pods go first",
      wanted: 4,
      next: set("new", 1, 1),
      old: [set("broken", 2, 0), set("fine", 2)],
      expected: { broken: 0 },
    },
    { name: "too many new ones", wanted: 2, next: set("new", 5), old: [], expected: { new: 2 } },
    { name: "done", wanted: 3, next: set("new", 3), old: [set("old", 0)], expected: {} },
  ];
  for (const row of rows)
    t.same(plain(planRolling(deployment(row.wanted), row.next, row.old, 0)), row.expected, row.name);
});

t.test("planRolling() ends with only new pods, never below minimum or above maximum", async (t) => {
  for (const replicas of [1, 2, 3, 7, 10, 25]) {
    for (const strategy of [
      {},
      { maxSurge: 0, maxUnavailable: 1 },
      { maxSurge: 1, maxUnavailable: 0 },
      { maxSurge: "50%", maxUnavailable: "50%" },
    ]) {
      const target = deployment(replicas, strategy);
      let next = set("new", 0);
      let old = set("old", replicas);
      let rounds = 0;
      while ((next.spec.replicas !== replicas || old.spec.replicas !== 0) && rounds++ < 100) {
        for (const step of planRolling(target, next, [old], 0)) {
          const changed = { ...step.set, spec: { ...step.set.spec, replicas: step.replicas } };
          if (step.set === next) next = changed;
          else old = changed;
        }
        // The kubelet catches up with everything before the next look.
        next = { ...next, status: { ...next.status, availableReplicas: next.spec.replicas ?? 0 } };
        old = { ...old, status: { ...old.status, availableReplicas: Math.min(old.spec.replicas ?? 0, replicas) } };
      }
      t.ok(rounds < 100, `${replicas} replicas with ${JSON.stringify(strategy)} settle`);
    }
  }
});

t.test("planScale() shares a change among the sets by their size", async (t) => {
  const sized = (name: string, replicas: number) =>
    set(name, replicas, replicas, { "deployment.kubernetes.io/max-replicas": "10" });
  const steps = planScale(deployment(20, { maxSurge: 0, maxUnavailable: 1 }), sized("new", 4), [sized("old", 6)], 0);
  t.same(plain(steps ?? []), { new: 8, old: 12 });
  const grown = (leaving: number) => planScale(deployment(5), set("new", 3), [], leaving);
  t.same(plain(grown(0) ?? []), { new: 5 }, "the only set takes it all");
  t.equal(grown(1), undefined, "but not beside a pod that is to go");
  t.same(plain(planScale(deployment(2), set("new", 3), [], 1) ?? []), { new: 2 }, "which keeps nothing from shrinking");
});

t.test("isScaling() compares with the size the sets were made for", async (t) => {
  const made = set("a", 3, 3, { "deployment.kubernetes.io/desired-replicas": "3" });
  t.equal(isScaling(deployment(3), [made]), false);
  t.equal(isScaling(deployment(4), [made]), true);
});
