// Labels of nodes that have successors: who still selects by them is told.

const successors: Readonly<Record<string, string>> = {
  "beta.kubernetes.io/arch": 'deprecated since v1.14; use "kubernetes.io/arch" instead',
  "beta.kubernetes.io/os": 'deprecated since v1.14; use "kubernetes.io/os" instead',
  "failure-domain.beta.kubernetes.io/region": 'deprecated since v1.17; use "topology.kubernetes.io/region" instead',
  "failure-domain.beta.kubernetes.io/zone": 'deprecated since v1.17; use "topology.kubernetes.io/zone" instead',
  "beta.kubernetes.io/instance-type": 'deprecated since v1.17; use "node.kubernetes.io/instance-type" instead',
  "app.kubernetes.io/created-by": "deprecated since v1.9",
  "scheduler.alpha.kubernetes.io/preferAvoidPods": "deprecated since v1.22; use Taints and Tolerations instead",
  "node-role.kubernetes.io/master": 'use "node-role.kubernetes.io/control-plane" instead',
};

export const successorOf = (label: string): string | undefined =>
  Object.hasOwn(successors, label) ? successors[label] : undefined;

interface Term {
  matchExpressions?: { key?: string }[];
}

export function warnOfTerms(terms: readonly (Term | undefined)[] | undefined, at: (index: number) => string): string[] {
  return (terms ?? []).flatMap((term, index) =>
    (term?.matchExpressions ?? []).flatMap(({ key = "" }, which) => {
      const said = successorOf(key);
      return said ? [`${at(index)}.matchExpressions[${which}].key: ${key} is ${said}`] : [];
    }),
  );
}
