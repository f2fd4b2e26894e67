// What evaluating an expression may cost at most, from the sizes that schemas declare, in the units and by the formulas of Kubernetes
// v1.32: a rule that upstream refuses as too expensive is refused here, and the other way round.

import type { CelType, Declared } from "./types.ts";

export interface Range {
  readonly min: number;
  readonly max: number;
}

/** What is known of a part of an expression. */
export interface Part {
  readonly type: CelType;
  readonly cost: Range;
  /** The way to it through the declared types, the variable first. */
  readonly path?: readonly string[] | undefined;
  /** Where the expression itself tells the size. */
  readonly size?: Range | undefined;
  readonly literal?: unknown;
}

export interface CallCost {
  readonly cost: Range;
  readonly size?: Range;
}

const limit = 2 ** 64;
const capped = (value: number): number => Math.min(value, limit);
export const range = (min: number, max = min): Range => ({ min, max });
export const free = range(0);
export const one = range(1);
export const newList = range(10);
export const newMap = range(30);
const unknownSize = range(0, limit);

export const plus = (...all: readonly Range[]): Range =>
  all.reduce((sum, each) => range(capped(sum.min + each.min), capped(sum.max + each.max)), free);
export const times = (a: Range, b: Range): Range =>
  range(a.min && b.min && capped(a.min * b.min), a.max && b.max && capped(a.max * b.max));
const either = (a: Range, b: Range): Range => range(Math.min(a.min, b.min), Math.max(a.max, b.max));
const scaled = ({ min, max }: Range, factor: number): Range =>
  range(capped(Math.ceil(min * factor)), capped(Math.ceil(max * factor)));

const perCharacter = 0.1;
const perPatternCharacter = 0.25;
const traversed = (size: Range): Range => scaled(size, perCharacter);
const patternCost = (value: Range, pattern: Range): Range =>
  times(traversed(plus(value, one)), scaled(pattern, perPatternCharacter));

/** Sizes of what comes from outside, by the way through the declared types; all ways begin at the one root. */
export class Sizes {
  readonly #root: Declared | undefined;

  constructor(root: Declared | undefined) {
    this.#root = root;
  }

  #declaredAt(path: readonly string[] | undefined): Range | undefined {
    if (!path?.length || !this.#root) return undefined;
    let at: Declared | undefined = this.#root;
    for (const step of path.slice(1)) {
      if (step === "@items" || step === "@values") at = at.element;
      else if (step === "@keys") at = at.key;
      else at = at.type.fields?.get(step);
      if (!at) return undefined;
    }
    return range(0, at.maxElements);
  }

  /** As Kubernetes' own functions see it. */
  of(part: Pick<Part, "path" | "size">): Range {
    return part.size ?? this.#declaredAt(part.path) ?? unknownSize;
  }

  /** As CEL's own functions see it. */
  measured(part: Part): Range {
    return part.size ?? this.#declaredAt(part.path) ?? (isScalar(part.type) ? one : unknownSize);
  }
}

const scalars = new Set(["bool", "double", "duration", "int", "timestamp", "uint"]);
const isScalar = ({ kind }: CelType): boolean => scalars.has(kind);
const opaque = /^(net\.(IP|CIDR)|kubernetes\.(Quantity|URL|authorization\..*))$/;

type Estimate = (sizes: Sizes, args: readonly Part[], target: Part | undefined) => CallCost | undefined;

const nominal: Estimate = () => ({ cost: one });
const ofFirst =
  (factor: number): Estimate =>
  (sizes, [first]) =>
    first && { cost: scaled(sizes.of(first), factor * perCharacter) };
