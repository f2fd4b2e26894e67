// ConfigMap: text and bytes for pods.

import type { KubeObject } from "../../../plugins/kit/kube/objects/types.ts";
import type { ResourceDefinition } from "../definition.ts";
import { type FieldErrors, forbidden, invalid, tooLong } from "../../machinery/field-error.ts";
import { configKey } from "../names.ts";
import { age, ageColumn, column, nameColumn } from "../print.ts";

const maximumBytes = 1024 * 1024;

type Data = Record<string, string> | undefined;

export const configMaps: ResourceDefinition = {
  group: "",
  version: "v1",
  plural: "configmaps",
  singular: "configmap",
  kind: "ConfigMap",
  namespaced: true,
  shortNames: ["cm"],
  columns: [nameColumn, column("Data", "How many entries it holds."), ageColumn],
  cells: (object, now) => [
    object.metadata.name,
    Object.keys((object.data as Data) ?? {}).length + Object.keys((object.binaryData as Data) ?? {}).length,
    age(object.metadata.creationTimestamp, now),
  ],
  validate(object, previous) {
    const errors: FieldErrors = [];
    let bytes = 0;
    const data = (object.data as Data) ?? {};
    for (const field of ["data", "binaryData"] as const) {
      for (const [key, value] of Object.entries((object[field] as Data) ?? {})) {
        for (const problem of configKey(key)) errors.push(invalid(`${field}[${key}]`, key, problem));
        if (field === "binaryData" && Object.hasOwn(data, key))
          errors.push(invalid(`data[${key}]`, key, "duplicate of key present in binaryData"));
        bytes += field === "data" ? Buffer.byteLength(value) : Math.floor((value.length * 3) / 4);
      }
    }
    if (bytes > maximumBytes) errors.push(tooLong("", maximumBytes));
    if (previous?.immutable === true) errors.push(...immutableErrors(object, previous, ["data", "binaryData"]));
    return errors;
  },
};

/** What an object marked immutable may no longer change. */
export function immutableErrors(object: KubeObject, previous: KubeObject, fields: readonly string[]): FieldErrors {
  const errors: FieldErrors = [];
  if (object.immutable !== true) errors.push(forbidden("immutable", "field is immutable when `immutable` is set"));
  for (const field of fields)
    if (JSON.stringify(sorted(object[field])) !== JSON.stringify(sorted(previous[field])))
      errors.push(forbidden(field, "field is immutable when `immutable` is set"));
  return errors;
}

function sorted(value: unknown): [string, unknown][] {
  return Object.entries((value as Record<string, unknown> | undefined) ?? {}).sort(([a], [b]) => (a < b ? -1 : 1));
}
