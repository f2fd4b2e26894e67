import t from "tap";
import type { Pod } from "../../plugins/kit/kube/objects/types.ts";
import { defaultProfile, node, pod, requesting, snapshot } from "../../test/harness/scheduling.ts";
import { decide } from "./decide.ts";
import { type DisruptionBudget, enoughCandidates, findCandidates, leastDamage } from "./preemption.ts";

const profile = await defaultProfile();
const small = { allocatable: { cpu: "2" } };
const running = (name: string, cpu: string, priority: number, labels: Record<string, string> = {}) =>
  pod(name, { ...requesting(cpu), priority }, labels);
const urgent = (cpu: string, more: object = {}) => pod("urgent", { ...requesting(cpu), priority: 1000, ...more });

function plan(incoming: Pod, bound: [Pod, string][], budgets: DisruptionBudget[] = []) {
  const cluster = snapshot([node("a", {}, small), node("b", {}, small)], bound);
  const decision = decide(incoming, cluster, profile, { startAt: 0, random: () => 0 });
  if (!("fitError" in decision)) throw new Error("it fits without preemption");
  const found = leastDamage(findCandidates(incoming, cluster, profile, decision.fitError, { budgets }));
  return found && { node: found.nodeName, victims: found.victims.map(({ metadata }) => metadata.name) };
}

t.test("findCandidates() and leastDamage()", async (t) => {
  const two = (a: number, b: number): [Pod, string][] => [
    [running("on-a", "2", a), "a"],
    [running("on-b", "2", b), "b"],
  ];
  t.same(plan(urgent("1"), two(10, 5)), { node: "b", victims: ["on-b"] }, "the less important victim goes");
  t.same(plan(urgent("1"), two(2000, 2000)), undefined, "nobody of higher priority goes");
  t.same(plan(urgent("1", { preemptionPolicy: "Never" }), two(1, 1)), undefined, "a pod may decline to preempt");
  t.same(plan(urgent("3"), two(1, 1)), undefined, "a node that is too small is not emptied in vain");
  t.same(
    plan(urgent("1"), [
      [running("big", "1", 1), "a"],
      [running("small", "1", 2), "a"],
      [running("full", "2", 500), "b"],
    ]),
    { node: "a", victims: ["big"] },
    "only as many as needed, the most important stay",
  );
  const budget: DisruptionBudget = {
    metadata: { namespace: "default" },
    spec: { selector: { matchLabels: { guard: "yes" } } },
    status: { disruptionsAllowed: 0 },
  };
  t.same(
    plan(
      urgent("1"),
      [
        [running("guarded", "2", 1, { guard: "yes" }), "a"],
        [running("free", "2", 9), "b"],
      ],
      [budget],
    ),
    { node: "b", victims: ["free"] },
    "a budget is kept where that is possible",
  );
});

t.test("findCandidates() looks at enough nodes of a large cluster, from where it is told to begin", async (t) => {
  const names = Array.from({ length: 300 }, (_, index) => `n${index}`);
  // The least harm would be on the very last one.
  const bound = names.map((name, index): [Pod, string] => [running(`on-${name}`, "2", 300 - index), name]);
  const cluster = snapshot(
    names.map((name) => node(name, {}, small)),
    bound,
  );
  const incoming = urgent("1");
  const decision = decide(incoming, cluster, profile, { startAt: 0, random: () => 0 });
  if (!("fitError" in decision)) throw new Error("it fits without preemption");
  const { fitError } = decision;
  const best = (startAt = 0, candidates?: { percentage: number; absolute: number }) =>
    leastDamage(
      findCandidates(incoming, cluster, { ...profile, ...(candidates ? { candidates } : {}) }, fitError, {
        budgets: [],
        startAt,
      }),
    )?.nodeName;
  t.equal(best(), "n99", "the best of the first hundred");
  t.equal(best(250), "n299");
  t.equal(best(0, { percentage: 10, absolute: 20 }), "n29", "a tenth, as the profile says");
  t.equal(best(0, { percentage: 1, absolute: 20 }), "n19", "and at least so many");
  t.same(
    [50, 1000, 5000].map((count) => enoughCandidates(count)),
    [100, 100, 500],
  );
});