const sameSize: Estimate = (sizes, _args, target) => {
  if (!target) return undefined;
  const size = sizes.of(target);
  return { cost: traversed(size), size };
};
const overList: Estimate = (sizes, _args, target) => {
  if (!target) return undefined;
  const element = target.type.params?.[0];
  if (!element) return { cost: traversed(sizes.of(target)) };
  const isText = element.kind === "string" || element.kind === "bytes";
  const each = isText ? plus(one, traversed(sizes.of(elementOf(target)))) : one;
  return { cost: times(sizes.of(target), each) };
};
const elementOf = ({ path }: Part): Pick<Part, "path"> => ({ path: path && [...path, "@items"] });
const found: Estimate = (sizes, [pattern], target) => {
  if (!target || !pattern) return undefined;
  const size = sizes.of(target);
  return { cost: patternCost(size, sizes.of(pattern)), size: range(0, size.max) };
};
const addressBytes = range(4, 16);
const inPrefix =
  (alsoMasked: boolean): Estimate =>
  (sizes, [other]) =>
    other && {
      cost: plus(
        traversed(plus(addressBytes, addressBytes)),
        alsoMasked ? plus(traversed(addressBytes), one) : free,
        other.type.kind === "string" ? traversed(sizes.of(other)) : free,
      ),
    };
const sets =
  (factor: number): Estimate =>
  (sizes, [left, right]) =>
    left && right && { cost: plus(scaled(times(sizes.of(left), sizes.of(right)), factor), one) };

const kubernetes: Record<string, Estimate> = {
  check: () => ({ cost: range(350_000) }),
  isSorted: overList,
  sum: overList,
  max: overList,
  min: overList,
  indexOf: overList,
  lastIndexOf: overList,
  url: (sizes, [first]) => first && { cost: traversed(sizes.of(first)), size: sizes.of(first) },
  lowerAscii: sameSize,
  upperAscii: sameSize,
  substring: sameSize,
  trim: sameSize,
  replace: replaceCost,
  split: (sizes, args, target) => {
    if (!target) return undefined;
    const size = sizes.of(target);
    const most = typeof args[1]?.literal === "bigint" ? Number(args[1].literal) : size.max;
    return { cost: scaled(size, 2 * perCharacter), size: range(0, most < 0 ? limit : most) };
  },
  join: (sizes, [separator], target) => {
    if (!target) return undefined;
    const length = sizes.of(target);
    let size = target.type.params ? times(length, sizes.of(elementOf(target))) : free;
    if (separator)
      size = plus(size, times(sizes.of(separator), range(Math.max(length.min - 1, 0), Math.max(length.max - 1, 0))));
    return { cost: traversed(size), size };
  },
  find: found,
  findAll: found,
  cidr: ofFirst(1),
  isIP: ofFirst(1),
  isCIDR: ofFirst(1),
  ip: (sizes, args, target) => ofFirst(1)(sizes, args, target) ?? { cost: one },
  "ip.isCanonical": ofFirst(2),
  containsIP: inPrefix(false),
  containsCIDR: inPrefix(true),
  quantity: ofFirst(1),
  isQuantity: ofFirst(1),
  validate: (sizes, [first]) => first && { cost: scaled(traversed(sizes.of(first)), 128 * perPatternCharacter) },
  "sets.contains": sets(1),
  "sets.intersects": sets(1),
  "sets.equivalent": sets(2),
  fieldSelector: selectorCost,
  labelSelector: selectorCost,
  "_==_": (_sizes, [left, right]) =>
    left && right && left.type.kind === right.type.kind && opaque.test(left.type.kind) ? { cost: one } : undefined,
};
for (const name of "serviceAccount path group resource subresource namespace name allowed reason error errored masked prefixLength family isUnspecified isLoopback isLinkLocalMulticast isLinkLocalUnicast isGlobalUnicast format.named sign asInteger isInteger asApproximateFloat isGreaterThan isLessThan compareTo add sub getScheme getHostname getHost getPort getEscapedPath getQuery".split(
  " ",
))
  kubernetes[name] = nominal;

function selectorCost(sizes: Sizes, [selector]: readonly Part[]): CallCost | undefined {
  if (!selector) return undefined;
  const length = sizes.of(selector);
  return { cost: plus(newList, traversed(length), scaled(scaled(length, 0.5), 50)) };
}

