// Whether one set of rules grants everything that another does; upstream's definition of privilege coverage. Pure.
//
// A rule grants the product of its verbs, groups, resources and names. The products are never expanded, since a rule of a
// few kilobytes may stand for millions of single permissions: values that the same held rules grant are compared together,
// one dimension after the other.

import { type PolicyRule, pathMatches } from "./objects.ts";

export interface CoverageLimits {
  /** How many missing rules are named. */
  readonly mostRules: number;
  /** How many single comparisons are made before the rules count as not covered. */
  readonly mostSteps: number;
}

export interface Coverage {
  /** What is not granted: one resource or URL each, with all of its missing verbs. */
  readonly missing: PolicyRule[];
  /** There is more than `mostRules` say. */
  readonly isTruncated: boolean;
  /** The comparison was given up: whether `wanted` is covered is not known. */
  readonly isTooComplex: boolean;
  readonly steps: number;
}

const noLimits: CoverageLimits = { mostRules: Number.POSITIVE_INFINITY, mostSteps: Number.POSITIVE_INFINITY };

/** What of `wanted` is not granted by `held`. Without limits only for rules that no client wrote. */
export function coverageOf(
  held: readonly PolicyRule[],
  wanted: readonly PolicyRule[],
  limits: CoverageLimits = noLimits,
): Coverage {
  const comparison = new Comparison(limits);
  const indexed = held.map(indexOf);
  for (const rule of wanted) {
    if (comparison.isOver) break;
    comparison.compare(indexed, rule);
  }
  const { isTruncated, isTooComplex, steps } = comparison;
  return { missing: compactRules(comparison.missing), isTruncated, isTooComplex, steps };
}

/** A held rule, for lookups. */
interface HeldRule {
  readonly verbs: ReadonlySet<string>;
  readonly groups: ReadonlySet<string>;
  readonly resources: ReadonlySet<string>;
  readonly names: ReadonlySet<string>;
  readonly urls: readonly string[];
}

function indexOf(rule: PolicyRule): HeldRule {
  return {
    verbs: new Set(rule.verbs),
    groups: new Set(rule.apiGroups),
    resources: new Set(rule.resources),
    names: new Set(rule.resourceNames),
    urls: rule.nonResourceURLs ?? [],
  };
}

/** One of the lists of a wanted rule, and who grants a value of it. */
interface Dimension {
  readonly values: readonly string[];
  readonly grants: (held: HeldRule, value: string) => boolean;
  /** What one call of `grants` costs. */
  readonly cost?: (held: HeldRule) => number;
}

const hasOrAll = (set: ReadonlySet<string>, value: string) => set.has("*") || set.has(value);
const grantsVerb: Dimension["grants"] = ({ verbs }, verb) => hasOrAll(verbs, verb);
const grantsGroup: Dimension["grants"] = ({ groups }, group) => hasOrAll(groups, group);
const grantsName: Dimension["grants"] = ({ names }, name) => names.size === 0 || names.has(name);
/** A rule for every name is covered only by rules that are for every name, too. */
const grantsAllNames: Dimension["grants"] = ({ names }) => names.size === 0;

function grantsResource({ resources }: HeldRule, resource: string): boolean {
  if (hasOrAll(resources, resource)) return true;
  const slash = resource.indexOf("/");
  return slash >= 0 && resources.has(`*${resource.slice(slash)}`);
}

// A held rule with names is one for resources, whatever URLs it lists.
const grantsUrl: Dimension["grants"] = ({ urls, names }, url) =>
  names.size === 0 && urls.some((own) => pathMatches(own, url));

class Comparison {
  readonly missing: PolicyRule[] = [];
  isTruncated = false;
  isTooComplex = false;
  steps = 0;
  readonly #limits: CoverageLimits;

  constructor(limits: CoverageLimits) {
    this.#limits = limits;
  }

  get isOver(): boolean {
    return this.isTruncated || this.isTooComplex;
  }

