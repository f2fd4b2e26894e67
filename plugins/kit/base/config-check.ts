// Checks settings objects against a small description: unknown keys, wrong types and bad values become one clear Fault that
// names the key, what was expected, and the nearest key that is known.

import { Fault } from "./fault.ts";
import { nearest } from "./nearest.ts";

/** Turns a raw value into a checked one, or throws Fault `invalid` that begins with where it stands. */
export type Check<T> = (raw: unknown, where: string) => T;

type Shape = Readonly<Record<string, Check<unknown>>>;
type Checked<S extends Shape> = { [K in keyof S]: ReturnType<S[K]> };

/** Settings as a plain object with the members described; every member that is missing is checked as `undefined`. */
export function checkSettings<S extends Shape>(raw: unknown, shape: S, where = "settings"): Checked<S> {
  return object(shape)(raw ?? {}, where);
}

export function object<S extends Shape>(shape: S): Check<Checked<S>> {
  return (raw, where) => {
    if (typeof raw !== "object" || raw === null || Array.isArray(raw)) throw wrongType(raw, where, "an object");
    const known = Object.keys(shape);
    for (const key of Object.keys(raw)) {
      if (Object.hasOwn(shape, key)) continue;
      const near = nearest(key, known);
      const hint = near
        ? `; did you mean "${near}"?`
        : `; known are ${known.map((name) => `"${name}"`).join(", ") || "none"}`;
      throw new Fault("invalid", `${where}: unknown key "${key}"${hint}`);
    }
    const members = raw as Record<string, unknown>;
    const checked = known.map((key) => [
      key,
      shape[key]?.(Object.hasOwn(members, key) ? members[key] : undefined, `${where}.${key}`),
    ]);
    return Object.fromEntries(checked) as Checked<S>;
  };
}

export const string: Check<string> = (raw, where) => {
  if (typeof raw !== "string") throw wrongType(raw, where, "a string");
  return raw;
};

export const boolean: Check<boolean> = (raw, where) => {
  if (typeof raw !== "boolean") throw wrongType(raw, where, "true or false");
  return raw;
};

export function number(range: { min?: number; max?: number } = {}): Check<number> {
  const { min = -Infinity, max = Infinity } = range;
  const expected = `a number${min > -Infinity ? ` of at least ${min}` : ""}${max < Infinity ? ` of at most ${max}` : ""}`;
  return (raw, where) => {
    if (typeof raw !== "number" || !Number.isFinite(raw) || raw < min || raw > max)
      throw wrongType(raw, where, expected);
    return raw;
  };
}

export function integer(range: { min?: number; max?: number } = {}): Check<number> {
  const check = number(range);
  return (raw, where) => {
    if (!Number.isInteger(raw)) throw wrongType(raw, where, "a whole number");
    return check(raw, where);
  };
}

export function oneOf<const V extends string>(...values: V[]): Check<V> {
  return (raw, where) => {
    const found = values.find((value) => value === raw);
    if (found !== undefined) return found;
    const near = typeof raw === "string" ? nearest(raw, values) : undefined;
    throw wrongType(raw, where, `one of ${values.join(", ")}${near ? ` (did you mean "${near}"?)` : ""}`);
  };
}

export function listOf<T>(item: Check<T>): Check<T[]> {
  return (raw, where) => {
    if (!Array.isArray(raw)) throw wrongType(raw, where, "a list");
    return raw.map((value, index) => item(value, `${where}[${index}]`));
  };
}

export function mapOf<T>(item: Check<T>): Check<Record<string, T>> {
  return (raw, where) => {
    if (typeof raw !== "object" || raw === null || Array.isArray(raw)) throw wrongType(raw, where, "an object");
    return Object.fromEntries(Object.entries(raw).map(([key, value]) => [key, item(value, `${where}.${key}`)]));
  };
}

/** The value given, or undefined when it is missing. */
export function optional<T>(check: Check<T>): Check<T | undefined> {
  return (raw, where) => (raw === undefined || raw === null ? undefined : check(raw, where));
}

type Present<T> = { [K in keyof T as undefined extends T[K] ? never : K]: T[K] } & {
  [K in keyof T as undefined extends T[K] ? K : never]?: Exclude<T[K], undefined>;
};

/** Without the members that are undefined, so that defaults spread before it stay. */
export function present<T extends object>(checked: T): Present<T> {
  return Object.fromEntries(Object.entries(checked).filter(([, value]) => value !== undefined)) as Present<T>;
}

/** The value given, or the default when it is missing. */
export function withDefault<T>(check: Check<T>, value: T): Check<T> {
  return (raw, where) => (raw === undefined || raw === null ? value : check(raw, where));
}

/** A value that must be there and pass a further test; `expected` completes "must be …". */
export function that<T>(check: Check<T>, passes: (value: T) => boolean, expected: string): Check<T> {
  return (raw, where) => {
    const value = check(raw, where);
    if (!passes(value)) throw wrongType(raw, where, expected);
    return value;
  };
}

function wrongType(raw: unknown, where: string, expected: string): Fault {
  return new Fault("invalid", `${where} must be ${expected}, not ${describe(raw)}`);
}

function describe(raw: unknown): string {
  if (raw === undefined) return "missing";
  if (Array.isArray(raw)) return "a list";
  if (typeof raw === "object") return raw === null ? "null" : "an object";
  const text = JSON.stringify(raw) ?? String(raw);
  return text.length > 60 ? `${text.slice(0, 60)}…` : text;
}