/** The longest result puts the longest replacement as often as it fits; the shortest the shortest. */
function replaceCost(sizes: Sizes, [old, next]: readonly Part[], target: Part | undefined): CallCost | undefined {
  if (!target || !old || !next) return undefined;
  const size = sizes.of(target);
  const from = sizes.of(old);
  const to = sizes.of(next);
  const most =
    from.min === 0
      ? { count: capped(size.max + 1), kept: size.max }
      : to.max <= from.min
        ? { count: 0, kept: size.max }
        : { count: Math.ceil(size.max / from.min), kept: 0 };
  const fewest =
    from.max === 0
      ? { count: capped(size.min + 1), kept: size.min }
      : from.max <= to.min
        ? { count: 0, kept: size.min }
        : { count: Math.ceil(size.min / from.max), kept: 0 };
  const result = plus(times(range(fewest.count, most.count), to), range(fewest.kept, most.kept));
  return { cost: scaled(size, 2 * perCharacter), size: result };
}

/** Of one call with its arguments; the target's own cost is not in it. */
export function callCost(name: string, sizes: Sizes, args: readonly Part[], target: Part | undefined): CallCost {
  const ofArgs = plus(...args.map(({ cost }) => cost));
  const own = Object.hasOwn(kubernetes, name) ? kubernetes[name]?.(sizes, args, target) : undefined;
  if (own) return { ...own, cost: plus(own.cost, ofArgs) };
  const [first, second, third] = args;
  const all = target ? [target, ...args] : args;
  const isOf = (...kinds: string[]) => all.every(({ type }) => kinds.includes(type.kind) || type.kind === "dyn");
  const with_ = (cost: Range, size?: Range): CallCost => ({ cost: plus(cost, ofArgs), ...(size ? { size } : {}) });
  switch (name) {
    case "format":
      if (target) return with_(traversed(sizes.measured(target)));
      break;
    case "bytes":
    case "string":
      if (first && first.type.kind === (name === "bytes" ? "string" : "bytes")) {
        const size = sizes.measured(first);
        return with_(
          traversed(size),
          name === "bytes" ? range(size.min, capped(size.max * 4)) : range(Math.floor(size.min / 4), size.max),
        );
      }
      break;
    case "strings.quote":
      if (first) {
        const size = sizes.measured(first);
        return with_(traversed(size), range(size.min + 2, capped(size.max * 2 + 2)));
      }
      break;
    case "startsWith":
    case "endsWith":
      if (first) return with_(traversed(sizes.measured(first)));
      break;
    case "_in_":
      if (second && second.type.kind !== "map") return with_(sizes.measured(second));
      break;
    case "matches":
      if (target && first) return with_(patternCost(sizes.measured(target), sizes.measured(first)));
      break;
    case "contains":
      if (target && first) return with_(times(traversed(sizes.measured(target)), traversed(sizes.measured(first))));
      break;
    case "_||_":
    case "_&&_":
      if (first && second) return { cost: range(first.cost.min, plus(first.cost, second.cost).max) };
      break;
    case "_?_:_":
      if (first && second && third)
        return {
          cost: plus(first.cost, either(second.cost, third.cost)),
          size: either(sizes.measured(second), sizes.measured(third)),
        };
      break;
    case "_+_":
      if (first && second && isOf("string", "bytes", "list")) {
        const size = plus(sizes.measured(first), sizes.measured(second));
        return with_(isOf("list") ? one : traversed(size), size);
      }
      break;
    case "_==_":
    case "_!=_":
      return with_(comparison(sizes, args));
    case "_<_":
    case "_<=_":
    case "_>_":
    case "_>=_":
      if (isOf("string", "bytes")) return with_(comparison(sizes, args));
      break;
  }
  return with_(one);
}

function comparison(sizes: Sizes, [left, right]: readonly Part[]): Range {
  if (!left || !right) return one;
  const smaller = Math.min(sizes.measured(left).max, sizes.measured(right).max);
  return traversed(range(smaller > 0 ? 1 : 0, smaller));
}
