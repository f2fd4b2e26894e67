// Adds to the schemas what the declarations do not say: patch strategies, list types, and which kind a type is.

import { mergeRules, ruleOf, rulesOfKind } from "../../../plugins/kit/kube/patch/merge-keys.ts";
import { groupVersion, listKindOf, type ResourceDefinition } from "../../resources/definition.ts";
import { ofType } from "./corrections.ts";
import { atomicMaps, isAtomic, isGranular, listRules } from "./list-types.ts";
import type { JsonSchema, Models } from "./read-models.ts";

function shortName(name: string): string {
  return name.slice(name.lastIndexOf(".") + 1);
}

export function annotate(models: Models, definitions: readonly ResourceDefinition[]): void {
  for (const [name, schema] of models) {
    if (isAtomic(name)) schema["x-kubernetes-map-type"] = "atomic";
    for (const [field, property] of Object.entries(schema.properties ?? {})) annotateField(name, field, property);
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
    const list = modelOf(models, { ...definition, kind: listKindOf(definition) });
    const listSchema = list ? models.get(list) : undefined;
    if (listSchema)
      listSchema["x-kubernetes-group-version-kind"] = [
        { group: definition.group, kind: listKindOf(definition), version: definition.version },
      ];
  }
  annotateMachinery(models, definitions);
}

const machinery = "io.k8s.apimachinery.pkg.apis.meta.v1";

/** Every group has options for deletes and events of watches; what answers for all of them is of none. */
function annotateMachinery(models: Models, definitions: readonly ResourceDefinition[]): void {
  const versions = new Map(definitions.map((one) => [groupVersion(one), { group: one.group, version: one.version }]));
  for (const [kind, all] of [
    ["DeleteOptions", [...versions.values()]],
    ["WatchEvent", [...versions.values()]],
    ["Status", [{ group: "", version: "v1" }]],
    ["APIResourceList", [{ group: "", version: "v1" }]],
  ] as const) {
    const schema = models.get(`${machinery}.${kind}`);
    if (schema) schema["x-kubernetes-group-version-kind"] = all.map(({ group, version }) => ({ group, kind, version }));
  }
  for (const shown of shownBySubresources) {
    const schema = models.get(modelOf(models, shown) ?? "");
    if (schema) schema["x-kubernetes-group-version-kind"] = [shown];
  }
}

/** Kinds that are met only below others. */
const shownBySubresources = [
  { group: "authentication.k8s.io", kind: "TokenRequest", version: "v1" },
  { group: "autoscaling", kind: "Scale", version: "v1" },
  { group: "policy", kind: "Eviction", version: "v1" },
];

/** The objects of a list, and verbs, are nobody's to own. */
const isUnowned = (type: string, field: string) =>
  (field === "items" && type.endsWith("List")) || (field === "verbs" && shortName(type) === "APIResource");

function annotateField(type: string, field: string, property: JsonSchema): void {
  patchRule(property, ruleOf(mergeRules[shortName(type)], field));
  if (property.type === "array" && !isUnowned(type, field)) {
    const rule = ofType(listRules, type)?.[field];
    property["x-kubernetes-list-type"] = rule === undefined ? "atomic" : rule === "set" ? "set" : "map";
    if (rule !== undefined && rule !== "set") property["x-kubernetes-list-map-keys"] = [...rule];
  }
  if (ofType(atomicMaps, type)?.includes(field)) property["x-kubernetes-map-type"] = "atomic";
  if (isGranular(type, field)) property["x-kubernetes-map-type"] = "granular";
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
