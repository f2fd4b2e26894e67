// Label selectors, in their text form and as they stand in specs, with the matching rules of Kubernetes.

import { Fault } from "../base/fault.ts";
import { matcherOf } from "./label-matching.ts";

export interface LabelSelectorMatcher {
  matches(labels: Readonly<Record<string, string>> | undefined): boolean;
  /** True when there is no requirement at all. */
  readonly isEverything: boolean;
  /** The requirements, sorted by key; empty also for a selector that matches nothing. */
  readonly requirements: readonly LabelRequirement[];
  /** The canonical text: requirements sorted by key, values sorted. */
  toString(): string;
}

export type LabelOperator = "in" | "notin" | "exists" | "!" | "=" | "!=" | "gt" | "lt";

export interface LabelRequirement {
  readonly key: string;
  readonly operator: LabelOperator;
  readonly values: readonly string[];
}

/** A selector as it stands in a spec. */
export interface LabelSelector {
  matchLabels?: Record<string, string>;
  matchExpressions?: readonly { key: string; operator: string; values?: readonly string[] }[];
}

const namePart = /^[A-Za-z0-9](?:[A-Za-z0-9._-]{0,61}[A-Za-z0-9])?$/;
const prefixPart = /^[a-z0-9](?:[a-z0-9-]*[a-z0-9])?(?:\.[a-z0-9](?:[a-z0-9-]*[a-z0-9])?)*$/;

/** A label or annotation key: an optional DNS subdomain, a slash, a name of at most 63 characters. */
export function isLabelKey(key: string): boolean {
  const parts = key.split("/");
  if (parts.length > 2) return false;
  const [prefix, name] = parts.length === 2 ? [parts[0], parts[1]] : [undefined, parts[0]];
  if (prefix !== undefined && (prefix.length === 0 || prefix.length > 253 || !prefixPart.test(prefix))) return false;
  return namePart.test(name ?? "");
}

export function isLabelValue(value: string): boolean {
  return value === "" || namePart.test(value);
}

export function matchRequirement(
  requirement: LabelRequirement,
  labels: Readonly<Record<string, string>> | undefined,
): boolean {
  const { key, operator, values } = requirement;
  const has = labels !== undefined && Object.hasOwn(labels, key);
  const value = has ? labels[key] : undefined;
  switch (operator) {
    case "=":
    case "in":
      return has && values.includes(value ?? "");
    case "!=":
    case "notin":
      return !has || !values.includes(value ?? "");
    case "exists":
      return has;
    case "!":
      return !has;
    case "gt":
    case "lt":
      return has && compareIntegers(operator, value ?? "", values[0] ?? "");
  }
}

const integer = /^[+-]?\d{1,19}$/;

function compareIntegers(operator: "gt" | "lt", left: string, right: string): boolean {
  if (!integer.test(left) || !integer.test(right)) return false;
  return operator === "gt" ? BigInt(left) > BigInt(right) : BigInt(left) < BigInt(right);
}

/** What is compared one by one is compared as quickly as it is put together. */
const fewRequirements = 8;

/** A matcher of all the given requirements. */
export function matchAll(requirements: readonly LabelRequirement[]): LabelSelectorMatcher {
  const sorted = requirements.toSorted((a, b) => (a.key < b.key ? -1 : a.key > b.key ? 1 : 0));
  const isShort = sorted.length <= fewRequirements && sorted.every(({ values }) => values.length <= fewRequirements);
  let together: ReturnType<typeof matcherOf> | undefined;
  return {
    requirements: sorted,
    isEverything: sorted.length === 0,
    matches: (labels) => {
      if (isShort) return sorted.every((requirement) => matchRequirement(requirement, labels));
      together ??= matcherOf(sorted);
      return together(labels);
    },
    toString: () => sorted.map(printRequirement).join(","),
  };
}

const nothing: LabelSelectorMatcher = {
  requirements: [],
  isEverything: false,
  matches: () => false,
  toString: () => "",
};

function printRequirement({ key, operator, values }: LabelRequirement): string {
  const sorted = values.toSorted();
  switch (operator) {
    case "in":
    case "notin":
      return `${key} ${operator} (${sorted.join(",")})`;
    case "exists":
      return key;
    case "!":
      return `!${key}`;
    case "=":
    case "!=":
      return `${key}${operator}${sorted[0] ?? ""}`;
    case "gt":
      return `${key}>${sorted[0] ?? ""}`;
    case "lt":
      return `${key}<${sorted[0] ?? ""}`;
  }
}

const specOperators: Readonly<Record<string, LabelOperator>> = {
  In: "in",
  NotIn: "notin",
  Exists: "exists",
  DoesNotExist: "!",
};

/** A matcher for a selector of a spec: an absent one matches nothing, an empty one everything. Throws Fault `invalid`. */
export function labelSelectorOf(selector: LabelSelector | undefined | null): LabelSelectorMatcher {
  if (selector === undefined || selector === null) return nothing;
  const fromLabels = Object.entries(selector.matchLabels ?? {}).map(([key, value]) =>
    checkRequirement({ key, operator: "in", values: [value] }),
  );
  const fromExpressions = (selector.matchExpressions ?? []).map(({ key, operator, values }) => {
    const known = Object.hasOwn(specOperators, operator) ? specOperators[operator] : undefined;
    if (!known) throw new Fault("invalid", `"${operator}" is not a valid label selector operator`);
    return checkRequirement({ key, operator: known, values: values ?? [] });
  });
  const all = matchAll([...fromLabels, ...fromExpressions]);
  // Single values of matchLabels print as `key=value`, as upstream's formatting does.
  const printed = () =>
    matchAll([
      ...fromLabels.map((requirement): LabelRequirement => ({ ...requirement, operator: "=" })),
      ...fromExpressions,
    ]).toString();
  return { ...all, toString: printed };
}

/** Returns the requirement if its key, operator and values fit together; throws Fault `invalid` otherwise. */
export function checkRequirement(requirement: LabelRequirement): LabelRequirement {
  const { key, operator, values } = requirement;
  if (!isLabelKey(key)) throw new Fault("invalid", `"${key}" is not a valid label key`);
  const wrong = values.find((value) => !isLabelValue(value));
  if (wrong !== undefined) throw new Fault("invalid", `"${wrong}" is not a valid label value for key "${key}"`);
  if ((operator === "in" || operator === "notin") && values.length === 0)
    throw new Fault("invalid", `Label selector on "${key}": for 'in', 'notin' operators, values set can't be empty`);
  if ((operator === "exists" || operator === "!") && values.length > 0)
    throw new Fault("invalid", `Label selector on "${key}": values set must be empty for exists and does not exist`);
  if ((operator === "gt" || operator === "lt") && !integer.test(values[0] ?? ""))
    throw new Fault("invalid", `Label selector on "${key}": for 'Gt', 'Lt' operators, the value must be an integer`);
  return requirement;
}
