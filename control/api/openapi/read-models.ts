// Reads the schema package's declarations into JSON schemas, under the names that Kubernetes publishes them by.

import { existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { Fault } from "../../../plugins/kit/base/fault.ts";
import { correct } from "./corrections.ts";

export interface JsonSchema {
  description?: string;
  type?: string;
  format?: string;
  $ref?: string;
  allOf?: JsonSchema[];
  default?: unknown;
  properties?: Record<string, JsonSchema>;
  required?: string[];
  items?: JsonSchema;
  additionalProperties?: JsonSchema;
  enum?: string[];
  [extension: `x-${string}`]: unknown;
}

/** Where the versions of a group live in Kubernetes' own naming. */
const homes: Record<string, string> = {
  "apiextensions.k8s.io": "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions",
  "apiregistration.k8s.io": "io.k8s.kube-aggregator.pkg.apis.apiregistration",
};

export type Models = Map<string, JsonSchema>;

/** The groups and versions asked for, and all of the shared machinery types. */
export function readModels(groupVersions: readonly { group: string; version: string }[]): Models {
  const root = packageFolder("kubernetes-models");
  const shared = packageFolder("@kubernetes-models/apimachinery");
  const models: Models = new Map();
  const aliases = new Map<string, string>();
  const files: { path: string; name: string; validator: string }[] = [];
  const add = (folder: string, prefix: string, schemas: string) => {
    if (!existsSync(folder)) return;
    for (const file of readdirSync(folder)) {
      if (!file.endsWith(".d.ts") || file === "index.d.ts") continue;
      const name = `${prefix}.${file.slice(0, -5)}`;
      const text = readFileSync(join(folder, file), "utf8");
      const alias = /as (IIo\w+)/.exec(text)?.[1];
      if (!alias) continue;
      aliases.set(alias, name);
      files.push({ path: join(folder, file), name, validator: join(schemas, `${alias.slice(1)}.js`) });
    }
  };
  for (const { group, version } of groupVersions) {
    const prefix = homes[group] ?? `io.k8s.api.${group === "" ? "core" : group.split(".")[0]}`;
    add(join(root, group, version), `${prefix}.${version}`, join(root, "_schemas"));
  }
  add(join(shared, "apis/meta/v1"), "io.k8s.apimachinery.pkg.apis.meta.v1", join(shared, "_schemas"));
  add(join(shared, "api/resource"), "io.k8s.apimachinery.pkg.api.resource", join(shared, "_schemas"));
  add(join(shared, "util/intstr"), "io.k8s.apimachinery.pkg.util.intstr", join(shared, "_schemas"));
  add(join(shared, "runtime"), "io.k8s.apimachinery.pkg.runtime", join(shared, "_schemas"));
  for (const file of files) models.set(file.name, readModel(file.path, file.validator, aliases));
  fixMachinery(models);
  correct(models);
  return models;
}

/** These packages export modules only, so their folder is looked for as Node would look for them. */
function packageFolder(name: string): string {
  for (let folder = import.meta.dirname; ; folder = dirname(folder)) {
    const candidate = join(folder, "node_modules", name);
    if (existsSync(candidate)) return candidate;
    if (folder === dirname(folder))
      throw new Fault("not-found", `Cannot find the package ${name}: run the set-up first`);
  }
}

function readModel(path: string, validator: string, aliases: ReadonlyMap<string, string>): JsonSchema {
  const text = readFileSync(path, "utf8");
  const formats = existsSync(validator) ? numberFormats(readFileSync(validator, "utf8")) : new Map<string, string>();
  const start =
    /(?:\/\*\*((?:(?!\*\/)[\s\S])*)\*\/\s*)?export interface I\w+(?: extends [\w<>, ]+)? \{\n([\s\S]*?)^\}\n/m.exec(
      text,
    );
  if (!start) {
    const description = cleanComment(/\/\*\*((?:(?!\*\/)[\s\S])*)\*\//.exec(text)?.[1] ?? "");
    return { ...(description ? { description } : {}), type: "object" };
  }
  const [, comment = "", body = ""] = start;
  const self = /export interface (I\w+)/.exec(text)?.[1] ?? "";
  const schema: JsonSchema = { type: "object" };
  const description = cleanComment(comment);
  if (description) schema.description = description;
  const properties: Record<string, JsonSchema> = {};
  const required: string[] = [];
  // Anchored to the line's start: comments hold examples that look like properties.
  const pattern =
    /(?:^ {4}\/\*\*((?:(?!\*\/)[\s\S])*)\*\/\n)?^ {4}"([^"]+)"(\??): ((?:Array<)?\{\n[\s\S]*?\n {4}\}>?|[^;\n]+);$/gm;
  for (const [, propertyComment = "", name = "", optional, type = ""] of body.matchAll(pattern)) {
    const property = typeSchema(type.trim(), aliases, self, selfName(aliases, text));
    const about = cleanComment(propertyComment);
    if (about) property.description = about;
    refine(property, formats.get(name));
    properties[name] = property;
    if (optional === "") required.push(name);
  }
  // Only a whole object says of what kind it is; elsewhere these are fields like others.
  if (isWhole(properties)) {
    for (const [name, description] of Object.entries(typeMetaTexts)) properties[name] = { type: "string", description };
    required.splice(0, required.length, ...required.filter((name) => !Object.hasOwn(typeMetaTexts, name)));
  }
  if (Object.keys(properties).length > 0) schema.properties = properties;
  if (required.length > 0) schema.required = required;
  return schema;
}

