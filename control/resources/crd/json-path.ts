// The part of JSONPath that printer columns and selectable fields use: fields, indexes, wildcards and equality filters.

import { isObject } from "./structural-schema.ts";

type Step =
  | { do: "field"; name: string }
  | { do: "index"; at: number }
  | { do: "all" }
  | { do: "filter"; path: Step[]; operator: "==" | "!="; value: unknown };

/** Undefined when the path is of another dialect. */
export function parseJsonPath(text: string): Step[] | undefined {
  const steps: Step[] = [];
  let rest = text
    .trim()
    .replace(/^\{(.*)\}$/, "$1")
    .replace(/^\$/, "");
  if (rest !== "" && !/^[.[]/.test(rest)) rest = `.${rest}`;
  while (rest !== "") {
    const field = /^\.([A-Za-z0-9_][A-Za-z0-9_-]*(?:\\.[A-Za-z0-9_/-]+)*)/.exec(rest);
    const quoted = /^\[['"]([^'"]+)['"]\]/.exec(rest);
    const index = /^\[(-?\d+)\]/.exec(rest);
    const all = /^(\[\*\]|\.\*)/.exec(rest);
    const filter = /^\[\?\(@((?:\.[A-Za-z0-9_-]+)+)\s*(==|!=)\s*(?:"([^"]*)"|'([^']*)'|(\w+))\)\]/.exec(rest);
    const found = field ?? quoted ?? index ?? all ?? filter;
    if (!found) return undefined;
    if (field) steps.push({ do: "field", name: (field[1] ?? "").replaceAll("\\.", ".") });
    else if (quoted) steps.push({ do: "field", name: quoted[1] ?? "" });
    else if (index) steps.push({ do: "index", at: Number(index[1]) });
    else if (all) steps.push({ do: "all" });
    else if (filter) {
      const path = parseJsonPath(filter[1] ?? "");
      if (!path) return undefined;
      const bare = filter[5];
      const value =
        bare === undefined
          ? (filter[3] ?? filter[4] ?? "")
          : bare === "true"
            ? true
            : bare === "false"
              ? false
              : Number(bare);
      steps.push({ do: "filter", path, operator: filter[2] as "==", value });
    }
    rest = rest.slice(found[0].length);
  }
  return steps;
}

/** Everything that the path leads to. */
export function readJsonPath(value: unknown, steps: readonly Step[]): unknown[] {
  let found: unknown[] = [value];
  for (const step of steps)
    found = found.flatMap((one) => follow(one, step)).filter((one) => one !== undefined && one !== null);
  return found;
}

function follow(value: unknown, step: Step): unknown[] {
  switch (step.do) {
    case "field":
      return isObject(value) && Object.hasOwn(value, step.name) ? [value[step.name]] : [];
    case "index":
      return Array.isArray(value) ? [value.at(step.at)] : [];
    case "all":
      return Array.isArray(value) ? value : isObject(value) ? Object.values(value) : [];
    case "filter":
      return Array.isArray(value)
        ? value.filter((one) => (readJsonPath(one, step.path)[0] === step.value) === (step.operator === "=="))
        : [];
  }
}
