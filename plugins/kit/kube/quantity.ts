// Kubernetes quantities, exact: whole nano-units in a BigInt plus the family of suffix they were written in.
// Parsing, rounding (up, away from zero, to nano), the cap of binary amounts and the canonical form follow apimachinery.

import { Fault } from "../base/fault.ts";

export type QuantityFormat = "decimal" | "binary" | "exponent";

export interface Quantity {
  readonly nano: bigint;
  readonly format: QuantityFormat;
}

const nanosPerUnit = 1_000_000_000n;
const nanosPerMilli = 1_000_000n;
const largestBinary = (2n ** 63n - 1n) * nanosPerUnit;
// Bounds that no honest amount meets, so that a hostile one cannot cost memory or time.
const longestText = 128;
const largestExponent = 100;
const firstTooLarge = 10n ** BigInt(largestExponent + 1) * nanosPerUnit;

const decimalExponents: Readonly<Record<string, number>> = {
  n: -9,
  u: -6,
  m: -3,
  "": 0,
  k: 3,
  M: 6,
  G: 9,
  T: 12,
  P: 15,
  E: 18,
};
const decimalSuffixes = new Map(Object.entries(decimalExponents).map(([suffix, exponent]) => [exponent, suffix]));
const binarySuffixes = ["", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"];

export const zeroQuantity: Quantity = Object.freeze({ nano: 0n, format: "decimal" });

const shape = /^([+-]?)(\d*)(?:\.(\d*))?([eE][+-]?\d+|[numkMGTPE]|[KMGTPE]i)?$/;

/** Reads an amount as users and JSON write it; throws Fault `invalid`. */
export function parseQuantity(text: string | number): Quantity {
  const source = String(text);
  const match = source.length <= longestText ? shape.exec(source) : null;
  const [, sign = "", whole = "", fraction = "", suffix = ""] = match ?? [];
  if (!match || whole.length + fraction.length === 0) throw notAQuantity(source);
  const digits = BigInt(whole + fraction);
  const { format, numerator, denominator } = scaleOf(suffix, source);
  let nano = divideUp(digits * numerator * nanosPerUnit, denominator * 10n ** BigInt(fraction.length));
  if (format === "binary" && nano > largestBinary) nano = largestBinary;
  // What is read can be written and read again.
  if (format === "exponent" && nano >= firstTooLarge) throw notAQuantity(source);
  const isTiny = format === "binary" && nano > 0n && nano < nanosPerUnit;
  return { nano: sign === "-" ? -nano : nano, format: isTiny ? "decimal" : format };
}

function scaleOf(suffix: string, source: string): { format: QuantityFormat; numerator: bigint; denominator: bigint } {
  if (suffix.length === 2 && suffix.endsWith("i")) {
    return { format: "binary", numerator: 1024n ** BigInt(binarySuffixes.indexOf(suffix)), denominator: 1n };
  }
  const isExponent = suffix.length > 1;
  const exponent = isExponent ? Number(suffix.slice(1)) : (decimalExponents[suffix] ?? 0);
  if (Math.abs(exponent) > largestExponent) throw notAQuantity(source);
  return {
    format: isExponent ? "exponent" : "decimal",
    numerator: exponent > 0 ? 10n ** BigInt(exponent) : 1n,
    denominator: exponent < 0 ? 10n ** BigInt(-exponent) : 1n,
  };
}

function notAQuantity(source: string): Fault {
  const shown = source.length > 40 ? `${source.slice(0, 40)}…` : source;
  return new Fault(
    "invalid",
    `"${shown}" is not a quantity: write a number with a suffix such as 100m, 2, 1.5Gi or 1e3`,
  );
}

/** The canonical form: no precision lost, no fraction, the largest suffix that fits. */
export function formatQuantity({ nano, format }: Quantity): string {
  if (nano === 0n) return "0";
  const sign = nano < 0n ? "-" : "";
  const amount = nano < 0n ? -nano : nano;
  const isBinary = format === "binary" && amount >= 1024n * nanosPerUnit && amount % nanosPerUnit === 0n;
  return sign + (isBinary ? formatBinary(amount / nanosPerUnit) : formatDecimal(amount, format === "exponent"));
}

function formatBinary(units: bigint): string {
  let mantissa = units;
  let step = 0;
  while (mantissa % 1024n === 0n && step < binarySuffixes.length - 1) {
    mantissa /= 1024n;
    step++;
  }
  return `${mantissa}${binarySuffixes[step]}`;
}

function formatDecimal(nano: bigint, asExponent: boolean): string {
  let mantissa = nano;
  let exponent = -9;
  while (mantissa % 1000n === 0n && (asExponent || exponent < 18)) {
    mantissa /= 1000n;
    exponent += 3;
  }
  if (asExponent) return exponent === 0 ? `${mantissa}` : `${mantissa}e${exponent}`;
  return `${mantissa}${decimalSuffixes.get(exponent)}`;
}

/** The sum keeps the left side's format, unless the left side is nothing. */
export function addQuantity(a: Quantity, b: Quantity): Quantity {
  return { nano: a.nano + b.nano, format: a.nano === 0n ? b.format : a.format };
}

export function subtractQuantity(a: Quantity, b: Quantity): Quantity {
  return { nano: a.nano - b.nano, format: a.nano === 0n ? b.format : a.format };
}

export function compareQuantity(a: Quantity, b: Quantity): -1 | 0 | 1 {
  return a.nano < b.nano ? -1 : a.nano > b.nano ? 1 : 0;
}

/** Whole units, rounded away from zero. */
export function quantityValue(quantity: Quantity): bigint {
  return divideUp(quantity.nano, nanosPerUnit);
}

/** Thousandths, rounded away from zero. */
export function quantityMilli(quantity: Quantity): bigint {
  return divideUp(quantity.nano, nanosPerMilli);
}

/** The same amount in whole thousandths, rounded away from zero. */
export function roundToMilli(quantity: Quantity): Quantity {
  return { nano: quantityMilli(quantity) * nanosPerMilli, format: quantity.format };
}

export function quantityOf(units: bigint | number, format: QuantityFormat = "decimal"): Quantity {
  return { nano: BigInt(units) * nanosPerUnit, format };
}

export function quantityOfMilli(milli: bigint | number, format: QuantityFormat = "decimal"): Quantity {
  return { nano: BigInt(milli) * nanosPerMilli, format };
}

/** Division that rounds away from zero; the divisor is positive. */
function divideUp(dividend: bigint, divisor: bigint): bigint {
  const quotient = dividend / divisor;
  if (dividend % divisor === 0n) return quotient;
  return dividend < 0n ? quotient - 1n : quotient + 1n;
}
