// Every definition, with objects that fit its schema and are otherwise nonsense: checked, shown, never a crash.

import { join } from "node:path";
import t from "tap";
import { type Json, startApi } from "../../test/harness/api-server.ts";
import type { CompactField } from "../api/openapi/compact.ts";
import { loadSchemas, type Schemas } from "../api/schema/schemas.ts";
import { groupVersion, type ResourceDefinition } from "./definition.ts";
import { builtinResources } from "./index.ts";
import { addressRange } from "./service/address-range.ts";
import { ServiceAllocator } from "./service/allocator.ts";

const folder = join(import.meta.dirname, "../../.generated/openapi");
const definitions = builtinResources({
  serviceAllocator: new ServiceAllocator([addressRange("10.43.0.0/24")], { first: 30000, last: 30100 }),
});

/** A small generator of numbers, so that a failure can be had again. */
function dice(seed: number): (sides: number) => number {
  let state = seed;
  return (sides) => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state % sides;
  };
}

const texts = [
  "",
  "a",
  "web",
  "A B",
  "1",
  "-",
  "a/b",
  "x".repeat(70),
  "10.0.0.1",
  "Always",
  "TCP",
  "25%",
  "2026-01-01T00:00:00Z",
];
const numbers = [0, 1, -1, 80, 70000, 2 ** 31 - 1];

function nonsense(schemas: Schemas, field: CompactField, roll: (sides: number) => number, depth: number): unknown {
  if (typeof field !== "string") {
    if (field[0] === "list") return Array.from({ length: roll(3) }, () => nonsense(schemas, field[1], roll, depth + 1));
    return Object.fromEntries(
      Array.from({ length: roll(3) }, () => [texts[roll(texts.length)], nonsense(schemas, field[1], roll, depth + 1)]),
    );
  }
  if (field.startsWith("#")) {
    const type = schemas.type(field.slice(1));
    if (type?.is !== undefined) return nonsense(schemas, type.is, roll, depth);
    const chosen = Object.entries(type?.p ?? {}).filter(() => roll(10) < (depth < 3 ? 6 : depth < 9 ? 3 : 0));
    return Object.fromEntries(chosen.map(([name, below]) => [name, nonsense(schemas, below, roll, depth + 1)]));
  }
  switch (field) {
    case "i":
    case "l":
    case "n":
      return numbers[roll(numbers.length)];
    case "b":
      return roll(2) === 0;
    case "q":
      return ["1", "100m", "1Gi", "-1", "0"][roll(5)];
    case "e":
      return roll(2) === 0 ? numbers[roll(numbers.length)] : texts[roll(texts.length)];
    case "t":
      return "2026-01-01T00:00:00Z";
    case "u":
      return "2026-01-01T00:00:00.000000Z";
    case "o":
    case "*":
      return {};
    default:
      return texts[roll(texts.length)];
  }
}

const pathOf = (definition: ResourceDefinition) =>
  `${definition.group === "" ? "/api/v1" : `/apis/${groupVersion(definition)}`}${definition.namespaced ? "/namespaces/default" : ""}/${definition.plural}`;

t.test("columns and cells agree, for empty objects too", async (t) => {
  for (const definition of definitions) {
    const object = { apiVersion: groupVersion(definition), kind: definition.kind, metadata: { name: "x" } };
    if (!definition.cells) continue;
    t.equal(
      definition.cells(object, 0).length,
      definition.columns?.length,
      `${definition.kind} of ${definition.group}`,
    );
  }
});

t.test("names, kinds and short names are not taken twice", async (t) => {
  const seen = new Set<string>();
  for (const { group, version, plural, kind } of definitions) {
    for (const id of [`${group}/${version}/${plural}`, `${group}/${version} ${kind}`]) {
      t.notOk(seen.has(id), id);
      seen.add(id);
    }
  }
});

const schemas = loadSchemas(folder);

t.test(
  "nonsense of every kind is refused or taken, never a crash",
  { skip: schemas ? false : "no schemas: run the set-up" },
  async (t) => {
    if (!schemas) return;
    const api = await startApi();
    t.teardown(() => api.close());
    let taken = 0;
    for (const definition of definitions) {
      const root = schemas.root(definition.group, definition.version, definition.kind);
      if (!root || (definition.verbs && !definition.verbs.includes("update"))) continue;
      for (let seed = 1; seed <= 12; seed++) {
        const roll = dice(seed * 7919);
        const object = nonsense(schemas, root, roll, 0) as Json;
        const about = `${definition.kind} of ${definition.group || "core"}, seed ${seed}`;
        const named = {
          ...object,
          kind: definition.kind,
          apiVersion: groupVersion(definition),
          metadata: { name: `x${seed}` },
        };
        const made = await api.ask("POST", pathOf(definition), named);
        if (made.status >= 500) t.fail(`${about}: ${made.text}`);
        if (made.status !== 201) continue;
        taken++;
        const again = await api.ask("PUT", `${pathOf(definition)}/x${seed}`, {
          ...made.body,
          ...object,
          kind: made.body.kind,
          apiVersion: made.body.apiVersion,
          metadata: made.body.metadata,
        });
        if (again.status >= 500) t.fail(`${about}: ${again.text}`);
        const writeBack = async () => {
          const read = await api.ask("GET", `${pathOf(definition)}/x${seed}`);
          return [read, await api.ask("PUT", `${pathOf(definition)}/x${seed}`, read.body)] as const;
        };
        let [stored, same] = await writeBack();
        // The server itself may have said something of it meanwhile, such as that its level is not there; once.
        if (same.status === 409) [stored, same] = await writeBack();
        t.equal(
          same.body.metadata?.resourceVersion,
          stored.body.metadata.resourceVersion,
          `${about}: written back as read, nothing changes ${same.body.message ?? ""}`,
        );
      }
      const table = await api.ask("GET", pathOf(definition), undefined, {
        accept: "application/json;as=Table;v=v1;g=meta.k8s.io",
      });
      t.equal(table.status, 200, `${definition.plural} as a table: ${table.text.slice(0, 200)}`);
    }
    t.ok(taken > 50, `${taken} objects were taken`);
  },
);
