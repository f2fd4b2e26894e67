// Names of kube-scheduler's plugins that are called otherwise here, or whose work is not a plugin's.

/** Scores by upstream's name. */
const scores: Readonly<Record<string, string>> = {
  NodeResourcesFit: "LeastAllocated",
  NodeResourcesBalancedAllocation: "BalancedAllocation",
};

export const preemptionName = "DefaultPreemption";

/** Done by the queue, the preemption and the binding: always there, and with nothing to choose. */
const elsewhere = new Set(["SchedulingGates", "PrioritySort", preemptionName, "DefaultBinder"]);

/** Arguments that say what is the case here anyway, as a configuration that was written out in full does. */
const usualArguments: Readonly<Record<string, Readonly<Record<string, unknown>>>> = {
  [preemptionName]: { minCandidateNodesAbsolute: 100, minCandidateNodesPercentage: 10 },
  InterPodAffinity: { hardPodAffinityWeight: 1, ignorePreferredTermsOfExistingPods: false },
  NodeResourcesBalancedAllocation: {
    resources: [
      { name: "cpu", weight: 1 },
      { name: "memory", weight: 1 },
    ],
  },
  PodTopologySpread: { defaultingType: "System" },
  VolumeBinding: { bindTimeoutSeconds: 600 },
};

/** The name of the first argument that asks for something else than is done here. */
export function unusualArgument(name: string, args: unknown): string | undefined {
  const usual = usualArguments[name] ?? {};
  const isUsual = ([key, value]: [string, unknown]) =>
    value === null || (Object.hasOwn(usual, key) && JSON.stringify(value) === JSON.stringify(usual[key]));
  return Object.entries(args ?? {}).find((entry) => !isUsual(entry))?.[0];
}

export function ownScore(name: string): string | undefined {
  return Object.hasOwn(scores, name) ? scores[name] : undefined;
}

export const isElsewhere = (name: string) => elsewhere.has(name);
