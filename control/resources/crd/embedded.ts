// Objects within custom resources: where a schema says that a value is a whole object, it has a kind, a version and metadata as one.

import type { KubeObject } from "../../../plugins/kit/kube/objects/types.ts";
import { type FieldErrors, invalid, required } from "../../machinery/field-error.ts";
import { dns1035Label } from "../names.ts";
import { validateMeta } from "../object-meta.ts";
import { childPath, isObject, type Json, propertyOf, type StructuralSchema } from "./structural-schema.ts";

/** Of everything below the object, not of the object itself. */
export function validateEmbedded(value: unknown, schema: StructuralSchema | undefined, path = ""): FieldErrors {
  if (!schema) return [];
  if (Array.isArray(value))
    return value.flatMap((item, index) => validateEmbedded(item, schema.items, `${path}[${index}]`));
  if (!isObject(value)) return [];
  const isEmbedded = path !== "" && schema["x-kubernetes-embedded-resource"] === true;
  return [
    ...(isEmbedded ? validateObject(value, path) : []),
    ...Object.keys(value).flatMap((name) =>
      validateEmbedded(value[name], propertyOf(schema, name), childPath(path, name)),
    ),
  ];
}

function validateObject(object: Json, path: string): FieldErrors {
  const { apiVersion, kind, metadata } = object;
  const errors: FieldErrors = [];
  if (apiVersion === undefined) errors.push(required(`${path}.apiVersion`));
  if (kind === undefined) errors.push(required(`${path}.kind`));
  if (kind !== undefined) errors.push(...validateKind(kind, `${path}.kind`));
  if (apiVersion !== undefined) errors.push(...validateVersion(apiVersion, `${path}.apiVersion`));
  if (isObject(metadata)) {
    const rules = { group: "", namespaced: metadata["namespace"] !== undefined, isCustom: true };
    for (const error of validateMeta({ metadata } as unknown as KubeObject, rules))
      errors.push({ ...error, field: `${path}.${error.field}` });
  }
  return errors;
}

function validateKind(kind: unknown, field: string): FieldErrors {
  if (typeof kind !== "string") return [invalid(field, kind, "must be a string")];
  if (kind === "") return [invalid(field, kind, "must not be empty")];
  const problems = dns1035Label(kind.toLowerCase());
  if (problems.length === 0) return [];
  return [invalid(field, kind, `may have mixed case, but should otherwise match: ${problems.join(",")}`)];
}

function validateVersion(version: unknown, field: string): FieldErrors {
  if (typeof version !== "string") return [invalid(field, version, "must be a string")];
  if (version === "") return [invalid(field, version, "must not be empty")];
  return version.split("/").length > 2 ? [invalid(field, version, `unexpected GroupVersion string: ${version}`)] : [];
}
