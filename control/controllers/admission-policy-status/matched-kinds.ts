// Which kinds the expressions of a policy are checked against: those that its rules name without wildcards, ten of a rule at most.

import type { AdmissionPolicy, GroupVersion, GroupVersionKind, ResourceRule } from "./objects.ts";

const mostOfOneRule = 10;

/** `kindOf` tells the kind of a resource, or undefined where it is not served. */
export async function matchedKinds(
  { spec }: Pick<AdmissionPolicy, "spec">,
  kindOf: (at: GroupVersion, resource: string) => Promise<string | undefined>,
): Promise<GroupVersionKind[]> {
  const found = new Map<string, GroupVersionKind>();
  for (const rule of spec?.matchConstraints?.resourceRules ?? []) {
    let count = 0;
    for (const { at, resource } of namedIn(rule)) {
      const kind = await kindOf(at, resource);
      if (kind === undefined) continue;
      found.set(`${at.group}/${at.version}/${kind}`, { ...at, kind });
      if (++count === mostOfOneRule) return inOrder(found.values());
    }
  }
  return inOrder(found.values());
}

function namedIn({ apiGroups = [], apiVersions = [], resources = [] }: ResourceRule) {
  if ([...apiGroups, ...apiVersions].some((name) => name.includes("*"))) return [];
  const named = resources.filter((name) => !/[*/]/.test(name)).sort();
  return [...apiGroups]
    .sort()
    .flatMap((group) =>
      [...apiVersions]
        .sort()
        .flatMap((version) => named.map((resource) => ({ at: { group, version }, resource: resource.toLowerCase() }))),
    );
}

function inOrder(kinds: Iterable<GroupVersionKind>): GroupVersionKind[] {
  const compare = (a: string, b: string) => (a < b ? -1 : a > b ? 1 : 0);
  return [...kinds].sort(
    (a, b) => compare(a.group, b.group) || compare(a.version, b.version) || compare(a.kind, b.kind),
  );
}
