// How the fields of a custom resource are owned, from its structural schema.

import { deduced, leaf, type ObjectShape, type Shape } from "../shape.ts";
import { propertyOf, type StructuralSchema } from "./structural-schema.ts";

const made = new WeakMap<StructuralSchema, Shape>();

/** Metadata is the same for every kind, and a schema may say nothing of its lists. */
const metadataLists = new Map<string, Shape>([
  ["finalizers", { is: "list", by: "set", item: leaf }],
  ["ownerReferences", { is: "list", by: ["uid"], item: { ...deduced, atomic: true } }],
]);
const metadata: ObjectShape = {
  is: "object",
  atomic: false,
  child: (name) => metadataLists.get(name) ?? deduced,
  hasField: () => true,
};

export function shapeOfCustom(schema: StructuralSchema | undefined): Shape {
  const fields = shapeOfSchema(schema);
  const { child, hasField } = fields.is === "object" ? fields : deduced;
  return {
    is: "object",
    atomic: false,
    child: (name) => (name === "metadata" ? metadata : child(name)),
    hasField: (name) => name === "metadata" || hasField(name),
  };
}

function shapeOfSchema(schema: StructuralSchema | undefined): Shape {
  if (!schema) return deduced;
  let shape = made.get(schema);
  if (!shape) {
    shape = makeShape(schema);
    made.set(schema, shape);
  }
  return shape;
}

function makeShape(schema: StructuralSchema): Shape {
  if (schema.type === "array" || schema.items) {
    const type = schema["x-kubernetes-list-type"] ?? "atomic";
    const keys = schema["x-kubernetes-list-map-keys"] ?? [];
    return {
      is: "list",
      by: type === "map" ? keys : type === "set" ? "set" : "atomic",
      get item() {
        return shapeOfSchema(schema.items);
      },
      keyDefault: (key) => schema.items?.properties?.[key]?.default,
    };
  }
  if (schema.type !== "object" && schema.type !== undefined) return leaf;
  return {
    is: "object",
    atomic: schema["x-kubernetes-map-type"] === "atomic",
    child: (name) => shapeOfSchema(propertyOf(schema, name)),
    hasField: (name) => schema.properties !== undefined && Object.hasOwn(schema.properties, name),
  };
}
