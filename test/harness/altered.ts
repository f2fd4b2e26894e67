// Alters a valid object in every place, one place at a time: what is there goes missing, becomes empty, wrong, too long or of another
// type; what its schema knows and it does not have is added.

import type { CompactField } from "../../control/api/openapi/compact.ts";
import type { Schemas } from "../../control/api/schema/schemas.ts";
import type { Json } from "../fixtures/objects/valid-object.ts";

export interface Altered {
  /** What was done, where. */
  readonly what: string;
  readonly object: Json;
}

type Place = readonly (string | number)[];

const texts = ["", "A_b C!", `${"x".repeat(254)}`];
const numbers = [-1, 0, 70_000, 2 ** 31];

/** Fields that no client chooses, or that decide where the object goes. */
const untouched = new Set(["apiVersion", "kind", "managedFields", "creationTimestamp", "selfLink", "uid"]);

export function* alterations(object: Json, root: CompactField, schemas: Schemas): Generator<Altered> {
  for (const { place, value, field } of nodes(object, root, schemas, [])) {
    const at = place.map((part) => (typeof part === "number" ? `[${part}]` : `.${part}`)).join("");
    const last = place.at(-1);
    if (place.length > 0 && !(place.length === 1 && untouched.has(String(last)))) {
      yield { what: `without ${at}`, object: removed(object, place) };
      for (const other of others(value)) {
        const shown = JSON.stringify(other);
        yield {
          what: `${at} is ${shown.length > 60 ? `${shown.slice(0, 60)}…` : shown}`,
          object: replaced(object, place, other),
        };
      }
    }
    for (const [name, added] of absent(value, field, schemas)) {
      if (place.length <= 1 && untouched.has(name)) continue;
      yield { what: `with ${at}.${name} ${JSON.stringify(added)}`, object: replaced(object, [...place, name], added) };
    }
  }
}

interface Node {
  readonly place: Place;
  readonly value: unknown;
  readonly field: CompactField | undefined;
}

function* nodes(value: unknown, field: CompactField | undefined, schemas: Schemas, place: Place): Generator<Node> {
  yield { place, value, field };
  if (Array.isArray(value)) {
    const below = Array.isArray(field) ? field[1] : undefined;
    for (const [index, item] of value.entries()) yield* nodes(item, below, schemas, [...place, index]);
  } else if (typeof value === "object" && value !== null) {
    const fields = fieldsOf(field, schemas);
    for (const [name, item] of Object.entries(value)) {
      const below = Array.isArray(field) ? field[1] : fields?.[name];
      yield* nodes(item, below, schemas, [...place, name]);
    }
  }
}

function fieldsOf(field: CompactField | undefined, schemas: Schemas): Record<string, CompactField> | undefined {
  return typeof field === "string" && field.startsWith("#") ? schemas.type(field.slice(1))?.p : undefined;
}

function others(value: unknown): unknown[] {
  if (typeof value === "string") return [...texts, 7, null];
  if (typeof value === "number") return [...numbers, "7", null].filter((other) => other !== value);
  if (typeof value === "boolean") return [!value, "true", null];
  if (Array.isArray(value)) return [[], [...value, ...value.slice(0, 1)], [null], {}, "text"];
  return [{}, { ...(value as object), "a_b c!": "x" }, [], "text"];
}

function* absent(value: unknown, field: CompactField | undefined, schemas: Schemas): Generator<[string, unknown]> {
  const fields = fieldsOf(field, schemas);
  if (!fields || typeof value !== "object" || value === null) return;
  for (const [name, below] of Object.entries(fields)) {
    if (Object.hasOwn(value, name)) continue;
    yield [name, sample(below, schemas, 2)];
    if (typeof below !== "string" || below.startsWith("#"))
      yield [name, Array.isArray(below) && below[0] === "list" ? [] : {}];
    else if (below === "s") yield [name, "A b"];
    else if (below === "i" || below === "l") yield [name, -1];
  }
}

/** A value that fits the field, as deep as told. */
function sample(field: CompactField, schemas: Schemas, depth: number): unknown {
  if (Array.isArray(field)) {
    const inner = sample(field[1], schemas, depth - 1);
    return field[0] === "list" ? [inner] : { x: inner };
  }
  if (field.startsWith("#")) {
    const type = schemas.type(field.slice(1));
    if (type?.is !== undefined) return sample(type.is, schemas, depth);
    if (depth <= 0) return {};
    const entries = Object.entries(type?.p ?? {});
    return Object.fromEntries(entries.map(([name, below]) => [name, sample(below, schemas, depth - 1)]));
  }
  return samples[field] ?? {};
}

const samples: Record<string, unknown> = {
  s: "x",
  i: 1,
  l: 1,
  n: 1,
  b: true,
  q: "1",
  e: 1,
  t: "2026-01-01T00:00:00Z",
  u: "2026-01-01T00:00:00.000000Z",
  y: "eA==",
};

function removed(object: Json, place: Place): Json {
  const copy = structuredClone(object);
  const parent = place.slice(0, -1).reduce((at, part) => at[part], copy);
  const last = place.at(-1) ?? "";
  if (Array.isArray(parent)) parent.splice(Number(last), 1);
  else delete parent[last];
  return copy;
}

function replaced(object: Json, place: Place, value: unknown): Json {
  const copy = structuredClone(object);
  const parent = place.slice(0, -1).reduce((at, part) => at[part], copy);
  parent[place.at(-1) ?? ""] = structuredClone(value);
  return copy;
}
