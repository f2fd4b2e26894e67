// Checks a value against a structural schema, with the words that upstream's validator uses.

import { deepEqual } from "../../machinery/equal.ts";
import {
  boundedErrors,
  duplicate,
  type FieldError,
  type FieldErrors,
  invalid,
  notSupported,
  required,
} from "../../machinery/field-error.ts";
import { matchesFormat, matchesPattern } from "./formats.ts";
import { childPath, isObject, propertyOf, type StructuralSchema } from "./structural-schema.ts";

const mostErrors = 100;

export function validateBySchema(value: unknown, schema: StructuralSchema, path = ""): FieldErrors {
  const errors: FieldErrors = [];
  check(value, schema, path, errors);
  return errors.slice(0, mostErrors);
}

function check(value: unknown, schema: StructuralSchema, path: string, errors: FieldErrors): void {
  if (errors.length > mostErrors) return;
  if (value === null && schema.nullable === true) return;
  if (!checkType(value, schema, path, errors)) return;
  if (schema.enum && !schema.enum.some((one) => deepEqual(one, value)))
    errors.push(
      notSupported(
        path,
        value,
        schema.enum.map((one) => (typeof one === "string" ? one : JSON.stringify(one))),
      ),
    );
  if (typeof value === "string") checkText(value, schema, path, errors);
  else if (typeof value === "number" || typeof value === "bigint") checkNumber(value, schema, path, errors);
  else if (Array.isArray(value)) checkList(value, schema, path, errors);
  else if (isObject(value)) checkObject(value, schema, path, errors);
  checkCombinations(value, schema, path, errors);
}

const typeName = (value: unknown): string => {
  if (value === null) return "null";
  if (Array.isArray(value)) return "array";
  if (typeof value === "number") return Number.isInteger(value) ? "integer" : "number";
  if (typeof value === "bigint") return "integer";
  return typeof value;
};

function checkType(value: unknown, schema: StructuralSchema, path: string, errors: FieldErrors): boolean {
  const found = typeName(value);
  if (schema["x-kubernetes-int-or-string"] === true) {
    if (found === "integer" || found === "string") return true;
    errors.push(wrongType(path, "integer,string", found));
    return false;
  }
  const wanted = schema.type;
  if (!wanted || wanted === found || (wanted === "number" && found === "integer")) return true;
  errors.push(wrongType(path, wanted, found));
  return false;
}

function wrongType(path: string, wanted: string, found: string): FieldError {
  return {
    type: "FieldValueTypeInvalid",
    field: path === "" ? "<nil>" : path,
    message: `Invalid value: ${JSON.stringify(found)}: ${path === "" ? "" : `${path} `}in body must be of type ${wanted}: ${JSON.stringify(found)}`,
  };
}

function checkText(value: string, schema: StructuralSchema, path: string, errors: FieldErrors): void {
  const length = codePoints(value);
  if (schema.maxLength !== undefined && length > schema.maxLength)
    errors.push({
      type: "FieldValueTooLong",
      field: path,
      message: `Too long: may not be more than ${schema.maxLength} bytes`,
    });
  if (schema.minLength !== undefined && length < schema.minLength)
    errors.push(invalid(path, value, `${path} in body should be at least ${schema.minLength} chars long`));
  if (schema.pattern !== undefined && !matchesPattern(schema.pattern, value))
    errors.push(invalid(path, value, `${path} in body should match '${schema.pattern}'`));
  if (schema.format !== undefined && !matchesFormat(schema.format, value))
    errors.push(invalid(path, value, `${path} in body must be of type ${schema.format}: ${JSON.stringify(value)}`));
}

/** Lengths are counted in code points, not in the halves that UTF-16 makes of some. */
function codePoints(text: string): number {
  let count = 0;
  for (const _ of text) count++;
  return count;
}

