// Server-side printing: rows and columns as kubectl shows them.

import type { KubeObject, ListMeta } from "../../plugins/kit/kube/objects/types.ts";
import type { Column, ResourceDefinition } from "../resources/definition.ts";
import { age } from "../resources/print.ts";
import { badRequest } from "../machinery/status.ts";

export type Include = "None" | "Metadata" | "Object";

export function includedObject(asked: string | null): Include {
  if (asked === null || asked === "" || asked === "Metadata") return "Metadata";
  if (asked === "None" || asked === "Object") return asked;
  throw badRequest(`unrecognized includeObject value: ${JSON.stringify(asked)}`);
}

export function partialMetadata(object: KubeObject, version: string): KubeObject {
  return { kind: "PartialObjectMetadata", apiVersion: `meta.k8s.io/${version}`, metadata: object.metadata };
}

const defaultColumns: readonly Column[] = [
  { name: "Name", type: "string", format: "name", description: "Name must be unique within a namespace." },
  { name: "Created At", type: "date", description: "When the object was created, by the server's clock." },
];

interface TableOptions {
  readonly now: number;
  readonly include: Include;
  readonly version: string;
  /** Watch events after the first leave the columns out. */
  readonly withoutColumns?: boolean;
}

export function tableOf(
  definition: ResourceDefinition,
  objects: readonly KubeObject[],
  metadata: ListMeta,
  options: TableOptions,
): unknown {
  return {
    kind: "Table",
    apiVersion: `meta.k8s.io/${options.version}`,
    metadata,
    columnDefinitions: options.withoutColumns
      ? null
      : (definition.columns ?? defaultColumns).map(({ name, type, format = "", description, priority = 0 }) => ({
          name,
          type,
          format,
          description,
          priority,
        })),
    rows: objects.map((object) => ({
      cells: cellsOf(definition, object, options.now),
      ...rowObject(object, options),
    })),
  };
}

export function cellsOf(definition: ResourceDefinition, object: KubeObject, now: number): unknown[] {
  if (definition.cells) return definition.cells(object, now);
  return [object.metadata.name ?? "", object.metadata.creationTimestamp ?? age(undefined, now)];
}

function rowObject(object: KubeObject, options: TableOptions): { object?: unknown } {
  if (options.include === "None") return {};
  return { object: options.include === "Object" ? object : partialMetadata(object, options.version) };
}
