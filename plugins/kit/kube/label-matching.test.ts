import fc from "fast-check";
import t from "tap";
import { matcherOf } from "./label-matching.ts";
import { type LabelOperator, type LabelRequirement, matchRequirement } from "./label-selector.ts";
import { parseLabelSelector } from "./selector.ts";

const operators: LabelOperator[] = ["in", "notin", "exists", "!", "=", "!=", "gt", "lt"];
const value = fc.constantFrom("", "x", "y", "1", "2", "-3", "10");
const requirement: fc.Arbitrary<LabelRequirement> = fc
  .record({
    key: fc.constantFrom("a", "b", "c"),
    operator: fc.constantFrom(...operators),
    values: fc.array(value, { minLength: 1, maxLength: 3 }),
  })
  .map(({ values, operator, key }) => {
    const isSet = operator === "in" || operator === "notin";
    const isBare = operator === "exists" || operator === "!";
    return { key, operator, values: isBare ? [] : isSet ? values : values.slice(0, 1) };
  });
const labels = fc.option(fc.dictionary(fc.constantFrom("a", "b", "c", "d"), value), { nil: undefined });

t.test("matcherOf() matches what each of the requirements does", async () => {
  fc.assert(
    fc.property(fc.array(requirement, { maxLength: 6 }), labels, (requirements, labels) => {
      const expected = requirements.every((one) => matchRequirement(one, labels));
      return matcherOf(requirements)(labels) === expected;
    }),
    { numRuns: 5000 },
  );
});

/** Counts how often its labels are looked at. */
function counted(target: Record<string, string>) {
  let looks = 0;
  const count = <T>(value: T): T => {
    looks++;
    return value;
  };
  const proxy = new Proxy(target, {
    get: (object, key) => count(Reflect.get(object, key) as string),
    has: (object, key) => count(Reflect.has(object, key)),
    ownKeys: (object) => count(Reflect.ownKeys(object)),
    getOwnPropertyDescriptor: (object, key) => count(Reflect.getOwnPropertyDescriptor(object, key)),
  });
  return { proxy, looks: () => looks };
}

t.test("a long selector costs an object as much as a short one", async (t) => {
  const many = (text: (n: number) => string) => Array.from({ length: 5000 }, (_, n) => text(n)).join();
  const rows: [name: string, selector: string, isMatch: boolean][] = [
    ["absent keys", many((n) => `!k${n}`), true],
    ["other values", many((n) => `app!=v${n}`), true],
    ["a large set", `app in (${many((n) => `v${n}`)},web)`, true],
    ["a large set without it", `app notin (${many((n) => `v${n}`)},web)`, false],
    ["keys that are not there", many((n) => `k${n}`), false],
  ];
  for (const [name, selector, isMatch] of rows) {
    const { proxy, looks } = counted({ app: "web", tier: "front" });
    t.equal(parseLabelSelector(selector).matches(proxy), isMatch, name);
    t.ok(looks() < 20, `${name}: ${looks()} looks`);
  }
});
