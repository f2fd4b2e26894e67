// How a Go decoder names the place and the type that a value did not fit: `PodSpec.spec.containers`, `[]v1.Container`.

import type { CompactField } from "../openapi/compact.ts";
import type { Schemas } from "./schemas.ts";

const scalars: Readonly<Record<string, string>> = {
  s: "string",
  i: "int32",
  l: "int64",
  n: "float64",
  b: "bool",
  q: "resource.Quantity",
  e: "intstr.IntOrString",
  t: "v1.Time",
  u: "v1.MicroTime",
  y: "[]uint8",
  o: "map[string]interface {}",
};

export function goTypeOf(field: CompactField): string {
  if (typeof field !== "string")
    return field[0] === "list" ? `[]${goTypeOf(field[1])}` : `map[string]${goTypeOf(field[1])}`;
  if (!field.startsWith("#")) return scalars[field] ?? field;
  const [version = "", name = ""] = field.slice(1).split(".").slice(-2);
  return `${version}.${name.replace(/~.*/, "")}`;
}

/** The struct that holds the field, and the way to it: without the indices of lists and the keys of maps. */
export function goPlaceOf(root: CompactField, path: string, schemas: Schemas): string {
  let field: CompactField | undefined = root;
  let struct = "";
  const names: string[] = [];
  let rest = path;
  while (rest !== "" && typeof field === "string" && field.startsWith("#")) {
    const type = schemas.type(field.slice(1));
    const fields: Readonly<Record<string, CompactField>> = (type?.or ? schemas.type(type.or) : type)?.p ?? {};
    const name = /^[^.[]+/.exec(rest)?.[0] ?? rest;
    if (!Object.hasOwn(fields, name)) break;
    struct = goTypeOf(field).replace(/^[^.]*\./, "");
    names.push(name);
    field = fields[name];
    rest = rest.slice(name.length);
    while (Array.isArray(field)) {
      const step = field[0] === "list" ? /^\[\d+\]/.exec(rest)?.[0] : /^\.[^.[]+/.exec(rest)?.[0];
      if (step === undefined) break;
      rest = rest.slice(step.length);
      field = field[1];
    }
    rest = rest.replace(/^\./, "");
  }
  return `${struct}.${names.join(".")}`;
}

/**
 * What is said of a value that a strategic merge patch put where it does not fit: those are not decoded from JSON, and only types
 * that read themselves speak of it in the same words. Undefined for those.
 */
export function unrestored(value: unknown, wanted: CompactField): string | undefined {
  const kind = goKindOf(value);
  if (typeof wanted !== "string") return `cannot restore ${wanted[0] === "list" ? "slice" : "map"} from ${kind}`;
  if (wanted.startsWith("#")) return `cannot restore struct from: ${kind}`;
  if (wanted === "o") return `cannot restore map from ${kind}`;
  if (wanted === "y") return `cannot restore slice from ${kind}`;
  if (!"silnb".includes(wanted)) return undefined;
  const type = goTypeOf(wanted);
  const isConverted = kind === "int64" ? wanted === "s" : kind === "float64" && "il".includes(wanted);
  return isConverted ? `cannot convert ${kind} to ${type}` : `unrecognized type: ${type}`;
}

function goKindOf(value: unknown): string {
  if (Array.isArray(value)) return "slice";
  if (typeof value === "object") return "map";
  if (typeof value === "bigint") return "int64";
  if (typeof value === "number") return Number.isInteger(value) ? "int64" : "float64";
  return typeof value === "boolean" ? "bool" : typeof value;
}

/** A value as Go prints one that it knows nothing of: `map[metadata:map[labels:x]]`. */
export function goText(value: unknown): string {
  if (value === null || value === undefined) return "<nil>";
  if (Array.isArray(value)) return `[${value.map(goText).join(" ")}]`;
  if (typeof value !== "object") return String(value);
  const members = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
  return `map[${members.map(([key, member]) => `${key}:${goText(member)}`).join(" ")}]`;
}
