// JSON values as CEL sees them: integers are big integers, and a schema says what a number or text stands for.

import { evaluate } from "@marcbachmann/cel-js";

/** The parts of a structural schema that decide about CEL types. */
export interface CelSchema {
  type?: string;
  format?: string;
  properties?: Record<string, CelSchema>;
  additionalProperties?: CelSchema | boolean;
  items?: CelSchema;
  required?: string[];
  default?: unknown;
  enum?: unknown[];
  maxItems?: number;
  maxLength?: number;
  maxProperties?: number;
  "x-kubernetes-int-or-string"?: boolean;
  "x-kubernetes-preserve-unknown-fields"?: boolean;
  "x-kubernetes-embedded-resource"?: boolean;
}

const keywords = new Set(
  "true false null in as break const continue else for function if import let loop package namespace return var void while".split(
    " ",
  ),
);

/** A field name as expressions write it: `__dot__` and its kind for characters that CEL names cannot hold. */
export function escapeFieldName(name: string): string {
  if (keywords.has(name)) return `__${name}__`;
  return name
    .replaceAll("__", "__underscores__")
    .replaceAll(".", "__dot__")
    .replaceAll("-", "__dash__")
    .replaceAll("/", "__slash__");
}

/** Without a schema whole numbers are ints and others doubles, as for objects of unknown kinds upstream. */
export function toCel(value: unknown, schema?: CelSchema): unknown {
  if (typeof value === "number") return numberToCel(value, schema);
  if (typeof value === "bigint") return schema?.type === "number" ? Number(value) : value;
  if (typeof value === "string") return textToCel(value, schema);
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) return value.map((each) => toCel(each, schema?.items));
  const result: Record<string, unknown> = Object.create(null) as Record<string, unknown>;
  for (const [key, each] of Object.entries(value)) {
    const own = schema?.properties?.[key];
    const extra = typeof schema?.additionalProperties === "object" ? schema.additionalProperties : undefined;
    const part = toCel(each, own ?? extra);
    // Declared fields are read by their escaped name; keys of maps keep theirs.
    result[own ? escapeFieldName(key) : key] = part;
  }
  return result;
}

function numberToCel(value: number, schema: CelSchema | undefined): unknown {
  if (schema?.type === "number") return value;
  return Number.isInteger(value) ? BigInt(value) : value;
}

function textToCel(value: string, schema: CelSchema | undefined): unknown {
  if (schema?.type !== "string") return value;
  if (schema.format === "date-time" || schema.format === "date") {
    const time = new Date(value);
    return Number.isNaN(time.getTime()) ? value : time;
  }
  if (schema.format === "duration") return durationToCel(value) ?? value;
  if (schema.format === "byte") return new Uint8Array(Buffer.from(value, "base64"));
  return value;
}

/** The library's own duration value, which it exports only as the answer of an expression. */
function durationToCel(text: string): unknown {
  if (!/^-?(\d+(\.\d+)?(h|ms|m|s|us|µs|ns))+$/.test(text)) return undefined;
  return evaluate("duration(text)", { text }) as unknown;
}

/** Back to JSON, for audit annotations and messages. */
export function fromCel(value: unknown): unknown {
  if (typeof value === "bigint") return Number(value);
  if (value instanceof Date) return value.toISOString().replace(/\.000Z$/, "Z");
  if (Object.prototype.toString.call(value) === "[object google.protobuf.Duration]") return String(value);
  if (value instanceof Uint8Array) return Buffer.from(value).toString("base64");
  if (Array.isArray(value)) return value.map(fromCel);
  if (typeof value === "object" && value !== null) {
    return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, fromCel(each)]));
  }
  return value;
}
