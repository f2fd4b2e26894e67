// The compact schemas of built-in types, kept as text and read type by type when first needed.

import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { gunzipSync } from "node:zlib";
import type { CompactField, CompactType } from "../openapi/compact.ts";

export class Schemas {
  readonly #text: Buffer;
  readonly #lines = new Map<string, { from: number; to: number }>();
  /** Types by group segment, version and kind: `core/v1/Pod`. */
  readonly #byKind = new Map<string, string>();
  readonly #types = new Map<string, CompactType>();

  constructor(text: Buffer) {
    this.#text = text;
    let from = 0;
    for (let end = text.indexOf(10); end >= 0; end = text.indexOf(10, from)) {
      const tab = text.indexOf(9, from);
      const name = text.toString("latin1", from, tab);
      this.#lines.set(name, { from: tab + 1, to: end });
      this.#byKind.set(name.split(".").slice(-3).join("/"), name);
      from = end + 1;
    }
  }

  type(name: string): CompactType | undefined {
    const known = this.#types.get(name);
    if (known) return known;
    const line = this.#lines.get(name);
    if (!line) return undefined;
    const type = JSON.parse(this.#text.toString("latin1", line.from, line.to)) as CompactType;
    this.#types.set(name, type);
    return type;
  }

  /** The field that stands for a whole object of the kind; undefined where nothing is known of it. */
  root(group: string, version: string, kind: string): CompactField | undefined {
    const segment = group === "" ? "core" : (group.split(".")[0] ?? "");
    const name = this.#byKind.get(`${segment}/${version}/${kind}`);
    return name ? `#${name}` : undefined;
  }
}

/** Undefined when the set-up has not made them; fields are then not checked against a schema. */
export function loadSchemas(folder: string): Schemas | undefined {
  const file = join(folder, "schemas.txt.gz");
  return existsSync(file) ? new Schemas(gunzipSync(readFileSync(file))) : undefined;
}
