// Types of CEL as a checker sees them, how they fit each other, and what a schema declares: types with the sizes that costs are
// estimated from.

import { type CelSchema, escapeFieldName } from "./values.ts";

export interface CelType {
  /** `list`, `map`, `optional_type` and `type` have parameters; `object` has fields; `var` stands for any type, by its name. */
  readonly kind: string;
  readonly name?: string;
  readonly params?: readonly CelType[];
  readonly fields?: ReadonlyMap<string, Declared>;
}

/** A type that a schema declares. */
export interface Declared {
  readonly type: CelType;
  /** The most characters, items or entries; 0 where that means nothing. */
  readonly maxElements: number;
  /** The fewest bytes that such a value takes in JSON. */
  readonly minSize: number;
  readonly key?: Declared;
  readonly element?: Declared;
}

const simple = new Map<string, CelType>();

export function typeOf(kind: string, ...params: CelType[]): CelType {
  if (params.length > 0) return { kind, params };
  let type = simple.get(kind);
  if (!type) simple.set(kind, (type = { kind }));
  return type;
}

export const dyn = typeOf("dyn");
export const bool = typeOf("bool");
export const text = typeOf("string");

/** `list(string)`, `map(string, A)`, `kubernetes.URL`: as signatures write types. */
export function parseType(source: string): CelType {
  const found = /^([\w.]+)(?:\((.*)\))?$/.exec(source.trim());
  const [, name = "", inner] = found ?? [];
  if (/^[A-Z]$/.test(name)) return { kind: "var", name };
  return inner === undefined ? typeOf(name) : typeOf(name, ...splitTypes(inner).map(parseType));
}

export function splitTypes(list: string): string[] {
  const parts: string[] = [];
  let depth = 0;
  let part = "";
  for (const letter of list) {
    if (letter === "(") depth++;
    if (letter === ")") depth--;
    if (letter === "," && depth === 0) {
      parts.push(part);
      part = "";
    } else part += letter;
  }
  return part.trim() === "" ? parts : [...parts, part];
}

export function formatType({ kind, name, params }: CelType): string {
  if (kind === "null_type") return "null";
  if (kind === "error") return "!error!";
  if (params) return `${kind}(${params.map(formatType).join(", ")})`;
  return name ?? kind;
}

export type Bindings = Map<string, CelType>;

/** Whether a value of one type may stand where the other is asked for; type variables are bound on the way. */
export function fits(asked: CelType, given: CelType, bound: Bindings): boolean {
  if (asked.kind === "var") {
    const before = bound.get(asked.name ?? "");
    if (!before || (before.kind === "null_type" && takesNull(given))) bound.set(asked.name ?? "", given);
    else if (!fits(before, given, bound)) {
      if (!fits(given, before, bound)) return false;
      bound.set(asked.name ?? "", given);
    } else if (given.kind === "dyn") bound.set(asked.name ?? "", given);
    return true;
  }
  if (given.kind === "dyn" || given.kind === "error") {
    for (const part of asked.params ?? []) fits(part, given, bound);
    return true;
  }
  if (asked.kind === "dyn" || asked.kind === "error") return true;
  if (given.kind === "null_type") return asked.kind === "null_type" || takesNull(asked);
  if (asked.kind !== given.kind || asked.name !== given.name) return false;
  const theirs = given.params ?? [];
  return (asked.params ?? []).every((part, index) => fits(part, theirs[index] ?? dyn, bound));
}

const takesNull = ({ kind }: CelType): boolean =>
  kind === "object" || kind === "timestamp" || kind === "duration" || kind === "optional_type" || kind.includes(".");

/** The type with its variables replaced by what was bound; what was not is dynamic. */
export function resolved(type: CelType, bound: Bindings): CelType {
  if (type.kind === "var") return bound.get(type.name ?? "") ?? dyn;
  return type.params ? { ...type, params: type.params.map((part) => resolved(part, bound)) } : type;
}

const mostBytes = 3 * 1024 * 1024;

