// The text forms of selectors, as they stand in query parameters: `a=b,c in (x,y),!d` for labels, `a=b,c!=d` for fields.

import { Fault } from "../base/fault.ts";
import { checkRequirement, type LabelRequirement, type LabelSelectorMatcher, matchAll } from "./label-selector.ts";

// A selector longer than this is an attack, not a question.
const longestText = 64 * 1024;

/** Reads the text form of a label selector; the empty text matches everything. Throws Fault `invalid`, also what `check` throws. */
export function parseLabelSelector(text: string, check = checkRequirement): LabelSelectorMatcher {
  if (text.length > longestText) throw new Fault("invalid", "The label selector is too long");
  const tokens = new Tokens(text);
  const requirements: LabelRequirement[] = [];
  if (tokens.peek === undefined) return matchAll([]);
  if (!tokens.beginsRequirement) throw unexpected(tokens.peek, ", expected: !, identifier, or 'end of string'");
  for (;;) {
    requirements.push(check(readRequirement(tokens)));
    const next = tokens.take();
    if (next === undefined) return matchAll(requirements);
    if (next !== ",") throw unexpected(next, ", expected: ',' or 'end of string'");
    if (!tokens.beginsRequirement) throw unexpected(tokens.peek, ", expected: identifier after ','");
  }
}

function readRequirement(tokens: Tokens): LabelRequirement {
  if (tokens.peek === "!") {
    tokens.take();
    return { key: tokens.word(), operator: "!", values: [] };
  }
  const key = tokens.word();
  const next = tokens.peek;
  if (next === undefined || next === ",") return { key, operator: "exists", values: [] };
  tokens.take();
  switch (next) {
    case "in":
    case "notin":
      return { key, operator: next, values: readSet(tokens) };
    case "=":
    case "==":
      return { key, operator: "=", values: [readValue(tokens)] };
    case "!=":
      return { key, operator: "!=", values: [readValue(tokens)] };
    case ">":
    case "<":
      return { key, operator: next === ">" ? "gt" : "lt", values: [readValue(tokens)] };
    default:
      throw unread(next, ", expected: in, notin, =, ==, !=, gt, lt");
  }
}

/** The value behind an equals sign, which may be empty: `a=` and `a=,b`. */
function readValue(tokens: Tokens): string {
  return tokens.peek === undefined || tokens.peek === "," ? "" : tokens.word();
}

function readSet(tokens: Tokens): string[] {
  const first = tokens.take();
  if (first !== "(") throw unread(first, " expected: '('");
  const values: string[] = [];
  for (let expected = ", expected: ',', ')' or identifier"; ; expected = ", expected: ',', or identifier") {
    const isEmpty = tokens.peek === "," || tokens.peek === ")";
    values.push(isEmpty ? "" : tokens.word(expected));
    const next = tokens.take();
    if (next === ")") return [...new Set(values)];
    if (next !== ",") throw unread(next, ", expected: ',' or ')'");
  }
}

const symbols = new Set(["(", ")", ",", "!", "=", "==", "!=", ">", "<"]);

class Tokens {
  readonly #tokens: string[];
  #at = 0;

  constructor(text: string) {
    this.#tokens = text.match(/==|!=|[=!<>(),]|[^\s=!<>(),]+/g) ?? [];
  }

  get peek(): string | undefined {
    return this.#tokens[this.#at];
  }

  get beginsRequirement(): boolean {
    return this.peek !== undefined && (this.peek === "!" || !symbols.has(this.peek));
  }

  take(): string | undefined {
    return this.#tokens[this.#at++];
  }

  word(expected = ", expected: identifier"): string {
    const token = this.take();
    if (token === undefined || symbols.has(token)) throw unread(token, expected);
    return token;
  }
}

/** The words of upstream's parser: clients show them as they are. */
function unexpected(found: string | undefined, expected: string): Fault {
  return new Fault("invalid", `found '${(found ?? "").slice(0, 200)}'${expected}`);
}

function unread(found: string | undefined, expected: string): Fault {
  return new Fault("invalid", `unable to parse requirement: ${unexpected(found, expected).message}`);
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
  const requirements = terms.map((term) => readTerm(term, text));
  return {
    requirements,
    isEverything: requirements.length === 0,
    matches: (get) => requirements.every(({ field, op, value }) => ((get(field) ?? "") === value) === (op === "=")),
    exactly: (field) =>
      requirements.find((requirement) => requirement.field === field && requirement.op === "=")?.value,
    toString: () => requirements.map(({ field, op, value }) => `${field}${op}${escapeValue(value)}`).join(","),
  };
}

function readTerm(term: string, selector: string): FieldRequirement {
  const match = /^([^=!\\]*?)(!=|==|=)(.*)$/s.exec(term);
  const [, field = "", op = "", raw = ""] = match ?? [];
  if (!match || field === "")
    throw new Fault(
      "invalid",
      `invalid selector: '${selector.slice(0, 200)}'; can't understand '${term.slice(0, 200)}'`,
    );
  return { field, op: op === "!=" ? "!=" : "=", value: unescapeValue(raw) };
}

function unescapeValue(raw: string): string {
  if (/(?<!\\)(?:\\\\)*=/.test(raw))
    throw new Fault("invalid", `invalid field selector: unescaped character in value: ${"=".charCodeAt(0)}`);
  return raw.replace(/\\(.?)/gs, (_, escaped: string) => {
    if (escaped !== "," && escaped !== "=" && escaped !== "\\")
      throw new Fault("invalid", `invalid field selector: invalid escape sequence: \\${escaped}`);
    return escaped;
  });
}

function escapeValue(value: string): string {
  return value.replace(/[\\,=]/g, (character) => `\\${character}`);
}
