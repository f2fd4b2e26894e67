// Which labels of its own node a kubelet may set: those outside of Kubernetes' namespaces, and the kubelet's own.

const kubeletLabels = new Set([
  "beta.kubernetes.io/arch",
  "beta.kubernetes.io/instance-type",
  "beta.kubernetes.io/os",
  "failure-domain.beta.kubernetes.io/region",
  "failure-domain.beta.kubernetes.io/zone",
  "kubernetes.io/arch",
  "kubernetes.io/hostname",
  "kubernetes.io/os",
  "node.kubernetes.io/instance-type",
  "node.kubernetes.io/windows-build",
  "topology.kubernetes.io/region",
  "topology.kubernetes.io/zone",
]);
const kubeletDomains = ["kubelet.kubernetes.io", "node.kubernetes.io"];

type Labels = Readonly<Record<string, string>> | undefined;

/** Labels that were set, changed or taken away and must not be, sorted. */
export function forbiddenLabels(next: Labels, previous: Labels): string[] {
  const names = new Set([...Object.keys(next ?? {}), ...Object.keys(previous ?? {})]);
  return [...names].filter((name) => next?.[name] !== previous?.[name] && isForbidden(name)).sort();
}

function isForbidden(name: string): boolean {
  const domain = name.includes("/") ? (name.split("/")[0] ?? "") : "";
  const within = (parent: string) => domain === parent || domain.endsWith(`.${parent}`);
  if (!within("kubernetes.io") && !within("k8s.io")) return false;
  return !kubeletLabels.has(name) && !kubeletDomains.some(within);
}
