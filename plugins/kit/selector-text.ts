// The text forms of selectors, as they stand in query parameters: `a=b,c in (x,y),!d` for labels, `a=b,c!=d` for fields.

import { Fault } from "./fault.ts";
import { checkRequirement, type LabelRequirement, type LabelSelectorMatcher, matchAll } from "./label-selector.ts";

// A selector longer than this is an attack, not a question.
const longestText = 64 * 1024;

/** Reads the text form of a label selector; the empty text matches everything. Throws Fault `invalid`. */
export function parseLabelSelector(text: string): LabelSelectorMatcher {
  if (text.length > longestText) throw new Fault("invalid", "The label selector is too long");
  const tokens = new Tokens(text);
  const requirements: LabelRequirement[] = [];
  if (tokens.peek === undefined) return matchAll([]);
  for (;;) {
    requirements.push(readRequirement(tokens));
    const next = tokens.take();
    if (next === undefined) return matchAll(requirements);
    if (next !== ",") throw tokens.unexpected(next, "',' or the end");
    if (tokens.peek === undefined) throw tokens.unexpected(undefined, "a label key after ','");
  }
}

function readRequirement(tokens: Tokens): LabelRequirement {
  if (tokens.peek === "!") {
    tokens.take();
    return checkRequirement({ key: tokens.word("a label key"), operator: "!", values: [] });
  }
  const key = tokens.word("a label key");
  const next = tokens.peek;
  if (next === undefined || next === ",") return checkRequirement({ key, operator: "exists", values: [] });
  tokens.take();
  switch (next) {
    case "in":
    case "notin":
      return checkRequirement({ key, operator: next, values: readSet(tokens) });
    case "=":
    case "==":
      return checkRequirement({ key, operator: "=", values: [readValue(tokens)] });
    case "!=":
      return checkRequirement({ key, operator: "!=", values: [readValue(tokens)] });
    case ">":
    case "<":
      return checkRequirement({ key, operator: next === ">" ? "gt" : "lt", values: [readValue(tokens)] });
    default:
      throw tokens.unexpected(next, "'in', 'notin', '=', '==', '!=', '>' or '<'");
  }
}

/** The value behind an equals sign, which may be empty: `a=` and `a=,b`. */
function readValue(tokens: Tokens): string {
  return tokens.peek === undefined || tokens.peek === "," ? "" : tokens.word("a label value");
}

function readSet(tokens: Tokens): string[] {
  if (tokens.take() !== "(") throw tokens.unexpected(tokens.peek, "'('");
  const values: string[] = [];
  for (;;) {
    const isEmpty = tokens.peek === "," || tokens.peek === ")";
    values.push(isEmpty ? "" : tokens.word("a label value"));
    const next = tokens.take();
    if (next === ")") return [...new Set(values)];
    if (next !== ",") throw tokens.unexpected(next, "',' or ')'");
  }
}

const symbols = new Set(["(", ")", ",", "!", "=", "==", "!=", ">", "<"]);

class Tokens {
  readonly #text: string;
  readonly #tokens: string[];
  #at = 0;

  constructor(text: string) {
    this.#text = text;
    this.#tokens = text.match(/==|!=|[=!<>(),]|[^\s=!<>(),]+/g) ?? [];
  }

  get peek(): string | undefined {
    return this.#tokens[this.#at];
  }

  take(): string | undefined {
    return this.#tokens[this.#at++];
  }

  word(expected: string): string {
    const token = this.take();
    if (token === undefined || symbols.has(token)) throw this.unexpected(token, expected);
    return token;
  }

  unexpected(found: string | undefined, expected: string): Fault {
    const shown = this.#text.length > 200 ? `${this.#text.slice(0, 200)}…` : this.#text;
    return new Fault(
      "invalid",
      `unable to parse label selector "${shown}": found ${found === undefined ? "the end" : `'${found}'`}, expected: ${expected}`,
    );
  }
}

export interface FieldRequirement {
  readonly field: string;
  readonly op: "=" | "!=";
  readonly value: string;
}

export interface FieldSelectorMatcher {
  readonly requirements: readonly FieldRequirement[];
  readonly isEverything: boolean;
  /** A field that `get` does not know counts as empty. */
  matches(get: (field: string) => string | undefined): boolean;
  /** The value that the selector demands of a field by `=`, if it does. */
  exactly(field: string): string | undefined;
  toString(): string;
}

/** Reads the text form of a field selector; `\,`, `\=` and `\\` stand for themselves in values. Throws Fault `invalid`. */
export function parseFieldSelector(text: string): FieldSelectorMatcher {
  if (text.length > longestText) throw new Fault("invalid", "The field selector is too long");
  const terms = text.match(/(?:\\.|[^,\\]|\\$)+/gs) ?? [];
  const requirements = terms.map(readTerm);
  return {
    requirements,
    isEverything: requirements.length === 0,
    matches: (get) => requirements.every(({ field, op, value }) => ((get(field) ?? "") === value) === (op === "=")),
    exactly: (field) =>
      requirements.find((requirement) => requirement.field === field && requirement.op === "=")?.value,
    toString: () => requirements.map(({ field, op, value }) => `${field}${op}${escapeValue(value)}`).join(","),
  };
}

function readTerm(term: string): FieldRequirement {
  const match = /^([^=!\\]*?)(!=|==|=)(.*)$/s.exec(term);
  const [, field = "", op = "", raw = ""] = match ?? [];
  if (!match || field === "")
    throw new Fault("invalid", `invalid selector: '${term.slice(0, 200)}'; can't understand '${term.slice(0, 200)}'`);
  return { field, op: op === "!=" ? "!=" : "=", value: unescapeValue(raw, term) };
}

function unescapeValue(raw: string, term: string): string {
  if (/(?<!\\)(?:\\\\)*=/.test(raw))
    throw new Fault("invalid", `invalid field selector '${term}': unescaped '=' in value`);
  return raw.replace(/\\(.?)/gs, (_, escaped: string) => {
    if (escaped !== "," && escaped !== "=" && escaped !== "\\")
      throw new Fault("invalid", `invalid field selector '${term}': invalid escape sequence: \\${escaped}`);
    return escaped;
  });
}

function escapeValue(value: string): string {
  return value.replace(/[\\,=]/g, (character) => `\\${character}`);
}
