// Finds integers of a JSON or YAML text that no JavaScript number holds: bigints where the reader keeps them (`exact-json`), numbers that it
// rounded to a neighbour elsewhere.

import { hasLongNumber } from "./exact-json.ts";
import { Fault } from "./fault.ts";

export interface InexactInteger {
  /** As it was written. */
  readonly source: string;
  readonly path: readonly (string | number)[];
  /** The value has it as a bigint. */
  readonly isExact: boolean;
}

const maxInt64 = 2n ** 63n - 1n;
/** 2^53 has so many. */
const leastDigits = 16;

/**
 * Integers of 64 bits in the value that differ from what the text says. Larger ones are floating-point numbers to others too. Texts
 * without a number of so many digits, nearly all of them, cost a look at every 16th character.
 */
export function inexactIntegers(text: string, value: unknown): InexactInteger[] {
  if (!hasLongNumber(text)) return [];
  const sources = new Map<number, string>();
  for (const [source] of text.matchAll(/-?\d+/g)) {
    if (source.length < leastDigits || source.length > 20) continue;
    const exact = BigInt(source);
    const rounded = Number(source);
    if (BigInt(rounded) !== exact && exact <= maxInt64 && exact >= -maxInt64 - 1n) sources.set(rounded, source);
  }
  const found: InexactInteger[] = [];
  walk(value, [], sources, found);
  return found;
}

function walk(
  value: unknown,
  path: readonly (string | number)[],
  sources: ReadonlyMap<number, string>,
  found: InexactInteger[],
): void {
  if (typeof value === "bigint") found.push({ source: String(value), path, isExact: true });
  else if (typeof value === "number") {
    const source = sources.get(value);
    if (source !== undefined) found.push({ source, path, isExact: false });
  } else if (Array.isArray(value))
    for (const [index, item] of value.entries()) walk(item, [...path, index], sources, found);
  else if (typeof value === "object" && value !== null)
    for (const [key, item] of Object.entries(value)) walk(item, [...path, key], sources, found);
}

/** `spec.items[0].size`. */
export function inexactPath({ path }: InexactInteger): string {
  return path
    .map((step) => (typeof step === "number" ? `[${step}]` : `.${step}`))
    .join("")
    .replace(/^\./, "");
}

/** Fault `invalid` for the first such integer. */
export function refuseInexact(text: string, value: unknown): void {
  const [first] = inexactIntegers(text, value);
  if (first) throw new Fault("invalid", `${inexactPath(first)}: integer ${first.source} cannot be stored exactly`);
}
