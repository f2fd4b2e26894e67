// Adds to the schemas what the declarations do not say: patch strategies, list types, and which kind a type is.

import { mergeRules, ruleOf, rulesOfKind } from "../../../plugins/kit/patch/merge-keys.ts";
import { groupVersion, type ResourceDefinition } from "../../resources/definition.ts";
import { atomicMaps, atomicTypes, listRules } from "./list-types.ts";
import type { JsonSchema, Models } from "./read-models.ts";

export function shortName(name: string): string {
  return name.slice(name.lastIndexOf(".") + 1);
}

export function annotate(models: Models, definitions: readonly ResourceDefinition[]): void {
  for (const [name, schema] of models) {
    const short = shortName(name);
    if (atomicTypes.has(short)) schema["x-kubernetes-map-type"] = "atomic";
    for (const [field, property] of Object.entries(schema.properties ?? {})) annotateField(short, field, property);
  }
  for (const definition of definitions) {
    const name = modelOf(models, definition);
    const schema = name ? models.get(name) : undefined;
    if (!schema) continue;
    schema["x-kubernetes-group-version-kind"] = [
      { group: definition.group, kind: definition.kind, version: definition.version },
    ];
    const rules = rulesOfKind(`${groupVersion(definition)}/${definition.kind}`);
    for (const [field, property] of Object.entries(schema.properties ?? {})) patchRule(property, ruleOf(rules, field));
  }
}

function annotateField(type: string, field: string, property: JsonSchema): void {
  patchRule(property, ruleOf(mergeRules[type], field));
  if (property.type === "array") {
    const rule = listRules[type]?.[field];
    property["x-kubernetes-list-type"] = rule === undefined ? "atomic" : rule === "set" ? "set" : "map";
    if (rule !== undefined && rule !== "set") property["x-kubernetes-list-map-keys"] = [...rule];
  }
  if (atomicMaps[type]?.includes(field)) property["x-kubernetes-map-type"] = "atomic";
}

function patchRule(property: JsonSchema, rule: ReturnType<typeof ruleOf>): void {
  const strategies = [
    ...(rule.strategy === "merge" && property.type === "array" ? ["merge"] : []),
    ...(rule.retainKeys ? ["retainKeys"] : []),
    ...(rule.strategy === "replace" ? ["replace"] : []),
  ];
  if (strategies.length > 0) property["x-kubernetes-patch-strategy"] = strategies.join(",");
  if (rule.key !== undefined) property["x-kubernetes-patch-merge-key"] = rule.key;
}

/** The schema of a resource's objects, found by group, version and kind. */
export function modelOf(
  models: Models,
  { group, version, kind }: { group: string; version: string; kind: string },
): string | undefined {
  const segment = group === "" ? "core" : (group.split(".")[0] ?? "");
  for (const name of models.keys())
    if (shortName(name) === kind && name.endsWith(`.${segment}.${version}.${kind}`)) return name;
  return undefined;
}
