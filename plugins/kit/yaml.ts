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
  let left = mostValues;
  const count = (value: unknown, depth: number): void => {
    if (left-- <= 0)
      throw new Fault(
        "invalid",
        `Cannot read ${where}: it holds more than ${mostValues} values, those of its aliases included`,
      );
    if (depth > deepestExpanded)
      throw new Fault("invalid", `Cannot read ${where}: its aliases are nested deeper than ${deepestExpanded} levels`);
    if (typeof value === "object" && value !== null) for (const item of Object.values(value)) count(item, depth + 1);
  };
  for (const document of documents) count(document, 0);
  return documents;
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
