// Validation of the schemas in definitions: structural, so that it is known of every value what may be dropped and owned.

import {
  type FieldErrors,
  forbidden,
  invalid,
  notListed,
  notSupported,
  required,
} from "../../machinery/field-error.ts";
import { compilePattern } from "./formats.ts";
import type { StructuralSchema } from "./structural-schema.ts";
import { validateBySchema } from "./validate.ts";
import { validateRules } from "./validate-rules.ts";

const deepest = 60;
const types = ["array", "boolean", "integer", "number", "object", "string"];
const unsupported = ["id", "additionalItems", "patternProperties", "definitions", "dependencies", "$ref"];

/** What only the main tree may say, not the conditions beside it. */
const notInConditions: readonly [field: keyof StructuralSchema | "title", state: "empty" | "undefined" | "false"][] = [
  ["additionalProperties", "undefined"],
  ["default", "undefined"],
  ["title", "empty"],
  ["description", "empty"],
  ["nullable", "false"],
  ["x-kubernetes-preserve-unknown-fields", "false"],
  ["x-kubernetes-embedded-resource", "false"],
  ["x-kubernetes-int-or-string", "false"],
  ["x-kubernetes-list-map-keys", "empty"],
  ["x-kubernetes-list-type", "undefined"],
  ["x-kubernetes-map-type", "undefined"],
  ["x-kubernetes-validations", "empty"],
];

type Place = "root" | "field" | "item";
const untyped: Record<Place, string> = {
  root: "must not be empty at the root",
  field: "must not be empty for specified object fields",
  item: "must not be empty for specified array items",
};

export function validateSchema(schema: StructuralSchema, at: string, errors: FieldErrors): void {
  if (schema.type && schema.type !== "object")
    errors.push(invalid(`${at}.type`, schema.type, "must be object at the root"));
  if (schema.additionalProperties) errors.push(forbidden(`${at}.additionalProperties`, "must not be used at the root"));
  const { metadata, ...others } = schema.properties ?? {};
  for (const name of ["kind", "apiVersion"]) {
    const type = others[name]?.type;
    if (others[name] && type !== "string")
      errors.push(invalid(`${at}.properties[${name}].type`, type ?? "", "must be string"));
  }
  if (metadata) validateMetadata(metadata, `${at}.properties[metadata]`, errors);
  visit(schema, at, "root", 0, errors);
}

/** Metadata is the same for all kinds; a schema may narrow the names only. */
function validateMetadata({ properties = {}, ...schema }: StructuralSchema, at: string, errors: FieldErrors): void {
  const { type: _type, default: _default, ...more } = schema;
  const isNames = Object.keys(properties).every((name) => name === "name" || name === "generateName");
  if (!isNames || Object.keys(more).length > 0)
    errors.push(
      forbidden(at, "must not specify anything other than name and generateName, but metadata is implicitly specified"),
    );
}

function visit(schema: StructuralSchema, at: string, place: Place, depth: number, errors: FieldErrors): void {
  if (depth > deepest) {
    errors.push(invalid(at, "", `schemas may not be nested deeper than ${deepest} levels`));
    return;
  }
  validateOwn(schema, at, place, errors);
  validateLists(schema, at, errors);
  validateRules(schema, at, errors);
  const isEither = schema["x-kubernetes-int-or-string"] === true;
  for (const list of ["allOf", "anyOf", "oneOf"] as const)
    (schema[list] ?? []).forEach((one, index) =>
      visitCondition(one, `${at}.${list}[${index}]`, isEither, depth, errors),
    );
  if (schema.not) visitCondition(schema.not, `${at}.not`, false, depth, errors);
  for (const [name, below] of Object.entries(schema.properties ?? {}))
    visit(below, `${at}.properties[${name}]`, "field", depth + 1, errors);
  if (schema.items) visit(schema.items, `${at}.items`, "item", depth + 1, errors);
  if (typeof schema.additionalProperties === "object")
    visit(schema.additionalProperties, `${at}.additionalProperties`, "field", depth + 1, errors);
}

function validateOwn(schema: StructuralSchema, at: string, place: Place, errors: FieldErrors): void {
  const { type, pattern, properties = {}, additionalProperties } = schema;
  const isFree =
    schema["x-kubernetes-int-or-string"] === true || schema["x-kubernetes-preserve-unknown-fields"] === true;
  if (type === "null")
    errors.push(forbidden(`${at}.type`, "type cannot be set to null, use nullable as an alternative"));
  else if (type && !types.includes(type)) errors.push(notSupported(`${at}.type`, type, types));
  if (!type && (place === "root" || !isFree)) errors.push(required(`${at}.type`, untyped[place]));
  for (const keyword of unsupported)
    if ((schema as Record<string, unknown>)[keyword] !== undefined)
      errors.push(forbidden(`${at}.${keyword}`, `${keyword} is not supported`));
  if (schema.uniqueItems)
    errors.push(
      forbidden(
        `${at}.uniqueItems`,
        "uniqueItems cannot be set to true since the runtime complexity becomes quadratic",
      ),
    );
  if (pattern !== undefined && !compilePattern(pattern))
    errors.push(invalid(`${at}.pattern`, pattern, "must be a valid regular expression"));
  if (additionalProperties !== undefined && additionalProperties !== true && Object.keys(properties).length > 0)
    errors.push(forbidden(`${at}.additionalProperties`, "additionalProperties and properties are mutual exclusive"));
  if (schema["x-kubernetes-preserve-unknown-fields"] === false)
    errors.push(invalid(`${at}.x-kubernetes-preserve-unknown-fields`, false, "must be true or undefined"));
  if (schema["x-kubernetes-embedded-resource"] === true && type !== "object")
    errors.push(
      type
        ? invalid(`${at}.type`, type, "must be object if x-kubernetes-embedded-resource is true")
        : required(`${at}.type`, "must be object if x-kubernetes-embedded-resource is true"),
    );
  if (schema.default !== undefined && schema.default !== null)
    for (const { message } of validateBySchema(schema.default, schema, "default").slice(0, 1))
      errors.push({ type: "FieldValueInvalid", field: `${at}.default`, message });
}