function checkNumber(value: number | bigint, schema: StructuralSchema, path: string, errors: FieldErrors): void {
  const { minimum, maximum, multipleOf } = schema;
  if (maximum !== undefined && (schema.exclusiveMaximum ? value >= maximum : value > maximum))
    errors.push(
      invalid(
        path,
        value,
        `${path} in body should be less than ${schema.exclusiveMaximum ? "" : "or equal to "}${maximum}`,
      ),
    );
  if (minimum !== undefined && (schema.exclusiveMinimum ? value <= minimum : value < minimum))
    errors.push(
      invalid(
        path,
        value,
        `${path} in body should be greater than ${schema.exclusiveMinimum ? "" : "or equal to "}${minimum}`,
      ),
    );
  if (multipleOf !== undefined && multipleOf > 0 && !isMultiple(value, multipleOf))
    errors.push(invalid(path, value, `${path} in body should be a multiple of ${multipleOf}`));
}

function isMultiple(value: number | bigint, of: number): boolean {
  return typeof value === "bigint" && Number.isInteger(of)
    ? value % BigInt(of) === 0n
    : Number.isInteger(Number(value) / of);
}

function checkList(value: unknown[], schema: StructuralSchema, path: string, errors: FieldErrors): void {
  if (schema.maxItems !== undefined && value.length > schema.maxItems)
    errors.push({
      type: "FieldValueTooMany",
      field: path,
      message: `Too many: ${value.length}: must have at most ${schema.maxItems} items`,
    });
  if (schema.minItems !== undefined && value.length < schema.minItems)
    errors.push(invalid(path, value.length, `${path} in body should have at least ${schema.minItems} items`));
  const type = schema["x-kubernetes-list-type"];
  if (type === "set" || type === "map" || schema.uniqueItems) checkUnique(value, schema, path, errors);
  const { items } = schema;
  if (items) value.forEach((item, index) => check(item, items, `${path}[${index}]`, errors));
}

function checkUnique(value: unknown[], schema: StructuralSchema, path: string, errors: FieldErrors): void {
  const keys = schema["x-kubernetes-list-map-keys"];
  const seen = new Set<string>();
  value.forEach((item, index) => {
    const identity =
      keys && isObject(item)
        ? Object.fromEntries(keys.map((key) => [key, item[key] ?? propertyOf(schema.items ?? {}, key)?.default]))
        : item;
    const text = JSON.stringify(identity);
    if (seen.has(text)) errors.push(duplicate(`${path}[${index}]`, identity));
    seen.add(text);
  });
}

function checkObject(
  value: Record<string, unknown>,
  schema: StructuralSchema,
  path: string,
  errors: FieldErrors,
): void {
  for (const name of schema.required ?? [])
    if (!Object.hasOwn(value, name) || value[name] === undefined) errors.push(required(childPath(path, name)));
  const count = Object.keys(value).length;
  if (schema.maxProperties !== undefined && count > schema.maxProperties)
    errors.push({
      type: "FieldValueTooMany",
      field: path,
      message: `Too many: ${count}: must have at most ${schema.maxProperties} items`,
    });
  if (schema.minProperties !== undefined && count < schema.minProperties)
    errors.push(invalid(path, value, `${path} in body should have at least ${schema.minProperties} properties`));
  for (const [name, item] of Object.entries(value)) {
    const below = propertyOf(schema, name);
    if (below) check(item, below, childPath(path, name), errors);
  }
}

function checkCombinations(value: unknown, schema: StructuralSchema, path: string, errors: FieldErrors): void {
  // What a schema that need not hold finds is not among the errors of the object.
  const passes = (one: StructuralSchema) => boundedErrors(() => validateBySchema(value, one, path)).length === 0;
  for (const one of schema.allOf ?? []) errors.push(...validateBySchema(value, one, path));
  const label = path === "" ? "<nil>" : path;
  if (schema.anyOf && !schema.anyOf.some(passes))
    errors.push(invalid(label, value, `${JSON.stringify(path)} must validate at least one schema (anyOf)`));
  if (schema.oneOf) {
    const count = schema.oneOf.filter(passes).length;
    if (count !== 1)
      errors.push(
        invalid(
          label,
          value,
          `${JSON.stringify(path)} must validate one and only one schema (oneOf). Found ${count === 0 ? "none" : count} valid`,
        ),
      );
  }
  if (schema.not && passes(schema.not))
    errors.push(invalid(label, value, `${JSON.stringify(path)} must not validate the schema (not)`));
}
