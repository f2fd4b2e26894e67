// The order of a group's versions: which one is preferred.

/** v2 before v1 before v1beta2 before v1alpha1, as Kubernetes orders them. */
export function compareVersions(a: string, b: string): number {
  const rank = (version: string): [number, number, number] => {
    const match = /^v(\d+)(?:(alpha|beta)(\d+))?$/.exec(version);
    if (!match) return [-1, 0, 0];
    return [match[2] === undefined ? 3 : match[2] === "beta" ? 2 : 1, Number(match[1]), Number(match[3] ?? 0)];
  };
  const left = rank(a);
  const right = rank(b);
  for (let at = 0; at < 3; at++) {
    const difference = (right[at] as number) - (left[at] as number);
    if (difference !== 0) return difference;
  }
  return a < b ? -1 : a > b ? 1 : 0;
}
