// Holds a decoded object to its schema in place: unknown fields are dropped and told, nulls are absent fields, values of the
// wrong type are refused, and quantities get their canonical form, as a decoder of typed objects would do.

import { isFault } from "../../../plugins/kit/base/fault.ts";
import { base64Problem } from "./base64.ts";
import { goPlaceOf, goTypeOf } from "./go-words.ts";
import { formatQuantity, parseQuantity, type Quantity, roundToMilli } from "../../../plugins/kit/kube/quantity.ts";
import type { CompactField, CompactType } from "../openapi/compact.ts";
import type { Schemas } from "./schemas.ts";

/** As many unknown and duplicate fields as upstream's decoder names; the others are dropped in silence. */
export const mostStrictErrors = 100;

export interface Decoding {
  /** Paths of fields that the schema does not have: the first `mostStrictErrors`. */
  readonly unknown: string[];
  /** What could not be read, if anything. */
  problem: string | undefined;
  /** Nothing that was said is left out, nothing unsaid is added: who applies an object owns what it says. */
  readonly isAsSaid?: boolean;
  /** The first value of another type than its field, where that is the problem. */
  mismatch?: Mismatch;
}

interface Mismatch {
  readonly value: unknown;
  readonly found: string;
  readonly path: string;
  readonly wanted: CompactField;
}

type Json = Record<string, unknown>;

interface Held {
  readonly schemas: Schemas;
  /** Where the object stands in what was sent. */
  readonly path?: string;
  readonly isAsSaid?: boolean;
}

export function holdToSchema(
  object: Json,
  field: CompactField,
  { schemas, path = "", isAsSaid = false }: Held,
): Decoding {
  const decoding: Decoding = { unknown: [], problem: undefined, isAsSaid };
  visit(object, field, path, schemas, decoding);
  const { mismatch } = decoding;
  if (mismatch) {
    const place = goPlaceOf(field, mismatch.path.slice(path.length === 0 ? 0 : path.length + 1), schemas);
    decoding.problem = `json: cannot unmarshal ${mismatch.found} into Go struct field ${place} of type ${goTypeOf(mismatch.wanted)}`;
  }
  return decoding;
}

/** Returns what the value becomes. */
function visit(value: unknown, field: CompactField, path: string, schemas: Schemas, decoding: Decoding): unknown {
  if (typeof field === "string")
    return field.startsWith("#")
      ? visitType(value, field.slice(1), path, schemas, decoding)
      : visitScalar(value, field, path, decoding);
  if (field[0] === "list") {
    if (!Array.isArray(value)) return wrong(value, path, field, decoding);
    for (let index = 0; index < value.length; index++)
      value[index] = visit(value[index] ?? zeroOf(field[1]), field[1], `${path}[${index}]`, schemas, decoding);
    return value;
  }
  if (!isObject(value)) return wrong(value, path, field, decoding);
  for (const key of Object.keys(value)) {
    const item = value[key];
    const at = `${path}.${key}`;
    // A map of quantities is a list of resources, whose amounts upstream keeps in thousandths.
    const next =
      field[1] === "q"
        ? quantity(item ?? "0", at, decoding, roundToMilli)
        : visit(item ?? zeroOf(field[1]), field[1], at, schemas, decoding);
    if (next !== item) set(value, key, next);
  }
  return value;
}

/** What null stands for in a list or a map: the zero of its type. */
function zeroOf(field: CompactField): unknown {
  if (typeof field !== "string") return field[0] === "list" ? [] : {};
  if (field.startsWith("#") || field === "o") return {};
  if ("ilne".includes(field)) return 0;
  if (field === "b") return false;
  if (field === "q") return "0";
  return field === "s" || field === "y" ? "" : null;
}

function visitType(value: unknown, name: string, path: string, schemas: Schemas, decoding: Decoding): unknown {
  const type = schemas.type(name);
  if (!type) return value;
  if (type.or !== undefined && isObject(value)) return visitType(value, type.or, path, schemas, decoding);
  if (type.is !== undefined) return visitScalar(value, type.is, path, decoding);
  if (!isObject(value)) return wrong(value, path, `#${name}`, decoding);
  const fields = type.p ?? {};
  for (const key of Object.keys(value)) {
    if (!Object.hasOwn(fields, key)) {
      if (decoding.unknown.length < mostStrictErrors) decoding.unknown.push(below(path, key));
      delete value[key];
      continue;
    }
    const at = below(path, key);
    const item = value[key];
    if (item === null) {
      delete value[key];
      continue;
    }
    const next = visit(item, fields[key] as CompactField, at, schemas, decoding);
    if (!decoding.isAsSaid && type.z?.includes(key) && holdsNothing(next)) delete value[key];
    else if (next !== item) set(value, key, next);
  }
  if (!decoding.isAsSaid && path !== "" && path !== "metadata") fillTemplate(value, name, type);
  return value;
}