const leaf = (type: CelType, minSize: number, maxElements = 0): Declared => ({ type, minSize, maxElements });

/** What a schema declares, or undefined where expressions cannot see it; `isObject` where it is a whole object with kind and name. */
export function declared(schema: CelSchema, isObject = false, name = "object"): Declared | undefined {
  if (schema["x-kubernetes-int-or-string"]) return leaf(dyn, 1, mostBytes - 2);
  switch (isObject ? "object" : schema.type) {
    case "array": {
      const element = schema.items && below(schema.items, `${name}.@idx`);
      if (!element) return undefined;
      const most = schema.maxItems ?? Math.floor((mostBytes - 2) / (element.minSize + 1));
      return { type: typeOf("list", element.type), maxElements: Math.max(most, 0), minSize: 2, element };
    }
    case "object":
      return typeof schema.additionalProperties === "object"
        ? declaredMap(schema, schema.additionalProperties, name)
        : declaredObject(schema, isObject, name);
    case "string":
      return declaredText(schema);
    case "boolean":
      return leaf(bool, 4);
    case "number":
      return leaf(typeOf("double"), 1);
    case "integer":
      return leaf(typeOf("int"), 1);
    default:
      return undefined;
  }
}

const below = (schema: CelSchema, name: string) =>
  declared(schema, schema["x-kubernetes-embedded-resource"] === true, name);

function declaredMap(schema: CelSchema, values: CelSchema, name: string): Declared | undefined {
  const element = below(values, `${name}.@elem`);
  if (!element) return undefined;
  const most = schema.maxProperties ?? Math.floor((mostBytes - 2) / (element.minSize + 6));
  const key = leaf(text, 2);
  return { type: typeOf("map", text, element.type), maxElements: Math.max(most, 0), minSize: 2, key, element };
}

const anyText: CelSchema = { type: "string" };
const objectFields: Record<string, CelSchema> = {
  kind: anyText,
  apiVersion: anyText,
  metadata: { type: "object", properties: { name: anyText, generateName: anyText } },
};

function declaredObject(schema: CelSchema, isObject: boolean, name: string): Declared {
  const fields = new Map<string, Declared>();
  const properties =
    isObject && !hasObjectFields(schema) ? { ...schema.properties, ...objectFields } : (schema.properties ?? {});
  let minSize = 2;
  for (const [key, property] of Object.entries(properties)) {
    const field = below(property, `${name}.${escapeFieldName(key)}`);
    if (!field) continue;
    fields.set(escapeFieldName(key), field);
    if (schema.required?.includes(key) && property.default === undefined) minSize += key.length + field.minSize + 4;
  }
  return { type: { kind: "object", name, fields }, maxElements: 0, minSize };
}

/** Whether the schema itself says what every object has. */
function hasObjectFields({ properties }: CelSchema): boolean {
  const isText = (field: CelSchema | undefined) => field?.type === "string";
  const metadata = properties?.["metadata"];
  return (
    isText(properties?.["kind"]) &&
    isText(properties?.["apiVersion"]) &&
    metadata?.type === "object" &&
    isText(metadata.properties?.["name"]) &&
    isText(metadata.properties?.["generateName"])
  );
}

function declaredText(schema: CelSchema): Declared {
  const { maxLength } = schema;
  switch (schema.format) {
    case "byte":
      return leaf(typeOf("bytes"), 2, Math.max(maxLength ?? mostBytes - 2, 0));
    case "duration":
      return leaf(typeOf("duration"), 3, 32);
    case "date":
      return leaf(typeOf("timestamp"), 12, 12);
    case "date-time":
      return leaf(typeOf("timestamp"), 21, 32);
  }
  const longest = schema.enum?.reduce<number>(
    (most, one) => (typeof one === "string" ? Math.max(most, Buffer.byteLength(one)) : most),
    0,
  );
  // Lengths are told in characters, of which each may take four bytes.
  return leaf(text, 2, maxLength === undefined ? (longest ?? mostBytes - 2) : Math.max(maxLength, 0) * 4);
}
