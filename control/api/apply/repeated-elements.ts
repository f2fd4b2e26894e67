// Finds list elements of an applied configuration that have the same key: only one of them could be owned and merged.

import { byStep, isObject, Repeated } from "./compare.ts";
import { fieldStep, pathText } from "./path-set.ts";
import { elementStep } from "./shape.ts";
import type { Shape } from "../../resources/shape.ts";

/** What is wrong, a line for each key: `.spec.ports: duplicate entries for key [port=80,protocol="TCP"]`. */
export function repeatedElements(value: unknown, shape: Shape, path: readonly string[] = []): string[] {
  if (shape.is === "object" && !shape.atomic && isObject(value))
    return Object.keys(value).flatMap((key) =>
      repeatedElements(value[key], shape.child(key), [...path, fieldStep(key)]),
    );
  if (shape.is !== "list" || shape.by === "atomic" || !Array.isArray(value)) return [];
  const repeated = [...byStep(value, shape)]
    .filter(([, element]) => element instanceof Repeated)
    .map(([step]) => `${pathText(path)}: duplicate entries for key ${pathText([step])}`);
  const below = value.flatMap((element) => {
    const step = elementStep(shape, element);
    return step === undefined ? [] : repeatedElements(element, shape.item, [...path, step]);
  });
  return [...repeated, ...below];
}
