// The schemas once more, small: one line per type, without texts, for field checks and server-side apply at run time.

import { type Field, messageById } from "../protobuf/schema.ts";
import { isAtomic } from "./list-types.ts";
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
  /** The type that it is held to where it is an object, or a list of objects: schemas within schemas. */
  readonly or?: string;
  /** Owned as a whole. */
  readonly a?: true;
  /** Fields that are not written when they are empty, zero or false: to say so is to say nothing. */
  readonly z?: readonly string[];
  /** Objects that are always there, and fields that a new object has already, in the types that Kubernetes itself uses. */
  readonly n?: readonly string[];
}

/** Scalars: string, integer of 32 and of 64 bits, number, boolean, quantity, int-or-string, time, time to the microsecond, bytes, anything, any object. */
const scalars = {
  string: "s",
  integer: "i",
  long: "l",
  number: "n",
  boolean: "b",
  quantity: "q",
  either: "e",
  time: "t",
  microTime: "u",
  bytes: "y",
  any: "*",
  object: "o",
};

const special: Record<string, string> = {
  "io.k8s.apimachinery.pkg.api.resource.Quantity": scalars.quantity,
  "io.k8s.apimachinery.pkg.util.intstr.IntOrString": scalars.either,
  "io.k8s.apimachinery.pkg.apis.meta.v1.Time": scalars.time,
  "io.k8s.apimachinery.pkg.apis.meta.v1.MicroTime": scalars.microTime,
  "io.k8s.apimachinery.pkg.apis.meta.v1.FieldsV1": scalars.object,
  "io.k8s.apimachinery.pkg.runtime.RawExtension": scalars.object,
};

/** Behind the name of a type that is owned whole: the same, owned part by part. */
const inParts = "~parts";

export function compactLines(models: Models): string {
  const line = (name: string, type: CompactType) => `${name}\t${JSON.stringify(type)}\n`;
  return [...models]
    .map(([name, schema]) => {
      const { a, ...parts } = compactType(name, schema);
      return a ? line(name, { ...parts, a }) + line(`${name}${inParts}`, parts) : line(name, parts);
    })
    .join("");
}

function compactType(name: string, schema: JsonSchema): CompactType {
  const is = special[name];
  if (is) return { is };
  if (schema.type === undefined) {
    const or = /^(.*\.JSONSchemaProps)Or\w+$/.exec(name)?.[1];
    return { is: scalars.any, ...(or ? { or } : {}) };
  }
  if (!schema.properties) return { is: schema.type === "string" ? scalars.string : scalars.object };
  const p: Record<string, CompactField> = {};
  for (const [field, property] of Object.entries(schema.properties)) p[field] = compactField(property);
  const { dropped, present } = writing(name, schema);
  return {
    p,
    ...(isAtomic(name) ? { a: true as const } : {}),
    ...(dropped.length > 0 ? { z: dropped } : {}),
    ...(present.length > 0 ? { n: present } : {}),
  };
}

/** Which fields are left out when they hold nothing, and which are there before anybody set them. */
function writing(name: string, schema: JsonSchema): { dropped: string[]; present: string[] } {
  const dropped: string[] = [];
  const present: string[] = [];
  for (const { name: field, shape, type, keepsZero } of fieldsOf(name)) {
    if (!Object.hasOwn(schema.properties ?? {}, field)) continue;
    const isObject = shape === "one" && type.length > 1;
    if (schema.required?.includes(field) || (isObject && !keepsZero)) present.push(field);
    if (!keepsZero && (shape !== "one" || "sibdy".includes(type))) dropped.push(field);
  }
  return { dropped, present };
}

/** As the protobuf form tells them, which knows what the published schemas do not: what is a pointer. */
function fieldsOf(name: string): Field[] {
  const [group = "", version = "", kind = ""] = name.split(".").slice(-3);
  const home = name.startsWith("io.k8s.apimachinery.pkg.apis.meta") ? "meta" : group;
  const flat = (id: string): Field[] =>
    [...(messageById(id)?.values() ?? [])].flatMap((field) => (field.name === "" ? flat(field.type) : [field]));
  return flat(`${home}/${version}.${kind}`);
}

function compactField(schema: JsonSchema): CompactField {
  const suffix = schema["x-kubernetes-map-type"] === "granular" ? inParts : "";
  if (schema.$ref) return special[schema.$ref] ?? `#${schema.$ref}${suffix}`;
  if (schema.type === "array") {
    const type = schema["x-kubernetes-list-type"];
    const keys = schema["x-kubernetes-list-map-keys"] as string[] | undefined;
    return ["list", compactField(schema.items ?? {}), keys ?? (type === "set" ? "set" : "atomic")];
  }
  if (schema.additionalProperties)
    return ["map", compactField(schema.additionalProperties), schema["x-kubernetes-map-type"] === "atomic"];
  if (schema.type === "integer") return schema.format === "int64" ? scalars.long : scalars.integer;
  if (schema.type === "number") return scalars.number;
  if (schema.type === "boolean") return scalars.boolean;
  if (schema.type === "string") return schema.format === "byte" ? scalars.bytes : scalars.string;
  return schema.type === "object" ? scalars.object : scalars.any;
}
