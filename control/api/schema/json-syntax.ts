// Says what is wrong with a text that is no JSON, in the words of Go's scanner: clients and people know those.

type Step = "value" | "value or ]" | "key" | "key or }" | ":" | ", or ]" | ", or }" | "end";

const places: Record<Step, string> = {
  value: "looking for beginning of value",
  "value or ]": "looking for beginning of value",
  key: "looking for beginning of object key string",
  "key or }": "looking for beginning of object key string",
  ":": "after object key",
  ", or ]": "after array element",
  ", or }": "after object key:value pair",
  end: "after top-level value",
};

const atEnd = "unexpected end of JSON input";
const literals: Record<string, string> = { t: "true", f: "false", n: "null" };

/** The first thing wrong with the text; as if cut off where all that there is of it is right. */
export function jsonProblem(text: string): string {
  const open: ("[" | "{")[] = [];
  let step: Step = "value";
  const afterValue = (): Step => (open.length === 0 ? "end" : open.at(-1) === "[" ? ", or ]" : ", or }");
  for (let at = 0; at < text.length; ) {
    const sign = text[at] as string;
    if (/[ \t\r\n]/.test(sign)) {
      at++;
      continue;
    }
    const isValue: boolean = step === "value" || step === "value or ]";
    if (isValue && (sign === "{" || sign === "[")) {
      open.push(sign);
      step = sign === "{" ? "key or }" : "value or ]";
      at++;
    } else if ((sign === "]" && step === "value or ]") || (sign === "}" && step === "key or }") || closes(sign, step)) {
      open.pop();
      step = afterValue();
      at++;
    } else if (sign === "," && (step === ", or ]" || step === ", or }")) {
      step = step === ", or ]" ? "value" : "key";
      at++;
    } else if (sign === ":" && step === ":") {
      step = "value";
      at++;
    } else if (isValue || (sign === '"' && step.startsWith("key"))) {
      const scalar = scanScalar(text, at);
      if (typeof scalar === "string") return scalar;
      step = isValue ? afterValue() : ":";
      at = scalar;
    } else return unexpected(sign, places[step]);
  }
  return atEnd;
}

const closes = (sign: string, step: Step): boolean => (sign === "]" || sign === "}") && step === `, or ${sign}`;

/** Where the scalar ends, or what is wrong with it. */
function scanScalar(text: string, at: number): number | string {
  const sign = text[at] as string;
  if (sign === '"') return scanText(text, at + 1);
  const literal = literals[sign];
  if (literal !== undefined) return scanLiteral(text, at, literal);
  return /[-0-9]/.test(sign) ? scanNumber(text, at) : unexpected(sign, places.value);
}

function scanText(text: string, from: number): number | string {
  for (let at = from; at < text.length; at++) {
    const sign = text[at] as string;
    if (sign === '"') return at + 1;
    if (sign < " ") return unexpected(sign, "in string literal");
    if (sign !== "\\") continue;
    const code = text[++at];
    if (code === undefined) return atEnd;
    if (!/["\\/bfnrtu]/.test(code)) return unexpected(code, "in string escape code");
    if (code !== "u") continue;
    for (let digit = 0; digit < 4; digit++) {
      const hex = text[++at];
      if (hex === undefined) return atEnd;
      if (!/[0-9a-fA-F]/.test(hex)) return unexpected(hex, "in \\u hexadecimal character escape");
    }
  }
  return atEnd;
}

function scanLiteral(text: string, at: number, literal: string): number | string {
  for (let index = 1; index < literal.length; index++) {
    const sign = text[at + index];
    if (sign === undefined) return atEnd;
    if (sign !== literal[index]) return unexpected(sign, `in literal ${literal} (expecting '${literal[index]}')`);
  }
  return at + literal.length;
}

function scanNumber(text: string, from: number): number | string {
  const [whole = ""] = /^-?(0|[1-9]\d*)?(\.\d*)?([eE][-+]?\d*)?/.exec(text.slice(from, from + 1000)) ?? [];
  const next = text[from + whole.length];
  const place = /^-?$/.test(whole)
    ? "in numeric literal"
    : whole.endsWith(".")
      ? "after decimal point in numeric literal"
      : /[eE][-+]?$/.test(whole)
        ? "in exponent of numeric literal"
        : undefined;
  if (place === undefined) return from + whole.length;
  return next === undefined ? atEnd : unexpected(next, place);
}

function unexpected(sign: string, place: string): string {
  const shown = sign === "'" ? "\\'" : sign === '"' ? '"' : JSON.stringify(sign).slice(1, -1);
  return `invalid character '${shown}' ${place}`;
}
