// Holds a decoded object to its schema in place: unknown fields are dropped and told, nulls are absent fields, values of the
// wrong type are refused, and quantities get their canonical form, as a decoder of typed objects would do.

import { isFault } from "../../../plugins/kit/fault.ts";
import { base64Problem } from "./base64.ts";
import { formatQuantity, parseQuantity } from "../../../plugins/kit/quantity.ts";
import type { CompactField } from "../openapi/compact.ts";
import type { Schemas } from "./schemas.ts";

export interface Decoding {
  /** Paths of fields that the schema does not have. */
  readonly unknown: string[];
  /** What could not be read, if anything. */
  problem: string | undefined;
}

type Json = Record<string, unknown>;

const goTypes: Record<string, string> = {
  s: "string",
  i: "int32",
  n: "float64",
  b: "bool",
  q: "resource.Quantity",
  e: "intstr.IntOrString",
  t: "v1.Time",
  y: "[]uint8",
  o: "map[string]interface {}",
};

/** `path` is where the object stands in what was sent. */
export function holdToSchema(object: Json, field: CompactField, schemas: Schemas, path = ""): Decoding {
  const decoding: Decoding = { unknown: [], problem: undefined };
  visit(object, field, path, schemas, decoding);
  return decoding;
}

/** Returns what the value becomes. */
function visit(value: unknown, field: CompactField, path: string, schemas: Schemas, decoding: Decoding): unknown {
  if (typeof field === "string")
    return field.startsWith("#")
      ? visitType(value, field.slice(1), path, schemas, decoding)
      : visitScalar(value, field, path, decoding);
  if (field[0] === "list") {
    if (!Array.isArray(value)) return wrong(value, path, "slice", decoding);
    for (let index = 0; index < value.length; index++)
      value[index] = visit(value[index], field[1], `${path}[${index}]`, schemas, decoding);
    return value;
  }
  if (!isObject(value)) return wrong(value, path, "map", decoding);
  for (const key of Object.keys(value)) {
    const item = value[key];
    // A null value of a map is the zero of its type.
    const next = item === null && field[1] === "s" ? "" : visit(item, field[1], `${path}.${key}`, schemas, decoding);
    if (next !== item) set(value, key, next);
  }
  return value;
}

function visitType(value: unknown, name: string, path: string, schemas: Schemas, decoding: Decoding): unknown {
  const type = schemas.type(name);
  if (!type) return value;
  if (type.is !== undefined) return visitScalar(value, type.is, path, decoding);
  if (!isObject(value)) return wrong(value, path, name.slice(name.lastIndexOf(".") + 1), decoding);
  const fields = type.p ?? {};
  for (const key of Object.keys(value)) {
    const at = path === "" ? key : `${path}.${key}`;
    if (!Object.hasOwn(fields, key)) {
      decoding.unknown.push(at);
      delete value[key];
      continue;
    }
    const item = value[key];
    if (item === null) {
      delete value[key];
      continue;
    }
    const next = visit(item, fields[key] as CompactField, at, schemas, decoding);
    if (next !== item) set(value, key, next);
  }
  return value;
}

function visitScalar(value: unknown, kind: string, path: string, decoding: Decoding): unknown {
  switch (kind) {
    case "y":
      return bytes(value, path, decoding);
    case "s":
      return typeof value === "string" ? value : wrong(value, path, kind, decoding);
    case "i":
      return typeof value === "number" && Number.isInteger(value) ? value : wrong(value, path, kind, decoding);
    case "n":
      return typeof value === "number" ? value : wrong(value, path, kind, decoding);
    case "b":
      return typeof value === "boolean" ? value : wrong(value, path, kind, decoding);
    case "e":
      return typeof value === "string" || Number.isInteger(value) ? value : wrong(value, path, kind, decoding);
    case "o":
      return isObject(value) ? value : wrong(value, path, kind, decoding);
    case "t":
      if (typeof value === "string" && !Number.isNaN(Date.parse(value))) return value;
      return wrong(value, path, kind, decoding);
    case "q":
      return quantity(value, path, decoding);
    default:
      return value;
  }
}

function bytes(value: unknown, path: string, decoding: Decoding): unknown {
  if (typeof value !== "string") return wrong(value, path, "y", decoding);
  const at = base64Problem(value);
  if (at !== undefined) decoding.problem ??= `illegal base64 data at input byte ${at}`;
  return value;
}

function quantity(value: unknown, path: string, decoding: Decoding): unknown {
  if (typeof value !== "string" && typeof value !== "number") return wrong(value, path, "q", decoding);
  try {
    return formatQuantity(parseQuantity(value));
  } catch (error) {
    if (!isFault(error)) throw error;
    decoding.problem ??= "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'";
    return value;
  }
}

function wrong(value: unknown, path: string, wanted: string, decoding: Decoding): unknown {
  const found = Array.isArray(value)
    ? "array"
    : value === null
      ? "null"
      : typeof value === "boolean"
        ? "bool"
        : typeof value;
  decoding.problem ??= `json: cannot unmarshal ${found} into Go struct field ${path} of type ${goTypes[wanted] ?? wanted}`;
  return value;
}

function isObject(value: unknown): value is Json {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Also for keys such as `__proto__`, which an assignment would take for something else. */
function set(target: Json, key: string, value: unknown): void {
  Object.defineProperty(target, key, { value, writable: true, enumerable: true, configurable: true });
}
