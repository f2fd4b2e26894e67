// Matching labels against many requirements: they are put together by key once, so that an object costs a look at its own
// labels, however long the selector is.

import type { LabelRequirement } from "./label-selector.ts";

type Labels = Readonly<Record<string, string>>;

/** What all requirements on one key come to. */
interface KeyRule {
  isRequired: boolean;
  isExcluded: boolean;
  /** Values of which one must be there; undefined allows all. */
  oneOf: Set<string> | undefined;
  readonly noneOf: Set<string>;
  above: bigint | undefined;
  below: bigint | undefined;
}

const integer = /^[+-]?\d{1,19}$/;

export function matcherOf(requirements: readonly LabelRequirement[]): (labels: Labels | undefined) => boolean {
  const ruleByKey = new Map<string, KeyRule>();
  for (const requirement of requirements) {
    const { key } = requirement;
    const rule = ruleByKey.get(key) ?? newRule();
    ruleByKey.set(key, rule);
    add(rule, requirement);
  }
  const required = [...ruleByKey].filter(([, { isRequired }]) => isRequired).map(([key]) => key);
  return (labels = {}) => {
    if (!required.every((key) => Object.hasOwn(labels, key))) return false;
    for (const key of Object.keys(labels)) {
      const rule = ruleByKey.get(key);
      if (rule && !allows(rule, labels[key] ?? "")) return false;
    }
    return true;
  };
}

const newRule = (): KeyRule => ({
  isRequired: false,
  isExcluded: false,
  oneOf: undefined,
  noneOf: new Set(),
  above: undefined,
  below: undefined,
});

function add(rule: KeyRule, { operator, values }: LabelRequirement): void {
  const [first = ""] = values;
  rule.isRequired ||= operator !== "!" && operator !== "!=" && operator !== "notin";
  switch (operator) {
    case "=":
    case "in": {
      const { oneOf } = rule;
      rule.oneOf = new Set(oneOf ? values.filter((value) => oneOf.has(value)) : values);
      return;
    }
    case "!=":
    case "notin":
      for (const value of values) rule.noneOf.add(value);
      return;
    case "!":
      rule.isExcluded = true;
      return;
    case "gt":
    case "lt":
      if (!integer.test(first)) rule.oneOf = new Set();
      else if (operator === "gt") rule.above = larger(rule.above, BigInt(first));
      else rule.below = smaller(rule.below, BigInt(first));
      return;
    case "exists":
  }
}

const larger = (a: bigint | undefined, b: bigint): bigint => (a !== undefined && a > b ? a : b);
const smaller = (a: bigint | undefined, b: bigint): bigint => (a !== undefined && a < b ? a : b);

function allows({ isExcluded, oneOf, noneOf, above, below }: KeyRule, value: string): boolean {
  if (isExcluded || noneOf.has(value) || (oneOf && !oneOf.has(value))) return false;
  if (above === undefined && below === undefined) return true;
  if (!integer.test(value)) return false;
  const number = BigInt(value);
  return (above === undefined || number > above) && (below === undefined || number < below);
}
