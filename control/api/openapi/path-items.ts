// The path items of a resource: what may be called, with which parameters, answering what.

import { allVerbs, groupVersion, type ResourceDefinition } from "../../resources/definition.ts";

type Json = Record<string, unknown>;

interface Names {
  /** The schema of one object, and of a list of them; undefined where there is no such schema. */
  readonly object: string | undefined;
  readonly list: string | undefined;
}

const refTo = (name: string | undefined): Json =>
  name ? { $ref: `#/components/schemas/${name}` } : { type: "object" };
const status = "io.k8s.apimachinery.pkg.apis.meta.v1.Status";
const deleteOptions = "io.k8s.apimachinery.pkg.apis.meta.v1.DeleteOptions";
const patch = "io.k8s.apimachinery.pkg.apis.meta.v1.Patch";

const query = (name: string, type: string, description: string): Json => ({
  name,
  in: "query",
  description,
  schema: { type, uniqueItems: true },
});
const inPath = (name: string, description: string): Json => ({
  name,
  in: "path",
  required: true,
  description,
  schema: { type: "string", uniqueItems: true },
});

const pretty = query("pretty", "string", "Write the answer with indentation.");
const dryRun = query("dryRun", "string", "`All` goes through every step but keeps nothing.");
const fieldManager = query("fieldManager", "string", "Who makes the change, for managedFields.");
const fieldValidation = query("fieldValidation", "string", "What to do with unknown fields: Ignore, Warn or Strict.");
const force = query("force", "boolean", "Take over fields that others own; only for apply.");
const listParameters = [
  query("allowWatchBookmarks", "boolean", "Send bookmarks on a watch."),
  query("continue", "string", "The token of the page before."),
  query("fieldSelector", "string", "Which objects, by their fields."),
  query("labelSelector", "string", "Which objects, by their labels."),
  query("limit", "integer", "At most so many in one answer."),
  query("resourceVersion", "string", "How new the answer must be."),
  query("resourceVersionMatch", "string", "How resourceVersion is meant."),
  query("sendInitialEvents", "boolean", "Begin a watch with what is there."),
  query("timeoutSeconds", "integer", "How long a call may take."),
  query("watch", "boolean", "Stream changes instead of a list."),
];
const deleteParameters = [
  dryRun,
  query("gracePeriodSeconds", "integer", "How long the object has to end."),
  query("orphanDependents", "boolean", "The old way to say propagationPolicy."),
  query("propagationPolicy", "string", "What happens to dependents: Orphan, Background or Foreground."),
];

const jsonAnd = (schema: Json, ...types: string[]): Json => Object.fromEntries(types.map((type) => [type, { schema }]));
const answers = (schema: Json, ...codes: string[]): Json => ({
  ...Object.fromEntries(
    codes.map((code) => [
      code,
      {
        description: code === "201" ? "Created" : code === "202" ? "Accepted" : "OK",
        content: jsonAnd(schema, "application/json", "application/yaml"),
      },
    ]),
  ),
  "401": { description: "Unauthorized" },
});

const plainPatchTypes = ["application/apply-patch+yaml", "application/json-patch+json", "application/merge-patch+json"];

/** Path items by path, for OpenAPI v3. */
export function pathItems(definition: ResourceDefinition, names: Names): Record<string, Json> {
  const base = definition.group === "" ? `/api/${definition.version}` : `/apis/${groupVersion(definition)}`;
  const scope = definition.namespaced ? `${base}/namespaces/{namespace}` : base;
  const one = `${scope}/${definition.plural}/{name}`;
  const shared = [...(definition.namespaced ? [inPath("namespace", "The namespace of the object.")] : []), pretty];
  const named = [inPath("name", `The name of the ${definition.kind}.`), ...shared];
  const verbs = new Set<string>(definition.verbs ?? allVerbs);
  const make = operations(definition);
  const items: Record<string, Json> = {};
  const collection: Json = { parameters: shared };
  if (verbs.has("list")) collection.get = make("list", answers(refTo(names.list), "200"), listParameters);
  if (verbs.has("create"))
    collection.post = {
      ...make("create", answers(refTo(names.object), "200", "201", "202"), [dryRun, fieldManager, fieldValidation]),
      requestBody: body(names.object),
    };
  if (verbs.has("deletecollection"))
    collection.delete = {
      ...make("deletecollection", answers(refTo(status), "200"), [...listParameters, ...deleteParameters]),
      requestBody: body(deleteOptions),
    };
  items[`${scope}/${definition.plural}`] = collection;
  if (definition.namespaced && verbs.has("list"))
    items[`${base}/${definition.plural}`] = {
      parameters: [pretty],
      get: make("list", answers(refTo(names.list), "200"), listParameters),
    };
  if (verbs.has("get")) items[one] = objectItem(definition, names, make, named, verbs);
  if (definition.hasStatus) items[`${one}/status`] = partItem(definition, names, make, named);
  return items;
}

function body(name: string | undefined): Json {
  return { content: jsonAnd(refTo(name), "application/json", "application/yaml") };
}

type Make = (action: string, responses: Json, parameters: Json[]) => Json;

function operations(definition: ResourceDefinition): Make {
  const tag =
    definition.group === ""
      ? `core_${definition.version}`
      : `${definition.group.split(".")[0] ?? ""}_${definition.version}`;
  const gvk = { group: definition.group, kind: definition.kind, version: definition.version };
  const actions: Record<string, string> = { create: "post", update: "put", read: "get" };
  return (action, responses, parameters) => ({
    tags: [tag],
    description: `${action} ${definition.kind}`,
    operationId: `${action}${tag.replace(/(^|_)(\w)/g, (_, __, letter: string) => letter.toUpperCase())}${definition.namespaced ? "Namespaced" : ""}${definition.kind}`,
    "x-kubernetes-action": actions[action] ?? action,
    "x-kubernetes-group-version-kind": gvk,
    // An empty list is left out: Go's readers take it for another document than the one they would write.
    ...(parameters.length > 0 ? { parameters } : {}),
    responses,
  });
}

function objectItem(
  definition: ResourceDefinition,
  names: Names,
  make: Make,
  named: Json[],
  verbs: ReadonlySet<string>,
): Json {
  const item = verbs.has("update")
    ? partItem(definition, names, make, named)
    : { parameters: named, get: make("read", answers(refTo(names.object), "200"), []) };
  if (verbs.has("delete"))
    item.delete = {
      ...make("delete", answers(refTo(status), "200", "202"), deleteParameters),
      requestBody: body(deleteOptions),
    };
  return item;
}

function partItem(definition: ResourceDefinition, names: Names, make: Make, named: Json[]): Json {
  const patchTypes = definition.isCustom
    ? plainPatchTypes
    : [...plainPatchTypes, "application/strategic-merge-patch+json"];
  return {
    parameters: named,
    get: make("read", answers(refTo(names.object), "200"), []),
    put: {
      ...make("update", answers(refTo(names.object), "200", "201"), [dryRun, fieldManager, fieldValidation]),
      requestBody: body(names.object),
    },
    patch: {
      ...make("patch", answers(refTo(names.object), "200", "201"), [dryRun, fieldManager, fieldValidation, force]),
      requestBody: { content: jsonAnd(refTo(patch), ...patchTypes) },
    },
  };
}
