// JSON with exact integers. Integers of 64 bits that a JavaScript number would change are read as bigints, and bigints are written as the
// integers that they are, by every JSON.stringify of the program.

type Reviver = (key: string, value: unknown, context: { readonly source?: string }) => unknown;

/** Of ECMAScript's proposal on source text access, which V8 has. */
const json = JSON as JSON & { rawJSON(text: string): object; parse(text: string, reviver: Reviver): unknown };

Object.defineProperty(BigInt.prototype, "toJSON", {
  configurable: true,
  value(this: bigint) {
    return json.rawJSON(String(this));
  },
});

const maxInt64 = 2n ** 63n - 1n;
/** 2^53 has so many. */
const leastDigits = 16;

/** As JSON.parse. Texts without a number of so many digits, nearly all of them, cost a look at every 16th character more. */
export function parseJson(text: string): unknown {
  return hasLongNumber(text) ? json.parse(text, exactInteger) : (JSON.parse(text) as unknown);
}

function exactInteger(_key: string, value: unknown, { source = "" }: { readonly source?: string }): unknown {
  if (typeof value !== "number" || Number.isSafeInteger(value) || !/^-?\d+$/.test(source)) return value;
  const exact = BigInt(source);
  // Larger ones are floating-point numbers to others too.
  if (exact > maxInt64 || exact < -maxInt64 - 1n) return value;
  return String(value) === source ? value : exact;
}

/** Whether there are so many digits in a row, in a number or in a string. */
export function hasLongNumber(text: string): boolean {
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
