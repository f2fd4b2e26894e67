// Reading YAML that strangers wrote: bounded in depth, aliases and expanded size, and with errors that name the place.

import { CORE_SCHEMA, dump, loadAll, mergeTag, YAMLException } from "js-yaml";
import { Fault } from "./fault.ts";

// Merge keys (`<<`) are in common use in manifests although they left the core schema.
const schema = CORE_SCHEMA.withTags([mergeTag]);
const mostAliases = 1_000;
const deepest = 100;
// Aliases are expanded when a document becomes JSON; a few lines can stand for gigabytes.
const mostValues = 250_000;
// An alias inside of what it stands for expands without end, and a chain of them deeper than any stack.
const deepestExpanded = 1_000;

/** Told of a key that stands twice in one mapping, instead of a Fault for it; the last one holds. */
export type OnDuplicate = (what: string) => void;

/** Every document of the text; `where` (a file, a URL, "the request body") is named in errors. Fault `invalid`. */
export function readYamlDocuments(text: string, where: string, onDuplicate?: OnDuplicate): unknown[] {
  let documents: unknown[];
  try {
    documents = load(text, onDuplicate);
  } catch (error) {
    if (error instanceof YAMLException)
      throw new Fault("invalid", `Cannot read ${where}: ${firstLine(error)}`, { cause: error });
    throw error;
  }
  const extents = new Extents(where);
  const values = documents.reduce((sum: number, document) => sum + extents.of(document, 0).values, 0);
  if (values > mostValues) throw extents.tooMany();
  return documents;
}

interface Extent {
  readonly values: number;
  /** Levels below it. */
  readonly height: number;
}

const leaf: Extent = { values: 1, height: 0 };

/** How much values are when their aliases are expanded. What aliases share is looked at once, so that a bomb costs as little as its text. */
class Extents {
  readonly #where: string;
  readonly #known = new Map<object, Extent>();

  constructor(where: string) {
    this.#where = where;
  }

  of(value: unknown, depth: number): Extent {
    const known = typeof value === "object" && value !== null ? this.#known.get(value) : leaf;
    if (depth + (known?.height ?? 0) > deepestExpanded) throw this.#tooDeep();
    return known ?? this.#measure(value as object, depth);
  }

  #measure(value: object, depth: number): Extent {
    let values = 1;
    let height = 0;
    for (const item of Object.values(value)) {
      const extent = this.of(item, depth + 1);
      values += extent.values;
      height = Math.max(height, extent.height + 1);
      if (values > mostValues) throw this.tooMany();
    }
    const extent = { values, height };
    this.#known.set(value, extent);
    return extent;
  }

  tooMany(): Fault {
    const what = `it holds more than ${mostValues} values, those of its aliases included`;
    return new Fault("invalid", `Cannot read ${this.#where}: ${what}`);
  }

  #tooDeep(): Fault {
    const what = `its aliases are nested deeper than ${deepestExpanded} levels`;
    return new Fault("invalid", `Cannot read ${this.#where}: ${what}`);
  }
}

function load(text: string, onDuplicate: OnDuplicate | undefined): unknown[] {
  const options = { schema, maxAliases: mostAliases, maxDepth: deepest };
  try {
    return loadAll(text, options);
  } catch (error) {
    if (!onDuplicate || !(error instanceof YAMLException) || error.reason !== "duplicated mapping key") throw error;
    const { position, line } = error.mark as { position: number; line: number };
    const key = /^["']?([^"':,\s]*)/.exec(text.slice(position, position + 256))?.[1] ?? "";
    onDuplicate(`line ${line + 1}: key ${JSON.stringify(key)} already set in map`);
    return loadAll(text, { ...options, json: true });
  }
}

/** The one document of the text; undefined when it is empty. */
export function readYaml(text: string, where: string, onDuplicate?: OnDuplicate): unknown {
  const documents = readYamlDocuments(text, where, onDuplicate);
  if (documents.length > 1)
    throw new Fault("invalid", `Cannot read ${where}: it holds ${documents.length} documents where one is expected`);
  return documents[0] ?? undefined;
}

export function writeYaml(value: unknown): string {
  return dump(value, { noRefs: true });
}

function firstLine(error: YAMLException): string {
  return error.message.split("\n")[0] ?? error.message;
}
