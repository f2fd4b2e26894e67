// The fields of a new object that its maker owns: what `compare` tells of it and of what such an object has before anybody wrote to it, but
// without the sets in between. Every create asks for it, and nobody owns anything yet that would have to be taken off.

import type { KubeObject } from "../../../plugins/kit/kube/objects/types.ts";
import { deepEqual } from "../../machinery/equal.ts";
import { bothEmpty, byStep, isObject, Repeated } from "./compare.ts";
import { isUnowned } from "./ownable.ts";
import { fieldStep, type FieldsV1 } from "./path-set.ts";
import { leaf, type ListShape, type ObjectShape, type Shape } from "../../resources/shape.ts";

type Json = Record<string, unknown>;

/** Undefined where the object says nothing that can be owned. Its status counts only where that has no door of its own. */
export function newFields(object: KubeObject, scaffold: Json, shape: Shape, hasStatus: boolean): FieldsV1 | undefined {
  if (shape.is !== "object") return undefined;
  const isSkipped = (key: string) => key === "kind" || key === "apiVersion" || (key === "status" && hasStatus);
  return fieldsOfObject(scaffold, object as unknown as Json, shape, false, (key, before, after, below) => {
    if (isSkipped(key)) return undefined;
    if (key !== "metadata" || below.is !== "object") return fieldsIn(before, after, below);
    // Like the whole object, its metadata as such is nobody's.
    return fieldsOfObject(before, after as Json, below, false, (field, was, is, inner) =>
      isUnowned(field) ? undefined : fieldsIn(was, is, inner),
    );
  });
}

function fieldsIn(before: unknown, after: unknown, shape: Shape): FieldsV1 | undefined {
  if (after === undefined) return undefined;
  const sample = after ?? before;
  const isMember = before === undefined;
  if (!bothEmpty(before, after)) {
    if (shape.is === "object" && !shape.atomic && isObject(sample))
      return fieldsOfObject(before, isObject(after) ? after : {}, shape, isMember);
    if (shape.is === "list" && shape.by !== "atomic" && Array.isArray(sample))
      return fieldsOfList(before, after, shape, isMember);
  }
  return isMember || !deepEqual(before, after) ? {} : undefined;
}

function fieldsOfObject(
  before: unknown,
  after: Json,
  shape: ObjectShape,
  isMember: boolean,
  fieldsOf: (key: string, before: unknown, after: unknown, shape: Shape) => FieldsV1 | undefined = (
    _,
    was,
    is,
    inner,
  ) => fieldsIn(was, is, inner),
): FieldsV1 | undefined {
  let fields: FieldsV1 | undefined;
  for (const key of Object.keys(after).sort()) {
    const was = isObject(before) && Object.hasOwn(before, key) ? before[key] : undefined;
    const below = fieldsOf(key, was, after[key], shape.child(key));
    if (!below) continue;
    fields ??= isMember ? { ".": {} } : {};
    fields[fieldStep(key)] = below;
  }
  return fields ?? (isMember ? {} : undefined);
}

function fieldsOfList(before: unknown, after: unknown, shape: ListShape, isMember: boolean): FieldsV1 | undefined {
  const [left, right] = [byStep(before, shape), byStep(after, shape)];
  const item = shape.by === "set" ? leaf : shape.item;
  let fields: FieldsV1 | undefined;
  for (const step of [...right.keys()].sort()) {
    const element = right.get(step);
    const below = element instanceof Repeated ? {} : fieldsIn(left.get(step), element, item);
    if (!below) continue;
    fields ??= isMember ? { ".": {} } : {};
    fields[step] = below;
  }
  return fields ?? (isMember ? {} : undefined);
}
