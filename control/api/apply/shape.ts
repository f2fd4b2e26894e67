// The shapes of built-in kinds, from their schemas, and how elements of lists are told apart.

import type { CompactField } from "../openapi/compact.ts";
import type { Schemas } from "../schema/schemas.ts";
import { deduced, leaf, type ListShape, type Shape } from "../../resources/shape.ts";

/** A cron job's template of a template is the deepest there is. */
const deepestScaffold = 8;

/** Shapes of built-in kinds, made once each. */
export class Shapes {
  readonly #schemas: Schemas;
  readonly #types = new Map<string, Shape>();
  readonly #scaffolds = new Map<string, Record<string, unknown>>();

  constructor(schemas: Schemas) {
    this.#schemas = schemas;
  }

  root(group: string, version: string, kind: string): Shape {
    const field = this.#schemas.root(group, version, kind);
    return field === undefined ? deduced : this.#of(field);
  }

  /** What a new object of the kind has before anybody wrote to it: nobody is said to have added that. */
  scaffold(group: string, version: string, kind: string): Record<string, unknown> {
    const field = this.#schemas.root(group, version, kind);
    if (typeof field !== "string") return {};
    let made = this.#scaffolds.get(field);
    if (!made) {
      made = this.#scaffoldOf(field, 0);
      this.#scaffolds.set(field, made);
    }
    return made;
  }

  #scaffoldOf(field: string, depth: number): Record<string, unknown> {
    const type = this.#schemas.type(field.slice(1));
    const made: Record<string, unknown> = {};
    for (const name of type?.n ?? []) {
      const below = type?.p?.[name];
      const isPart = typeof below === "string" && below.startsWith("#") && !below.endsWith(".LabelSelector");
      made[name] = isPart && depth < deepestScaffold ? this.#scaffoldOf(below, depth + 1) : null;
    }
    if (field.endsWith(".ObjectMeta")) made.creationTimestamp = null;
    return made;
  }

  #of(field: CompactField): Shape {
    if (typeof field === "string") return field.startsWith("#") ? this.#type(field.slice(1)) : leaf;
    if (field[0] === "list") {
      const of = () => this.#of(field[1]);
      return {
        is: "list",
        by: field[2],
        get item() {
          return of();
        },
        keyDefault: builtInKeyDefault,
      };
    }
    const item = field[1];
    return { is: "object", atomic: field[2], child: () => this.#of(item), hasField: () => false };
  }

  #type(name: string): Shape {
    const known = this.#types.get(name);
    if (known) return known;
    const type = this.#schemas.type(name);
    const fields = type?.p;
    const shapes = new Map<string, Shape>();
    const made: Shape = fields
      ? {
          is: "object",
          atomic: type.a === true,
          child: (field) => {
            let shape = shapes.get(field);
            if (!shape) {
              shape = Object.hasOwn(fields, field) ? this.#of(fields[field] as CompactField) : leaf;
              shapes.set(field, shape);
            }
            return shape;
          },
          hasField: (field) => Object.hasOwn(fields, field),
        }
      : leaf;
    this.#types.set(name, made);
    return made;
  }
}

/** The only key of a built-in list with a default: ports of containers and of services. */
const builtInKeyDefault = (key: string): unknown => (key === "protocol" ? "TCP" : undefined);

/** The step that names a list element: by its keys, or by its value. Undefined where it has none of its keys. */
export function elementStep(shape: ListShape, element: unknown): string | undefined {
  const { by } = shape;
  if (by === "set") return `v:${JSON.stringify(element)}`;
  if (by === "atomic" || typeof element !== "object" || element === null) return undefined;
  const keys: Record<string, unknown> = {};
  for (const key of [...by].sort()) {
    const value = (element as Record<string, unknown>)[key] ?? shape.keyDefault?.(key);
    if (value !== undefined) keys[key] = value;
  }
  return Object.keys(keys).length === 0 ? undefined : `k:${JSON.stringify(keys)}`;
}