  compare(held: readonly HeldRule[], rule: PolicyRule): void {
    const verbs: Dimension = { values: unique(rule.verbs), grants: grantsVerb };
    const groups: Dimension = { values: unique(rule.apiGroups), grants: grantsGroup };
    const resources: Dimension = { values: unique(rule.resources), grants: grantsResource };
    const urls: Dimension = {
      values: unique(rule.nonResourceURLs),
      grants: grantsUrl,
      cost: (one) => one.urls.length,
    };
    const hasNames = rule.resourceNames !== undefined && rule.resourceNames.length > 0;
    const names: Dimension = hasNames
      ? { values: unique(rule.resourceNames), grants: grantsName }
      : { values: [""], grants: grantsAllNames };
    // Verbs come last: what is missing is named by resource or URL, with all of its verbs.
    this.#divide([groups, resources, names, verbs], held, [], ([group = "", resource = "", name = ""], missing) => ({
      verbs: missing,
      apiGroups: [group],
      resources: [resource],
      ...(hasNames ? { resourceNames: [name] } : {}),
    }));
    this.#divide([urls, verbs], held, [], ([url = ""], missing) => ({ verbs: missing, nonResourceURLs: [url] }));
  }

  /** `chosen` are values of the dimensions done already, and `held` the rules that grant each of them. */
  #divide(
    rest: readonly Dimension[],
    held: readonly HeldRule[],
    chosen: readonly (readonly string[])[],
    describe: (place: readonly string[], verbs: string[]) => PolicyRule,
  ): void {
    const [first, ...others] = rest;
    if (this.isOver || rest.some(({ values }) => values.length === 0)) return;
    if (held.some((one) => this.#grantsAll(one, rest)) || this.isOver) return;
    if (!first || held.length === 0) {
      const [verbs = [], ...places] = [...chosen, ...rest.map(({ values }) => values)].toReversed();
      for (const place of product(places.toReversed())) {
        if (this.missing.length >= this.#limits.mostRules) {
          this.isTruncated = true;
          return;
        }
        this.missing.push(describe(place, [...verbs]));
      }
      return;
    }
    const classes = new Map<string, { values: string[]; held: HeldRule[] }>();
    for (const value of first.values) {
      const granting = held.flatMap((one, at) => (this.#grants(first, one, value) ? [at] : []));
      if (this.isOver) return;
      const key = granting.join();
      const known = classes.get(key);
      if (known) known.values.push(value);
      else classes.set(key, { values: [value], held: granting.map((at) => held[at] as HeldRule) });
    }
    for (const { values, held: granting } of classes.values())
      this.#divide(others, granting, [...chosen, values], describe);
  }

  #grantsAll(held: HeldRule, dimensions: readonly Dimension[]): boolean {
    return dimensions.every((dimension) => dimension.values.every((value) => this.#grants(dimension, held, value)));
  }

  #grants(dimension: Dimension, held: HeldRule, value: string): boolean {
    this.steps += 1 + (dimension.cost?.(held) ?? 0);
    if (this.steps > this.#limits.mostSteps) this.isTooComplex = true;
    return !this.isTooComplex && dimension.grants(held, value);
  }
}

const unique = (values: readonly string[] | undefined): string[] => [...new Set(values)];

/** Every choice of one value from each list, made one at a time. */
function* product(lists: readonly (readonly string[])[]): Generator<string[]> {
  const [first, ...others] = lists;
  if (!first) return yield [];
  for (const value of first) for (const rest of product(others)) yield [value, ...rest];
}

/** `{APIGroups:[""], Resources:["pods"], Verbs:["get"]}`, as upstream prints a rule. */
export function describeRule(rule: PolicyRule): string {
  const list = (values: readonly string[]) => `[${values.map((value) => JSON.stringify(value)).join(" ")}]`;
  const parts: string[] = [];
  if (rule.apiGroups?.length) parts.push(`APIGroups:${list(rule.apiGroups)}`);
  if (rule.resources?.length) parts.push(`Resources:${list(rule.resources)}`);
  if (rule.nonResourceURLs?.length) parts.push(`NonResourceURLs:${list(rule.nonResourceURLs)}`);
  if (rule.resourceNames?.length) parts.push(`ResourceNames:${list(rule.resourceNames)}`);
  if (rule.verbs.length) parts.push(`Verbs:${list(rule.verbs)}`);
  return `{${parts.join(", ")}}`;
}

/** Puts rules that differ only in their verbs together, so that each resource is named once. */
function compactRules(pieces: readonly PolicyRule[]): PolicyRule[] {
  const byPlace = new Map<string, PolicyRule>();
  for (const piece of pieces) {
    const key = JSON.stringify([piece.apiGroups, piece.resources, piece.resourceNames, piece.nonResourceURLs]);
    const known = byPlace.get(key);
    if (!known) byPlace.set(key, { ...piece, verbs: [...piece.verbs] });
    else known.verbs = [...new Set([...known.verbs, ...piece.verbs])];
  }
  return [...byPlace.values()];
}
