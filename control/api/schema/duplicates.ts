// Finds keys that stand twice in one JSON object: parsers keep the last and say nothing.

/** The first so many paths of duplicated keys, as `spec.replicas`. Expects valid JSON and what was read from it, or no text. */
export function duplicateKeys(text: string, value: unknown, most: number): string[] {
  if (text === "" || most <= 0) return [];
  // Most clients write as we would. What comes out as it went in has lost no key, and that is seen several times as fast.
  if (JSON.stringify(value) === (text.endsWith("\n") ? text.slice(0, -1) : text)) return [];
  const found = new Set<string>();
  const scanner = { text, at: 0, most };
  scanValue(scanner, "", found);
  return [...found];
}

interface Scanner {
  readonly text: string;
  readonly most: number;
  at: number;
}

function scanValue(scanner: Scanner, path: string, found: Set<string>): void {
  skipSpace(scanner);
  const first = scanner.text[scanner.at];
  if (first === "{") scanObject(scanner, path, found);
  else if (first === "[") scanArray(scanner, path, found);
  else if (first === '"') scanString(scanner);
  else while (scanner.at < scanner.text.length && !endsScalar(scanner.text.charCodeAt(scanner.at))) scanner.at++;
}

function endsScalar(code: number): boolean {
  return code === 0x2c || code === 0x5d || code === 0x7d || isSpace(code);
}

function scanObject(scanner: Scanner, path: string, found: Set<string>): void {
  const keys = new Set<string>();
  scanner.at++;
  for (;;) {
    skipSpace(scanner);
    if (scanner.text[scanner.at] === "}" || scanner.at >= scanner.text.length) break;
    if (scanner.text[scanner.at] === ",") {
      scanner.at++;
      continue;
    }
    const key = scanString(scanner);
    const at = path === "" ? key : `${path}.${key}`;
    if (keys.has(key) && found.add(at).size >= scanner.most) scanner.at = scanner.text.length;
    keys.add(key);
    skipSpace(scanner);
    scanner.at++; // the colon
    scanValue(scanner, at, found);
  }
  scanner.at++;
}

function scanArray(scanner: Scanner, path: string, found: Set<string>): void {
  scanner.at++;
  for (let index = 0; ; ) {
    skipSpace(scanner);
    if (scanner.text[scanner.at] === "]" || scanner.at >= scanner.text.length) break;
    if (scanner.text[scanner.at] === ",") {
      scanner.at++;
      continue;
    }
    scanValue(scanner, `${path}[${index++}]`, found);
  }
  scanner.at++;
}

function scanString(scanner: Scanner): string {
  const { text } = scanner;
  const from = scanner.at;
  let end = text.indexOf('"', from + 1);
  while (end > 0 && isEscaped(text, end)) end = text.indexOf('"', end + 1);
  scanner.at = end < 0 ? text.length : end + 1;
  const raw = text.slice(from + 1, scanner.at - 1);
  return raw.includes("\\") ? (JSON.parse(`"${raw}"`) as string) : raw;
}

function isEscaped(text: string, at: number): boolean {
  let count = 0;
  while (text.charCodeAt(at - 1 - count) === 0x5c) count++;
  return count % 2 === 1;
}

function skipSpace(scanner: Scanner): void {
  while (isSpace(scanner.text.charCodeAt(scanner.at))) scanner.at++;
}

function isSpace(code: number): boolean {
  return code === 0x20 || code === 0x0a || code === 0x0d || code === 0x09;
}
