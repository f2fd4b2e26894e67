// The path items of a resource: what may be called, with which parameters, answering what.

import { allVerbs, groupVersion, type ResourceDefinition } from "../../resources/definition.ts";
import { answers, body, inPath, type Json, jsonAnd, query, refTo } from "./item-parts.ts";
import { type Operation, operationOf } from "./operation.ts";

interface Names {
  /** The schema of one object, and of a list of them; undefined where there is no such schema. */
  readonly object: string | undefined;
  readonly list: string | undefined;
}

const status = "io.k8s.apimachinery.pkg.apis.meta.v1.Status";
const deleteOptions = "io.k8s.apimachinery.pkg.apis.meta.v1.DeleteOptions";
const patch = "io.k8s.apimachinery.pkg.apis.meta.v1.Patch";
export const scale = "io.k8s.api.autoscaling.v1.Scale";

export const pretty = query("pretty", "string", "Write the answer with indentation.");
export const dryRun = query("dryRun", "string", "`All` goes through every step but keeps nothing.");
export const fieldManager = query("fieldManager", "string", "Who makes the change, for managedFields.");
export const fieldValidation = query(
  "fieldValidation",
  "string",
  "What to do with unknown fields: Ignore, Warn or Strict.",
);
const force = query("force", "boolean", "Take over fields that others own; only for apply.");
const listParameters = [
  query("continue", "string", "The token of the page before."),
  query("fieldSelector", "string", "Which objects, by their fields."),
  query("labelSelector", "string", "Which objects, by their labels."),
  query("limit", "integer", "At most so many in one answer."),
  query("resourceVersion", "string", "How new the answer must be."),
  query("resourceVersionMatch", "string", "How resourceVersion is meant."),
  query("sendInitialEvents", "boolean", "Begin a watch with what is there."),
  query("timeoutSeconds", "integer", "How long a call may take."),
];
const watchParameters = [
  query("allowWatchBookmarks", "boolean", "Send bookmarks on a watch."),
  query("watch", "boolean", "Stream changes instead of a list."),
];
const deleteParameters = [
  dryRun,
  query("gracePeriodSeconds", "integer", "How long the object has to end."),
  query(
    "ignoreStoreReadErrorWithClusterBreakingPotential",
    "boolean",
    "Delete what cannot be read; nothing here is unreadable, so it changes nothing.",
  ),
  query("orphanDependents", "boolean", "The old way to say propagationPolicy."),
  query("propagationPolicy", "string", "What happens to dependents: Orphan, Background or Foreground."),
];

const plainPatchTypes = ["application/apply-patch+yaml", "application/json-patch+json", "application/merge-patch+json"];

/** Path items by path, for OpenAPI v3; those of subresources that are objects of their own are in `subresource-items.ts`. */
export function pathItems(definition: ResourceDefinition, names: Names): Record<string, Json> {
  const base = definition.group === "" ? `/api/${definition.version}` : `/apis/${groupVersion(definition)}`;
  const scope = definition.namespaced ? `${base}/namespaces/{namespace}` : base;
  const one = `${scope}/${definition.plural}/{name}`;
  const shared = [...(definition.namespaced ? [inPath("namespace", "The namespace of the object.")] : []), pretty];
  const named = [inPath("name", `The name of the ${definition.kind}.`), ...shared];
  const verbs = new Set<string>(definition.verbs ?? allVerbs);
  const make = operationOf(definition);
  const bodyTypes = definition.isCustom ? ["application/json", "application/yaml"] : ["*/*"];
  const items: Record<string, Json> = {};
  const collection: Json = { parameters: shared };
  const listed = answers(refTo(names.list), "200");
  const listParametersToo = [...listParameters, ...watchParameters];
  if (verbs.has("list")) collection.get = make({ verb: "list", responses: listed, parameters: listParametersToo });
  if (verbs.has("create"))
    collection.post = {
      ...make({
        verb: "create",
        responses: answers(refTo(names.object), "200", "201", "202"),
        parameters: [dryRun, fieldManager, fieldValidation],
      }),
      requestBody: body(names.object, bodyTypes),
    };
  if (verbs.has("deletecollection"))
    collection.delete = {
      ...make({
        verb: "deletecollection",
        responses: answers(refTo(status), "200"),
        parameters: [...listParameters, ...deleteParameters],
      }),
      requestBody: body(deleteOptions, bodyTypes),
    };
  items[`${scope}/${definition.plural}`] = collection;
  if (definition.namespaced && verbs.has("list"))
    items[`${base}/${definition.plural}`] = {
      parameters: [pretty],
      get: make({ verb: "list", isEverywhere: true, responses: listed, parameters: listParametersToo }),
    };
  const parts: Parts = { make, named, bodyTypes, verbs: [...verbs] };
  if (verbs.has("get")) items[one] = objectItem(definition, names, parts);
  const changing = ["get", "patch", "update"];
  if (definition.hasStatus)
    items[`${one}/status`] = partItem(definition, names.object, { ...parts, verbs: changing, part: "status" });
  for (const [part, { verbs: allowed }] of Object.entries(definition.parts ?? {}))
    items[`${one}/${part}`] = partItem(definition, names.object, { ...parts, verbs: allowed, part });
  if (definition.scale) {
    const shows = { group: "autoscaling", version: "v1", kind: "Scale" };
    items[`${one}/scale`] = partItem(definition, scale, { ...parts, verbs: changing, part: "scale", shows });
  }
  return items;
}

interface Parts {
  readonly make: (operation: Operation) => Json;
  readonly named: Json[];
  readonly bodyTypes: readonly string[];
  readonly verbs: readonly string[];
  /** Of which subresource. */
  readonly part?: string;
  readonly shows?: Operation["shows"];
}

function objectItem(definition: ResourceDefinition, names: Names, parts: Parts): Json {
  const item = partItem(definition, names.object, parts);
  if (parts.verbs.includes("delete"))
    item.delete = {
      ...parts.make({ verb: "delete", responses: answers(refTo(status), "200", "202"), parameters: deleteParameters }),
      requestBody: body(deleteOptions, parts.bodyTypes),
    };
  return item;
}

/** What can be read, replaced and patched: an object, or a part of it. */
function partItem(definition: ResourceDefinition, schema: string | undefined, parts: Parts): Json {
  const { make, named, bodyTypes, verbs, part, shows } = parts;
  const patchTypes = definition.isCustom
    ? plainPatchTypes
    : [...plainPatchTypes, "application/strategic-merge-patch+json"];
  const about = { ...(part ? { part } : {}), ...(shows ? { shows } : {}) };
  const item: Json = { parameters: named };
  if (verbs.includes("get"))
    item.get = make({ verb: "get", ...about, responses: answers(refTo(schema), "200"), parameters: [] });
  const responses = answers(refTo(schema), "200", "201");
  const parameters = [dryRun, fieldManager, fieldValidation];
  if (verbs.includes("update"))
    item.put = { ...make({ verb: "update", ...about, responses, parameters }), requestBody: body(schema, bodyTypes) };
  if (verbs.includes("patch"))
    item.patch = {
      ...make({ verb: "patch", ...about, responses, parameters: [...parameters, force] }),
      requestBody: { content: jsonAnd(refTo(patch), ...patchTypes) },
    };
  return item;
}
