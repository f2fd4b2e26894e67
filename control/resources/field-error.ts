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

export const required = (field: string, detail = ""): FieldError => ({
  type: "FieldValueRequired",
  field,
  message: `Required value${suffix(detail)}`,
});

export const invalid = (field: string, value: unknown, detail: string): FieldError => ({
  type: "FieldValueInvalid",
  field,
  message: `Invalid value: ${show(value)}${suffix(detail)}`,
});

export const notSupported = (field: string, value: unknown, supported: readonly string[]): FieldError => ({
  type: "FieldValueNotSupported",
  field,
  message: `Unsupported value: ${show(value)}${supported.length > 0 ? `: supported values: ${[...supported].sort().map(quote).join(", ")}` : ""}`,
});

export const duplicate = (field: string, value: unknown): FieldError => ({
  type: "FieldValueDuplicate",
  field,
  message: `Duplicate value: ${show(value)}`,
});

export const forbidden = (field: string, detail: string): FieldError => ({
  type: "FieldValueForbidden",
  field,
  message: `Forbidden${suffix(detail)}`,
});

export const tooLong = (field: string, maximum: number): FieldError => ({
  type: "FieldValueTooLong",
  field,
  message: `Too long: may not be more than ${maximum} bytes`,
});

export const tooMany = (field: string, actual: number, maximum: number): FieldError => ({
  type: "FieldValueTooMany",
  field,
  message: `Too many: ${actual}: must have at most ${maximum} items`,
});

export const notFoundField = (field: string, value: unknown): FieldError => ({
  type: "FieldValueNotFound",
  field,
  message: `Not found: ${show(value)}`,
});

function suffix(detail: string): string {
  return detail === "" ? "" : `: ${detail}`;
}

function quote(text: string): string {
  return JSON.stringify(text);
}

function show(value: unknown): string {
  if (value === undefined || value === null) return "null";
  if (typeof value === "string") return quote(value);
  if (typeof value === "object") return JSON.stringify(value);
  return String(value as number | boolean | bigint);
}