function validateLists(schema: StructuralSchema, at: string, errors: FieldErrors): void {
  const mapType = schema["x-kubernetes-map-type"];
  const listType = schema["x-kubernetes-list-type"];
  const keys = schema["x-kubernetes-list-map-keys"] ?? [];
  for (const [name, value, wanted, allowed] of [
    ["x-kubernetes-map-type", mapType, "object", ["atomic", "granular"]],
    ["x-kubernetes-list-type", listType, "array", ["atomic", "set", "map"]],
  ] as const) {
    if (value === undefined) continue;
    const detail = `must be ${wanted} if ${name} is specified`;
    if (schema.type !== wanted)
      errors.push(schema.type ? invalid(`${at}.type`, schema.type, detail) : required(`${at}.type`, detail));
    if (!(allowed as readonly string[]).includes(value)) errors.push(notListed(`${at}.${name}`, value, allowed));
  }
  if (schema.type === "array" && !schema.items) errors.push(required(`${at}.items`, "must be specified"));
  if (keys.length > 0 && listType !== "map") {
    const detail = "must be map if x-kubernetes-list-map-keys is non-empty";
    const field = `${at}.x-kubernetes-list-type`;
    errors.push(listType === undefined ? required(field, detail) : invalid(field, listType, detail));
  }
  if ((listType === "map" || listType === "set") && schema.items?.nullable)
    errors.push(forbidden(`${at}.items.nullable`, `cannot be nullable when x-kubernetes-list-type is ${listType}`));
  if (listType === "map") validateMapKeys(keys, schema.items, at, errors);
}

function validateMapKeys(
  keys: readonly string[],
  items: StructuralSchema | undefined,
  at: string,
  errors: FieldErrors,
): void {
  const field = `${at}.x-kubernetes-list-map-keys`;
  if (keys.length === 0) errors.push(required(field, "must not be empty if x-kubernetes-list-type is map"));
  if (!items) return;
  if (items.type !== "object") {
    errors.push(
      invalid(`${at}.items.type`, items.type ?? "", "must be object if parent array's x-kubernetes-list-type is map"),
    );
    return;
  }
  keys.forEach((key, index) => {
    const property = Object.hasOwn(items.properties ?? {}, key) ? items.properties?.[key] : undefined;
    const below = `${at}.items.properties[${key}]`;
    if (!property) errors.push(invalid(field, keys, "entries must all be names of item properties"));
    else if (property.type === "array" || property.type === "object")
      errors.push(
        invalid(`${below}.type`, items.type, "must be a scalar type if parent array's x-kubernetes-list-type is map"),
      );
    if (keys.indexOf(key) !== index) errors.push(invalid(field, keys, "must not contain duplicate entries"));
    if (property && !items.required?.includes(key) && property.default === undefined)
      errors.push(
        required(
          `${below}.default`,
          "this property is in x-kubernetes-list-map-keys, so it must have a default or be a required property",
        ),
      );
    if (property?.nullable)
      errors.push(
        forbidden(`${below}.nullable`, "this property is in x-kubernetes-list-map-keys, so it cannot be nullable"),
      );
  });
}

/** `mayType`: the two that say "a number or a text" of a value that is declared to be either. */
function visitCondition(
  schema: StructuralSchema,
  at: string,
  mayType: boolean,
  depth: number,
  errors: FieldErrors,
): void {
  if (depth > deepest) {
    errors.push(invalid(at, "", `schemas may not be nested deeper than ${deepest} levels`));
    return;
  }
  if (schema.type && !(mayType && ["integer", "string"].includes(schema.type)))
    errors.push(forbidden(`${at}.type`, "must be empty to be structural"));
  for (const [field, state] of notInConditions) {
    const value = (schema as Record<string, unknown>)[field];
    const isSaid = Array.isArray(value)
      ? value.length > 0
      : state === "undefined"
        ? value !== undefined
        : Boolean(value);
    if (isSaid) errors.push(forbidden(`${at}.${field}`, `must be ${state} to be structural`));
  }
  if (schema.pattern !== undefined && !compilePattern(schema.pattern))
    errors.push(invalid(`${at}.pattern`, schema.pattern, "must be a valid regular expression"));
  const below = (one: StructuralSchema, field: string) =>
    visitCondition(one, `${at}.${field}`, mayType, depth + 1, errors);
  for (const list of ["allOf", "anyOf", "oneOf"] as const)
    (schema[list] ?? []).forEach((one, index) => below(one, `${list}[${index}]`));
  if (schema.not) below(schema.not, "not");
  for (const [name, one] of Object.entries(schema.properties ?? {}))
    visitCondition(one, `${at}.properties[${name}]`, false, depth + 1, errors);
  if (schema.items) visitCondition(schema.items, `${at}.items`, false, depth + 1, errors);
}