const below = (path: string, key: string): string => (path === "" ? key : `${path}.${key}`);

/** Objects within objects always show their metadata, and when they were created: never. */
function fillTemplate(value: Json, name: string, type: CompactType): void {
  if (type.n?.includes("metadata") && value.metadata === undefined) value.metadata = { creationTimestamp: null };
  if (name.endsWith(".ObjectMeta") && value.creationTimestamp === undefined) value.creationTimestamp = null;
}

function holdsNothing(value: unknown): boolean {
  if (value === "" || value === 0 || value === false) return true;
  return typeof value === "object" && value !== null && Object.keys(value).length === 0;
}

function visitScalar(value: unknown, kind: string, path: string, decoding: Decoding): unknown {
  switch (kind) {
    case "y":
      return bytes(value, path, decoding);
    case "s":
      return typeof value === "string" ? value : wrong(value, path, kind, decoding);
    case "i":
      return isInt32(value) ? value : wrong(value, path, kind, decoding);
    case "l":
      return isWhole(value) && value >= -(2 ** 63) && value < 2 ** 63 ? value : wrong(value, path, kind, decoding);
    case "n":
      if (typeof value === "bigint") return Number(value);
      return typeof value === "number" ? value : wrong(value, path, kind, decoding);
    case "b":
      return typeof value === "boolean" ? value : wrong(value, path, kind, decoding);
    case "e":
      return typeof value === "string" || isInt32(value) ? value : wrong(value, path, kind, decoding);
    case "o":
      return isObject(value) ? value : wrong(value, path, kind, decoding);
    case "t":
      if (typeof value !== "string") return wrong(value, path, kind, decoding);
      if (!secondsPattern.test(value) || Number.isNaN(Date.parse(value)))
        unreadTime(value, "2006-01-02T15:04:05Z07:00", decoding);
      return value;
    case "u":
      if (typeof value !== "string") return wrong(value, path, kind, decoding);
      if (!microsPattern.test(value) || Number.isNaN(Date.parse(value)))
        unreadTime(value, "2006-01-02T15:04:05.000000Z07:00", decoding);
      return value;
    case "q":
      return quantity(value, path, decoding);
    default:
      return value;
  }
}

const secondsPattern = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d([.,]\d+)?(Z|[+-]\d\d:\d\d)$/;
const microsPattern = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d[.,]\d{6}(Z|[+-]\d\d:\d\d)$/;

function unreadTime(value: string, layout: string, decoding: Decoding): void {
  decoding.problem ??= `parsing time ${JSON.stringify(value)} as ${JSON.stringify(layout)}: cannot parse ${JSON.stringify(value)} as "2006"`;
}

function bytes(value: unknown, path: string, decoding: Decoding): unknown {
  if (typeof value !== "string") return wrong(value, path, "y", decoding);
  const at = base64Problem(value);
  if (at !== undefined) decoding.problem ??= `illegal base64 data at input byte ${at}`;
  return value;
}

function quantity(
  value: unknown,
  path: string,
  decoding: Decoding,
  round: (exact: Quantity) => Quantity = (exact) => exact,
): unknown {
  if (typeof value !== "string" && typeof value !== "number") return wrong(value, path, "q", decoding);
  try {
    return formatQuantity(round(parseQuantity(value)));
  } catch (error) {
    if (!isFault(error)) throw error;
    decoding.problem ??= "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'";
    return value;
  }
}

const isWhole = (value: unknown): value is number => typeof value === "number" && Number.isInteger(value);

const isInt32 = (value: unknown): boolean => isWhole(value) && Math.abs(value + 0.5) < 2 ** 31;

function wrong(value: unknown, path: string, wanted: CompactField, decoding: Decoding): unknown {
  if (decoding.problem !== undefined) return value;
  const kind = Array.isArray(value)
    ? "array"
    : value === null
      ? "null"
      : typeof value === "bigint"
        ? "number"
        : typeof value;
  // Of a number that does not fit it is told which one it is.
  const isNumeric =
    (typeof value === "number" || typeof value === "bigint") && typeof wanted === "string" && "ilne".includes(wanted);
  const found = isNumeric ? `number ${value}` : kind === "boolean" ? "bool" : kind;
  decoding.problem = "";
  decoding.mismatch = { value, found, path, wanted };
  return value;
}

function isObject(value: unknown): value is Json {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Also for keys such as `__proto__`, which an assignment would take for something else. */
function set(target: Json, key: string, value: unknown): void {
  Object.defineProperty(target, key, { value, writable: true, enumerable: true, configurable: true });
}
