// What OpenAPI v3 says, said in v2: parts of documents, and the schemas of custom resources.

import type { StructuralSchema } from "../../resources/crd/structural-schema.ts";

type Json = Record<string, unknown>;

const methods = ["get", "put", "post", "delete", "options", "head", "patch"];

/** The same item in v2: parameters say their type directly, bodies are parameters, answers name their schema. */
export function itemV2(item: Json): Json {
  const parameter = (one: Json): Json => {
    const { schema, ...rest } = one;
    return { ...rest, ...(schema as Json) };
  };
  const shared = ((item.parameters as Json[] | undefined) ?? []).map(parameter);
  const result: Json = shared.length > 0 ? { parameters: shared } : {};
  for (const method of methods) {
    const operation = item[method] as Json | undefined;
    if (!operation) continue;
    const { requestBody, responses, parameters, ...rest } = operation;
    const content = (requestBody as { content?: Record<string, { schema: Json }> } | undefined)?.content;
    const bodySchema = content && Object.values(content)[0]?.schema;
    const taken = [
      ...(bodySchema ? [{ name: "body", in: "body", required: true, schema: toV2(bodySchema) }] : []),
      ...((parameters as Json[] | undefined) ?? []).map(parameter),
    ];
    result[method] = {
      ...rest,
      consumes: content ? Object.keys(content) : ["*/*"],
      produces: ["application/json", "application/yaml"],
      ...(taken.length > 0 ? { parameters: taken } : {}),
      responses: Object.fromEntries(
        Object.entries(
          responses as Record<string, { description: string; content?: Record<string, { schema: Json }> }>,
        ).map(([code, one]) => {
          const schema = one.content && Object.values(one.content)[0]?.schema;
          return [code, { description: one.description, ...(schema ? { schema: toV2(schema) } : {}) }];
        }),
      ),
    };
  }
  return result;
}

function toV2(schema: Json): Json {
  return typeof schema.$ref === "string"
    ? { $ref: schema.$ref.replace("#/components/schemas/", "#/definitions/") }
    : schema;
}

/** v2 knows no alternatives and no null; where a schema needs them, nothing is claimed, so that no client refuses too much. */
export function schemaV2(schema: StructuralSchema): Json {
  const { properties, items, additionalProperties, ...result } = schema as Json;
  const isNullable = result.nullable === true;
  for (const name of ["nullable", "anyOf", "allOf", "oneOf", "not"]) delete result[name];
  if (isNullable) delete result.type;
  const keepsUnknown = result["x-kubernetes-preserve-unknown-fields"] === true;
  // kubectl reads neither lists without items nor objects with a type and fields that nobody knows.
  if (keepsUnknown || (result.type === "array" && !isSchema(items))) delete result.type;
  if (isNullable || keepsUnknown) return result;
  if (isSchema(items)) result.items = schemaV2(items);
  if (isSchema(additionalProperties)) result.additionalProperties = schemaV2(additionalProperties);
  if (isSchema(properties)) {
    const below = properties as Record<string, StructuralSchema>;
    result.properties = Object.fromEntries(Object.entries(below).map(([name, one]) => [name, schemaV2(one)]));
    const kept = ((result.required as string[] | undefined) ?? []).filter((name) => below[name]?.nullable !== true);
    if (kept.length > 0) result.required = kept;
    else delete result.required;
  }
  return result;
}

function isSchema(value: unknown): value is StructuralSchema {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
