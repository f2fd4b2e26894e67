// The flow schemas and priority levels that every server has: their specs may not differ from these.

import { deepEqual } from "../../machinery/equal.ts";

const everything = {
  resourceRules: [{ verbs: ["*"], apiGroups: ["*"], resources: ["*"], clusterScope: true, namespaces: ["*"] }],
  nonResourceRules: [{ verbs: ["*"], nonResourceURLs: ["*"] }],
};
const groups = (...names: string[]) => names.map((name) => ({ kind: "Group", group: { name } }));

export const mandatorySchemas: ReadonlyMap<string, object> = new Map([
  [
    "exempt",
    {
      priorityLevelConfiguration: { name: "exempt" },
      matchingPrecedence: 1,
      rules: [{ subjects: groups("system:masters"), ...everything }],
    },
  ],
  [
    "catch-all",
    {
      priorityLevelConfiguration: { name: "catch-all" },
      matchingPrecedence: 10000,
      distinguisherMethod: { type: "ByUser" },
      rules: [{ subjects: groups("system:unauthenticated", "system:authenticated"), ...everything }],
    },
  ],
]);

/** Without `exempt` of the level of that name, which may be changed. */
export const mandatoryLevels: ReadonlyMap<string, object> = new Map<string, object>([
  ["exempt", { type: "Exempt" }],
  [
    "catch-all",
    {
      type: "Limited",
      limited: { nominalConcurrencyShares: 5, lendablePercent: 0, limitResponse: { type: "Reject" } },
    },
  ],
]);

/** As upstream compares them: an empty list is an absent one. */
export function isSameSpec(a: unknown, b: unknown): boolean {
  return deepEqual(withoutEmpty(a), withoutEmpty(b));
}

function withoutEmpty(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutEmpty);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .filter(([, one]) => one !== null && !(Array.isArray(one) && one.length === 0))
      .map(([key, one]) => [key, withoutEmpty(one)]),
  );
}
