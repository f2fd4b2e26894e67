// The schemas once more, small: one line per type, without texts, for field checks and server-side apply at run time.

import { shortName } from "./annotate.ts";
import { atomicTypes } from "./list-types.ts";
import type { JsonSchema, Models } from "./read-models.ts";

/** A scalar by its letter, a type by `#name`, or a list or map of something with how it is owned. */
export type CompactField =
  | string
  | ["list", CompactField, "atomic" | "set" | readonly string[]]
  | ["map", CompactField, boolean];

export interface CompactType {
  /** Fields; absent for types that are scalars or anything. */
  readonly p?: Record<string, CompactField>;
  /** What it is instead of an object with fields. */
  readonly is?: string;
  /** Owned as a whole. */
  readonly a?: true;
}

/** Scalars: string, integer, number, boolean, quantity, int-or-string, time, bytes, anything, any object. */
const scalars = {
  string: "s",
  integer: "i",
  number: "n",
  boolean: "b",
  quantity: "q",
  either: "e",
  time: "t",
  bytes: "y",
  any: "*",
  object: "o",
};

const special: Record<string, string> = {
  "io.k8s.apimachinery.pkg.api.resource.Quantity": scalars.quantity,
  "io.k8s.apimachinery.pkg.util.intstr.IntOrString": scalars.either,
  "io.k8s.apimachinery.pkg.apis.meta.v1.Time": scalars.time,
  "io.k8s.apimachinery.pkg.apis.meta.v1.MicroTime": scalars.time,
  "io.k8s.apimachinery.pkg.apis.meta.v1.FieldsV1": scalars.object,
  "io.k8s.apimachinery.pkg.runtime.RawExtension": scalars.object,
};

export function compactLines(models: Models): string {
  return [...models].map(([name, schema]) => `${name}\t${JSON.stringify(compactType(name, schema))}\n`).join("");
}

function compactType(name: string, schema: JsonSchema): CompactType {
  const is = special[name];
  if (is) return { is };
  if (schema.type === undefined) return { is: scalars.any };
  if (!schema.properties) return { is: schema.type === "string" ? scalars.string : scalars.object };
  const p: Record<string, CompactField> = {};
  for (const [field, property] of Object.entries(schema.properties)) p[field] = compactField(property);
  return { p, ...(atomicTypes.has(shortName(name)) ? { a: true as const } : {}) };
}

function compactField(schema: JsonSchema): CompactField {
  if (schema.$ref) return special[schema.$ref] ?? `#${schema.$ref}`;
  if (schema.type === "array") {
    const type = schema["x-kubernetes-list-type"];
    const keys = schema["x-kubernetes-list-map-keys"] as string[] | undefined;
    return ["list", compactField(schema.items ?? {}), keys ?? (type === "set" ? "set" : "atomic")];
  }
  if (schema.additionalProperties)
    return ["map", compactField(schema.additionalProperties), schema["x-kubernetes-map-type"] === "atomic"];
  if (schema.type === "integer") return scalars.integer;
  if (schema.type === "number") return scalars.number;
  if (schema.type === "boolean") return scalars.boolean;
  if (schema.type === "string") return schema.format === "byte" ? scalars.bytes : scalars.string;
  return schema.type === "object" ? scalars.object : scalars.any;
}
