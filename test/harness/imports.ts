// The imports between files of the project, as they are written.

import { readFileSync } from "node:fs";
import { dirname, join, normalize } from "node:path";

export interface Import {
  readonly target: string;
  /** Types alone: nothing is left of it at run time. */
  readonly isType: boolean;
}

const statement =
  /\b(?:import|export)\s+(type\s+)?([^"';]*?)\s*from\s*"(\.{1,2}\/[^"]+)"|\bimport\(\s*"(\.{1,2}\/[^"]+)"\s*\)/g;

/** Static and dynamic imports that stay inside the project. */
export function importsOf(file: string): Import[] {
  const found = readFileSync(file, "utf8").matchAll(statement);
  return [...found].map(([, type, names = "", from, dynamic]) => ({
    target: normalize(join(dirname(file), from ?? dynamic ?? "")),
    isType: type !== undefined || (dynamic === undefined && /^\{(\s*type\s[^,{}]+,?)+\s*\}$/.test(names)),
  }));
}
