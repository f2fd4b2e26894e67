import fc from "fast-check";
import t from "tap";
import { coverageOf } from "./covers.ts";
import { type PolicyRule, pathMatches } from "./objects.ts";

/** The definition: breaks rules into single permissions and asks for each whether any held rule grants it. */
function uncoveredPermissions(held: readonly PolicyRule[], wanted: readonly PolicyRule[]): Set<string> {
  const grants = (list: readonly string[] | undefined, value: string) =>
    list !== undefined && (list.includes("*") || list.includes(value));
  const grantsResource = (list: readonly string[] | undefined, value: string) =>
    grants(list, value) || (value.includes("/") && list?.includes(`*${value.slice(value.indexOf("/"))}`) === true);
  const missing = new Set<string>();
  for (const rule of wanted)
    for (const verb of rule.verbs) {
      for (const group of rule.apiGroups ?? [])
        for (const resource of rule.resources ?? [])
          for (const name of rule.resourceNames?.length ? rule.resourceNames : [undefined]) {
            const isHeld = held.some(
              (one) =>
                grants(one.verbs, verb) &&
                grants(one.apiGroups, group) &&
                grantsResource(one.resources, resource) &&
                (!one.resourceNames?.length || (name !== undefined && one.resourceNames.includes(name))),
            );
            if (!isHeld) missing.add(JSON.stringify([verb, group, resource, name]));
          }
      for (const url of rule.nonResourceURLs ?? []) {
        const isHeld = held.some(
          (one) =>
            grants(one.verbs, verb) &&
            !one.resourceNames?.length &&
            (one.nonResourceURLs ?? []).some((own) => pathMatches(own, url)),
        );
        if (!isHeld) missing.add(JSON.stringify([verb, url]));
      }
    }
  return missing;
}

function permissionsOf(rules: readonly PolicyRule[]): Set<string> {
  const single = new Set<string>();
  for (const { verbs, apiGroups: [group] = [], resources: [resource] = [], resourceNames, nonResourceURLs } of rules)
    for (const verb of verbs)
      single.add(
        JSON.stringify(nonResourceURLs ? [verb, nonResourceURLs[0]] : [verb, group, resource, resourceNames?.[0]]),
      );
  return single;
}

const list = (...values: string[]) => fc.array(fc.constantFrom(...values), { maxLength: 4 });
const anyRule: fc.Arbitrary<PolicyRule> = fc.record(
  {
    verbs: list("get", "list", "create", "*"),
    apiGroups: list("", "apps", "batch", "*"),
    resources: list("pods", "pods/log", "pods/*", "*/scale", "deployments/scale", "*"),
    resourceNames: list("a", "b", "c"),
    nonResourceURLs: list("/metrics", "/healthz/*", "/healthz/ping", "*", "/"),
  },
  { requiredKeys: ["verbs"] },
);

t.test("coverageOf() finds what a comparison of every single permission finds", async () => {
  fc.assert(
    fc.property(fc.array(anyRule, { maxLength: 5 }), fc.array(anyRule, { maxLength: 3 }), (held, wanted) => {
      const expected = [...uncoveredPermissions(held, wanted)].sort();
      const found = [...permissionsOf(coverageOf(held, wanted).missing)].sort();
      if (JSON.stringify(found) !== JSON.stringify(expected))
        throw new Error(`${JSON.stringify(found)} instead of ${JSON.stringify(expected)}`);
    }),
    { numRuns: 5000 },
  );
});

const many = (prefix: string, count: number) => Array.from({ length: count }, (_, n) => `${prefix}${n}`);
const large: PolicyRule = { verbs: many("v", 300), apiGroups: many("g", 300), resources: many("r", 300) };
const limits = { mostRules: 100, mostSteps: 1_000_000 };

t.test("coverageOf() of 300 verbs, groups and resources takes steps of their sum, not of their product", async (t) => {
  const admin: PolicyRule[] = [
    { verbs: ["get", "list"], apiGroups: ["", "apps"], resources: ["pods", "pods/log", "deployments"] },
    { verbs: ["*"], apiGroups: ["g7"], resources: ["r1", "r2"] },
    { verbs: ["v1"], apiGroups: ["*"], resources: ["*"] },
  ];
  const refused = coverageOf(admin, [large], limits);
  t.equal(refused.missing.length, limits.mostRules);
  t.ok(refused.isTruncated);
  t.ok(refused.steps < 10_000, `${refused.steps} steps`);
  const named = coverageOf(admin, [{ ...large, resourceNames: many("n", 300) }], limits);
  t.ok(named.isTruncated && named.steps < 10_000, `${named.steps} steps`);
  const granted = coverageOf([...admin, { verbs: ["*"], apiGroups: ["*"], resources: ["*"] }], [large], limits);
  t.same(granted.missing, []);
  t.ok(granted.steps < 10_000, `${granted.steps} steps`);
  const halves = [
    { ...large, verbs: large.verbs.slice(150) },
    { ...large, verbs: large.verbs.slice(0, 150) },
  ];
  t.same(coverageOf(halves, [large], limits).missing, []);
});

t.test("coverageOf() gives up, uncovered, where held rules were made to be costly", async (t) => {
  // Every value is granted by a set of rules of its own, so that nothing can be compared together.
  const held = many("", 300).map((_, n) => ({
    verbs: large.verbs.toSpliced(n, 1),
    apiGroups: large.apiGroups?.toSpliced(n, 1) ?? [],
    resources: large.resources?.toSpliced(n, 1) ?? [],
  }));
  const coverage = coverageOf(held, [large], limits);
  t.ok(coverage.isTooComplex);
  t.ok(coverage.steps <= limits.mostSteps + 1000, `${coverage.steps} steps`);
});
