// Functions on text: regular expressions in linear time, and the string extensions that the CEL library lacks.

import type { Environment } from "@marcbachmann/cel-js";
import { RE2JS } from "re2js";
import { Fault } from "../../base/fault.ts";
import { spend } from "./meter.ts";

/** Names that expressions use, and ours that stand in for the library's unsafe or unbounded ones. */
export const replacedMethods: Readonly<Record<string, string>> = {
  matches: "matchesInLinearTime",
  join: "joinWithinBudget",
};

const compiled = new Map<string, RE2JS>();

function regex(pattern: string): RE2JS {
  let expression = compiled.get(pattern);
  if (!expression) {
    // A repetition of a repetition multiplies the program; its length is what matching costs a character.
    if (pattern.length > 8192) throw new Fault("invalid", "regular expression is too long");
    try {
      expression = RE2JS.compile(pattern);
    } catch (error) {
      throw new Fault("invalid", `error parsing regexp: ${(error as Error).message}`, { cause: error });
    }
    if (compiled.size >= 256) compiled.clear();
    compiled.set(pattern, expression);
  }
  return expression;
}

export function isPattern(pattern: string): boolean {
  try {
    return Boolean(regex(pattern));
  } catch {
    // Why it cannot be read is told when it is used.
    return false;
  }
}

/** Charges before matching: characters times the program's steps. */
function prepared(text: string, pattern: string): RE2JS {
  const expression = regex(pattern);
  spend((text.length / 2) * Math.max(1, expression.programSize() / 4));
  return expression;
}

export function registerTextFunctions(env: Environment): void {
  env.registerFunction("string.matchesInLinearTime(string): bool", (text: string, pattern: string) =>
    prepared(text, pattern).matcher(text).find(),
  );
  env.registerFunction("matches(string, string): bool", (text: string, pattern: string) =>
    prepared(text, pattern).matcher(text).find(),
  );
  env.registerFunction("string.find(string): string", (text: string, pattern: string) => {
    const matcher = prepared(text, pattern).matcher(text);
    return matcher.find() ? (matcher.group() ?? "") : "";
  });
  env.registerFunction("string.findAll(string): list<string>", (text: string, pattern: string) =>
    findAll(text, pattern, Number.POSITIVE_INFINITY),
  );
  env.registerFunction("string.findAll(string, int): list<string>", (text: string, pattern: string, limit: bigint) =>
    findAll(text, pattern, limit < 0n ? Number.POSITIVE_INFINITY : Number(limit)),
  );
  env.registerFunction("list.joinWithinBudget(): string", (list: unknown[]) => join(list, ""));
  env.registerFunction("list.joinWithinBudget(string): string", (list: unknown[], by: string) => join(list, by));
  env.registerFunction("string.replace(string, string): string", (text: string, old: string, next: string) =>
    replace(text, old, next, -1),
  );
  env.registerFunction(
    "string.replace(string, string, int): string",
    (text: string, old: string, next: string, limit: bigint) => replace(text, old, next, Number(limit)),
  );
  env.registerFunction("string.charAt(int): string", (text: string, at: bigint) => {
    const index = Number(at);
    if (index < 0 || index > text.length) throw new Fault("invalid", `index out of range: ${at}`);
    return text.charAt(index);
  });
  env.registerFunction("string.reverse(): string", (text: string) => Array.from(text).reverse().join(""));
  env.registerFunction("string.format(list): string", format);
}

function findAll(text: string, pattern: string, limit: number): string[] {
  const matcher = prepared(text, pattern).matcher(text);
  const found: string[] = [];
  while (found.length < limit && matcher.find()) found.push(matcher.group() ?? "");
  return found;
}

function join(list: unknown[], by: string): string {
  if (list.some((each) => typeof each !== "string")) throw new Fault("invalid", "join: list must hold only strings");
  spend((list.length * by.length) / 10);
  return list.join(by);
}

function replace(text: string, old: string, next: string, limit: number): string {
  if (limit === 0) return text;
  const parts = text.split(old);
  const replaced = limit < 0 ? parts.length : Math.min(limit, parts.length);
  spend((replaced * next.length) / 10);
  if (limit < 0 || parts.length - 1 <= limit) return parts.join(next);
  return [...parts.slice(0, limit), parts.slice(limit).join(old)].join(next);
}

function format(pattern: string, values: unknown[]): string {
  let used = 0;
  return pattern.replace(/%(?:\.(\d{1,2}))?([a-zA-Z%])/g, (whole, precision: string | undefined, verb: string) => {
    if (verb === "%") return "%";
    if (used >= values.length) throw new Fault("invalid", `format: index ${used} out of range`);
    return formatOne(values[used++], verb, precision === undefined ? 6 : Number(precision), whole);
  });
}

function formatOne(value: unknown, verb: string, precision: number, whole: string): string {
  const isNumber = typeof value === "bigint" || typeof value === "number";
  if (verb === "s") return textOf(value);
  if (verb === "d" && typeof value === "bigint") return String(value);
  if (verb === "f" && isNumber) return Number(value).toFixed(precision);
  if (verb === "e" && isNumber) return Number(value).toExponential(precision);
  if (verb === "b" && typeof value === "bigint") return value.toString(2);
  if (verb === "o" && typeof value === "bigint") return value.toString(8);
  if (verb === "x" && typeof value === "bigint") return value.toString(16);
  if (verb === "X" && typeof value === "bigint") return value.toString(16).toUpperCase();
  if (verb === "x" && typeof value === "string") return Buffer.from(value).toString("hex");
  throw new Fault("invalid", `format: ${whole} does not fit a value of type ${typeof value}`);
}

function textOf(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(textOf).join(", ")}]`;
  if (value instanceof Date) return value.toISOString().replace(/\.000Z$/, "Z");
  if (typeof value === "object" && value !== null && Object.getPrototypeOf(value) === Object.prototype) {
    return `{${Object.entries(value)
      .map(([key, each]) => `${key}: ${textOf(each)}`)
      .join(", ")}}`;
  }
  return String(value);
}
