// Which names a CustomResourceDefinition gets: those that no other of its group has. Pure; upstream's reasons and sentences.

import { deepEqual } from "../../machinery/equal.ts";
import type { Crd, CrdNames } from "../../resources/crd/types.ts";

export interface NamesVerdict {
  /** What it is called: of each name the wanted one, or where that is taken the one it had. */
  readonly names: CrdNames;
  readonly conflict?: { readonly reason: string; readonly message: string };
}

/** `others` are the names of the other definitions of the group. */
export function acceptNames({ spec, status }: Crd, others: readonly CrdNames[]): NamesVerdict {
  const wanted = spec.names;
  const had = status?.acceptedNames ?? { plural: "", kind: "" };
  const resources = new Set(
    others.flatMap(({ plural, singular = "", shortNames = [] }) => [plural, singular, ...shortNames]),
  );
  const kinds = new Set(others.flatMap(({ kind, listKind = "" }) => [kind, listKind]));
  const names: CrdNames = { ...had };
  let conflict: NamesVerdict["conflict"];
  const settle = (field: "plural" | "singular" | "kind" | "listKind", reason: string, used: Set<string>) => {
    const name = wanted[field] ?? "";
    if (name !== (had[field] ?? "") && used.has(name)) conflict = { reason, message: inUse(name) };
    else if (name !== "") names[field] = name;
  };
  settle("plural", "PluralConflict", resources);
  settle("singular", "SingularConflict", resources);
  const short = wanted.shortNames ?? [];
  if (!deepEqual(short, had.shortNames ?? [])) {
    const taken = short.filter((name) => !had.shortNames?.includes(name) && resources.has(name)).map(inUse);
    if (taken.length === 0) names.shortNames = short;
    else
      conflict = { reason: "ShortNamesConflict", message: taken.length > 1 ? `[${taken.join(", ")}]` : `${taken[0]}` };
  }
  settle("kind", "KindConflict", kinds);
  settle("listKind", "ListKindConflict", kinds);
  if (wanted.categories) names.categories = wanted.categories;
  else delete names.categories;
  if (names.shortNames?.length === 0) delete names.shortNames;
  return { names, ...(conflict ? { conflict } : {}) };
}

const inUse = (name: string) => `${JSON.stringify(name)} is already in use`;
