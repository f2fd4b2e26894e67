// Field errors say what is wrong with which field, in the words and reasons that upstream uses.

type FieldErrorType =
  | "FieldValueRequired"
  | "FieldValueInvalid"
  | "FieldValueNotSupported"
  | "FieldValueDuplicate"
  | "FieldValueForbidden"
  | "FieldValueTooLong"
  | "FieldValueTooMany"
  | "FieldValueNotFound"
  | "FieldValueTypeInvalid"
  | "InternalError";

export interface FieldError {
  readonly type: FieldErrorType;
  readonly field: string;
  /** Without the field's path. */
  readonly message: string;
}

export type FieldErrors = FieldError[];

// A body of 3 MB can hold a million mistakes, and each costs hundreds of bytes to describe, or megabytes where it shows a value.
const mostErrors = 10_000;
const mostCharacters = 4 << 20;
const mostAnswered = 1000;

interface Found {
  readonly errors: FieldErrors;
  characters: number;
}

let found: Found | undefined;
const enough = new Error("too many field errors");

/** What the check finds. One that makes more errors than anyone reads is stopped, and the first of them are answered. */
export function boundedErrors(check: () => FieldErrors): FieldErrors {
  const outer = found;
  const own: Found = { errors: [], characters: 0 };
  found = own;
  try {
    return check();
  } catch (error) {
    if (error !== enough) throw error;
    return own.errors.slice(0, mostAnswered);
  } finally {
    found = outer;
  }
}

function made(error: FieldError): FieldError {
  if (!found) return error;
  found.characters += error.field.length + error.message.length;
  if (found.errors.push(error) > mostErrors || found.characters > mostCharacters) throw enough;
  return error;
}

export const required = (field: string, detail = ""): FieldError =>
  made({
    type: "FieldValueRequired",
    field,
    message: `Required value${suffix(detail)}`,
  });

export const invalid = (field: string, value: unknown, detail: string): FieldError =>
  made({
    type: "FieldValueInvalid",
    field,
    message: `Invalid value: ${show(value)}${suffix(detail)}`,
  });

export const notSupported = (field: string, value: unknown, supported: readonly string[]): FieldError =>
  made({
    type: "FieldValueNotSupported",
    field,
    message: `Unsupported value: ${show(value)}${supported.length > 0 ? `: supported values: ${[...supported].sort().map(quote).join(", ")}` : ""}`,
  });

/** The same where upstream lists what it supports in an order of its own. */
export const notListed = (field: string, value: unknown, listed: readonly string[]): FieldError =>
  made({
    type: "FieldValueNotSupported",
    field,
    message: `Unsupported value: ${show(value)}: supported values: ${listed.map(quote).join(", ")}`,
  });

export const duplicate = (field: string, value: unknown): FieldError =>
  made({
    type: "FieldValueDuplicate",
    field,
    message: `Duplicate value: ${show(value)}`,
  });

export const forbidden = (field: string, detail: string): FieldError =>
  made({
    type: "FieldValueForbidden",
    field,
    message: `Forbidden${suffix(detail)}`,
  });

export const tooLong = (field: string, maximum: number): FieldError =>
  made({
    type: "FieldValueTooLong",
    field,
    message: `Too long: may not be more than ${maximum} bytes`,
  });

export const tooMany = (field: string, actual: number, maximum: number): FieldError =>
  made({
    type: "FieldValueTooMany",
    field,
    message: `Too many: ${actual}: must have at most ${maximum} items`,
  });

export const notFoundField = (field: string, value: unknown): FieldError =>
  made({
    type: "FieldValueNotFound",
    field,
    message: `Not found: ${show(value)}`,
  });

export const internalError = (field: string, detail: string): FieldError =>
  made({
    type: "InternalError",
    field,
    message: `Internal error${suffix(detail)}`,
  });

function suffix(detail: string): string {
  return detail === "" ? "" : `: ${detail}`;
}

function quote(text: string): string {
  return JSON.stringify(text);
}

/** A value that is shown just so. */
class Verbatim {
  readonly text: string;
  constructor(text: string) {
    this.text = text;
  }
}

/** A list of texts that have a type of their own, as Go shows it. */
export const goList = (type: string, items: readonly string[]): Verbatim =>
  new Verbatim(`[]${type}{${items.map(quote).join(", ")}}`);

/** Labels as Go shows them. */
export function goLabels(labels: Readonly<Record<string, string>> | undefined): Verbatim {
  if (!labels) return new Verbatim("map[string]string(nil)");
  const entries = Object.entries(labels).sort(([a], [b]) => (a < b ? -1 : 1));
  return new Verbatim(
    `map[string]string{${entries.map(([key, value]) => `${quote(key)}:${quote(value)}`).join(", ")}}`,
  );
}

/** A text that was not said is an empty one; lists of texts are written as Go writes them. */
function show(value: unknown): string {
  if (value === undefined) return '""';
  if (value instanceof Verbatim) return value.text;
  if (value === null) return "null";
  if (typeof value === "string") return quote(value);
  if (Array.isArray(value) && value.every((item) => typeof item === "string"))
    return `[]string{${value.map(quote).join(", ")}}`;
  if (typeof value === "object") return JSON.stringify(value);
  return String(value as number | boolean | bigint);
}
