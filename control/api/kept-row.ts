// The cells of an entry's row in a Table, made once and kept with the entry; only its ages are filled in each time.
// A row is kept as one text: JSON in which each age is the moment it counts from, between two characters that JSON never
// holds as such.

import type { ResourceDefinition } from "../resources/definition.ts";
import { humanDuration, recordAges } from "../resources/print.ts";
import type { Entry } from "../storage/entry.ts";
import { cellsOf } from "./table.ts";

const mark = "\u0001";
const rowsByDefinition = new WeakMap<ResourceDefinition, WeakMap<Entry, string>>();

/** The row's cells as JSON, as they are now. */
export function cellsText(definition: ResourceDefinition, entry: Entry, now: number): string {
  let rows = rowsByDefinition.get(definition);
  if (!rows) {
    rows = new WeakMap();
    rowsByDefinition.set(definition, rows);
  }
  let row = rows.get(entry);
  if (row === undefined) {
    row = makeRow(definition, entry);
    rows.set(entry, row);
  }
  return withAges(row, now);
}

function withAges(row: string, now: number): string {
  let text = "";
  let from = 0;
  for (let at = row.indexOf(mark); at >= 0; at = row.indexOf(mark, from)) {
    const end = row.indexOf(mark, at + 1);
    text += row.slice(from, at) + humanDuration(now - Number(row.slice(at + 1, end)));
    from = end + 1;
  }
  return from === 0 ? row : text + row.slice(from);
}

function makeRow(definition: ResourceDefinition, entry: Entry): string {
  const { made, moments } = recordAges(() => cellsOf(definition, entry.glance, 0));
  // As JSON writes the marks. What an object itself holds of the kind is at worst shown as an age.
  return JSON.stringify(made).replace(
    /\\u0001(\d+)\\u0001/g,
    (_, index: string) => `${mark}${moments[Number(index)] ?? ""}${mark}`,
  );
}
