// Finds integers of a JSON or YAML text that no JavaScript number holds: parsers round them to a neighbour and say nothing.

import { Fault } from "./fault.ts";

export interface InexactInteger {
  /** As it was written. */
  readonly source: string;
  readonly path: readonly (string | number)[];
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
  if (sources.size > 0) walk(value, [], sources, found);
  return found;
}

/** Whether there are so many digits in a row, in a number or in a string. */
function hasLongNumber(text: string): boolean {
  for (let at = leastDigits - 1; at < text.length; at += leastDigits) {
    if (!isDigit(text.charCodeAt(at))) continue;
    let [from, to] = [at, at + 1];
    while (isDigit(text.charCodeAt(from - 1))) from--;
    while (isDigit(text.charCodeAt(to))) to++;
    if (to - from >= leastDigits) return true;
    at = to - 1;
  }
  return false;
}

const isDigit = (code: number): boolean => code >= 0x30 && code <= 0x39;

function walk(
  value: unknown,
  path: readonly (string | number)[],
  sources: ReadonlyMap<number, string>,
  found: InexactInteger[],
): void {
  if (typeof value === "number") {
    const source = sources.get(value);
    if (source !== undefined) found.push({ source, path });
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
