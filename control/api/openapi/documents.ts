// Whole OpenAPI documents: v3 for one group and version, v2 for everything.

import { groupVersion, listKindOf, type ResourceDefinition } from "../../resources/definition.ts";
import { modelOf } from "./annotate.ts";
import { pathItems, scale } from "./path-items.ts";
import { resourcesItem, subresourceItems, subresourceSchemas } from "./subresource-items.ts";
import { itemV2 } from "./version-2.ts";
import type { JsonSchema, Models } from "./read-models.ts";

type Json = Record<string, unknown>;

export interface Info {
  readonly title: string;
  readonly version: string;
}

/** Every model that the given ones need, themselves included. */
function closure(models: Models, roots: Iterable<string>): Models {
  const found: Models = new Map();
  const open = [...roots];
  for (let name = open.pop(); name !== undefined; name = open.pop()) {
    const schema = models.get(name);
    if (!schema || found.has(name)) continue;
    found.set(name, schema);
    open.push(...references(schema));
  }
  return new Map([...found].sort(([a], [b]) => (a < b ? -1 : 1)));
}

function references(schema: JsonSchema): string[] {
  return [
    ...(schema.$ref ? [schema.$ref] : []),
    ...(schema.items ? references(schema.items) : []),
    ...(schema.additionalProperties ? references(schema.additionalProperties) : []),
    ...Object.values(schema.properties ?? {}).flatMap(references),
  ];
}

/** References as the given version of OpenAPI writes them. In v3 they carry siblings only inside allOf. */
function resolved(schema: JsonSchema, version: "v2" | "v3"): Json {
  const { $ref, items, additionalProperties, properties, ...rest } = schema;
  const below: Json = { ...rest };
  if (items) below.items = resolved(items, version);
  if (additionalProperties) below.additionalProperties = resolved(additionalProperties, version);
  if (properties)
    below.properties = Object.fromEntries(
      Object.entries(properties).map(([name, property]) => [name, resolved(property, version)]),
    );
  if (!$ref) return below;
  if (version === "v2") return { ...below, $ref: `#/definitions/${$ref}` };
  const reference = { $ref: `#/components/schemas/${$ref}` };
  return Object.keys(below).length === 0 ? reference : { ...below, allOf: [reference] };
}

/** v2 has no way to say that a value is a number or a text; v3 has. */
const alternatives: Readonly<Record<string, readonly string[]>> = {
  "io.k8s.apimachinery.pkg.api.resource.Quantity": ["string", "number"],
  "io.k8s.apimachinery.pkg.util.intstr.IntOrString": ["integer", "string"],
};

function typeV3(name: string, schema: JsonSchema): Json {
  const types = alternatives[name];
  if (!types) return resolved(schema, "v3");
  const { type: _, ...rest } = schema;
  return { ...rest, oneOf: types.map((type) => ({ type })) };
}

const always = ["Status", "DeleteOptions", "Patch", "WatchEvent", "APIResourceList"].map(
  (name) => `io.k8s.apimachinery.pkg.apis.meta.v1.${name}`,
);

function namesOf(
  models: Models,
  definition: ResourceDefinition,
): { object: string | undefined; list: string | undefined } {
  return {
    object: modelOf(models, definition),
    list: modelOf(models, { ...definition, kind: listKindOf(definition) }),
  };
}

/** The schemas that the paths of these definitions name. */
function rootsOf(models: Models, definitions: readonly ResourceDefinition[]): string[] {
  return definitions
    .flatMap((definition) => [
      ...Object.values(namesOf(models, definition)),
      ...subresourceSchemas(definition),
      ...(definition.scale ? [scale] : []),
    ])
    .filter((name) => name !== undefined);
}

function itemsOf(models: Models, definitions: readonly ResourceDefinition[]): Record<string, Json> {
  const [first] = definitions;
  return Object.assign(
    {},
    first ? resourcesItem(first) : {},
    ...definitions.flatMap((definition) => [
      pathItems(definition, namesOf(models, definition)),
      subresourceItems(definition),
    ]),
  ) as Record<string, Json>;
}

export function documentV3(models: Models, definitions: readonly ResourceDefinition[], info: Info): Json {
  const roots = rootsOf(models, definitions);
  const schemas = [...closure(models, [...roots, ...always])].map(([name, schema]) => [name, typeV3(name, schema)]);
  const paths = itemsOf(models, definitions);
  return { openapi: "3.0.0", info, paths, components: { schemas: Object.fromEntries(schemas) } };
}

export function documentV2(models: Models, definitions: readonly ResourceDefinition[], info: Info): Json {
  const roots = rootsOf(models, definitions);
  const schemas = [...closure(models, [...roots, ...always])].map(([name, schema]) => [name, resolved(schema, "v2")]);
  const paths: Json = {};
  for (const own of Map.groupBy(definitions, openApiPath).values())
    for (const [path, item] of Object.entries(itemsOf(models, own))) paths[path] = itemV2(item);
  return { swagger: "2.0", info, paths, definitions: Object.fromEntries(schemas) };
}

export function openApiPath(definition: { group: string; version: string }): string {
  return definition.group === "" ? `api/${definition.version}` : `apis/${groupVersion(definition)}`;
}