const typeMetaTexts: Record<string, string> = {
  apiVersion: "APIVersion defines the group and version that this object is written in.",
  kind: "The kind of this object.",
};

const isWhole = (properties: Record<string, JsonSchema>): boolean =>
  Object.keys(typeMetaTexts).every((name) => Object.hasOwn(properties, name)) &&
  (Object.hasOwn(properties, "metadata") ||
    Object.hasOwn(properties, "groupVersion") ||
    Object.hasOwn(properties, "propagationPolicy"));

function selfName(aliases: ReadonlyMap<string, string>, text: string): string {
  return aliases.get(/as (IIo\w+)/.exec(text)?.[1] ?? "") ?? "";
}

function typeSchema(type: string, aliases: ReadonlyMap<string, string>, self: string, selfRef: string): JsonSchema {
  if (type === "string") return { type: "string" };
  if (type === "boolean") return { type: "boolean" };
  if (type === "number") return { type: "integer", format: "int32" };
  // The one list of objects that is written out: claims inside a StatefulSet.
  if (type.startsWith("Array<{"))
    return { type: "array", items: reference("io.k8s.api.core.v1.PersistentVolumeClaim") };
  const list = /^Array<([\s\S]+)>$/.exec(type);
  if (list) return { type: "array", items: typeSchema((list[1] ?? "").trim(), aliases, self, selfRef) };
  const map = /^\{\s*\[key: string\]: ([\s\S]+?);?\s*\}$/.exec(type);
  if (map) return { type: "object", additionalProperties: typeSchema((map[1] ?? "").trim(), aliases, self, selfRef) };
  if (type.startsWith('"'))
    return { type: "string", enum: type.split("|").map((part) => JSON.parse(part.trim()) as string) };
  if (type === self) return reference(selfRef);
  const name = aliases.get(type);
  return name ? reference(name) : { type: "object" };
}

function reference(name: string): JsonSchema {
  return { $ref: name };
}

function refine(schema: JsonSchema, format: string | undefined): void {
  const target = schema.items ?? schema.additionalProperties ?? schema;
  if (target.type === "integer" && format) {
    if (format === "double") {
      target.type = "number";
      target.format = "double";
    } else target.format = format;
  }
  if (target.type === "string" && format === "byte") target.format = "byte";
}

/** Which property is checked by which format, read from the package's compiled validators. */
function numberFormats(code: string): Map<string, string> {
  const variables = new Map(
    [...code.matchAll(/let (formats\d+)=formats\.(\w+)/g)].map((match) => [match[1] ?? "", match[2] ?? ""]),
  );
  const functions = new Map<string, string>();
  for (const match of code.matchAll(/function (validate\d+)\(([\s\S]*?)(?=function validate\d+\(|$)/g))
    functions.set(match[1] ?? "", match[2] ?? "");
  const formatOf = (name: string, depth = 0): string | undefined => {
    const body = functions.get(name);
    if (!body || depth > 2) return undefined;
    const used = /(formats\d+)\.validate/.exec(body)?.[1];
    if (used) return variables.get(used);
    if (/params:\{type:"number"\}/.test(body)) return "double";
    const below = /(validate\d+)\(data\[/.exec(body)?.[1];
    return below ? formatOf(below, depth + 1) : undefined;
  };
  const result = new Map<string, string>();
  for (const match of code.matchAll(/void 0!==data\.(\w+)&&\((validate\d+)\(data\./g)) {
    const format = formatOf(match[2] ?? "");
    if (format) result.set(match[1] ?? "", format);
  }
  return result;
}

function cleanComment(comment: string): string {
  return comment
    .split("\n")
    .map((line) => line.replace(/^\s*\* ?/, ""))
    .join("\n")
    .trim();
}

/** Types whose JSON is not what their declaration says. */
function fixMachinery(models: Models): void {
  const set = (name: string, schema: JsonSchema) => {
    const known = models.get(name);
    models.set(name, { ...(known?.description ? { description: known.description } : {}), ...schema });
  };
  set("io.k8s.apimachinery.pkg.api.resource.Quantity", { type: "string" });
  set("io.k8s.apimachinery.pkg.util.intstr.IntOrString", { type: "string", format: "int-or-string" });
  set("io.k8s.apimachinery.pkg.apis.meta.v1.Time", { type: "string", format: "date-time" });
  set("io.k8s.apimachinery.pkg.apis.meta.v1.MicroTime", { type: "string", format: "date-time" });
  set("io.k8s.apimachinery.pkg.apis.meta.v1.FieldsV1", { type: "object" });
  set("io.k8s.apimachinery.pkg.runtime.RawExtension", { type: "object" });
  const extensions = "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1";
  set(`${extensions}.JSON`, {});
  set(`${extensions}.JSONSchemaPropsOrArray`, {});
  set(`${extensions}.JSONSchemaPropsOrBool`, {});
  set(`${extensions}.JSONSchemaPropsOrStringArray`, {});
}
