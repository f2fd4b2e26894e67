// Names of kube-scheduler's plugins that are called otherwise here, or whose work is not a plugin's.

/** Scores by upstream's name. */
const scores: Readonly<Record<string, string>> = {
  NodeResourcesFit: "LeastAllocated",
  NodeResourcesBalancedAllocation: "BalancedAllocation",
};

export const preemptionName = "DefaultPreemption";
export const binderName = "DefaultBinder";
export const sortName = "PrioritySort";

/** Done by the queue, the preemption and the binding. */
const elsewhere = new Set(["SchedulingGates", sortName, preemptionName, binderName]);

export function ownScore(name: string): string | undefined {
  return Object.hasOwn(scores, name) ? scores[name] : undefined;
}

export const isElsewhere = (name: string) => elsewhere.has(name);
