// Functions on lists and sets that Kubernetes adds to CEL.

import type { Environment } from "@marcbachmann/cel-js";
import { Fault } from "../../base/fault.ts";
import { spend } from "./meter.ts";

type Comparable = bigint | number | string | boolean | Date;

export function registerListFunctions(env: Environment): void {
  env.registerFunction("list.isSorted(): bool", (list: Comparable[]) =>
    list.every((each, index) => index === 0 || (list[index - 1] as Comparable) <= each),
  );
  env.registerFunction("list.sum(): dyn", (list: Comparable[]) => {
    if (list.length === 0) return 0n;
    if (list.every((each) => typeof each === "bigint")) return (list as bigint[]).reduce((sum, each) => sum + each, 0n);
    return list.reduce((sum: number, each) => sum + Number(each), 0);
  });
  env.registerFunction("list.min(): dyn", (list: Comparable[]) => pick(list, "min", (a, b) => a < b));
  env.registerFunction("list.max(): dyn", (list: Comparable[]) => pick(list, "max", (a, b) => a > b));
  env.registerFunction("list.indexOf(dyn): int", (list: unknown[], value: unknown) =>
    BigInt(list.findIndex((each) => isSame(each, value))),
  );
  env.registerFunction("list.lastIndexOf(dyn): int", (list: unknown[], value: unknown) =>
    BigInt(list.findLastIndex((each) => isSame(each, value))),
  );
  class SetsNamespace {}
  env.registerType("SetsNamespace", SetsNamespace);
  env.registerConstant("sets", "SetsNamespace", new SetsNamespace());
  const has = (list: unknown[], value: unknown) => list.some((each) => isSame(each, value));
  const set = (name: string, test: (a: unknown[], b: unknown[]) => boolean) =>
    env.registerFunction(`SetsNamespace.${name}(list, list): bool`, (_: unknown, a: unknown[], b: unknown[]) => {
      spend(a.length * b.length);
      return test(a, b);
    });
  set("contains", (a, b) => b.every((each) => has(a, each)));
  set("intersects", (a, b) => b.some((each) => has(a, each)));
  set("equivalent", (a, b) => a.every((each) => has(b, each)) && b.every((each) => has(a, each)));
}

function pick(list: Comparable[], name: string, isBetter: (a: Comparable, b: Comparable) => boolean): Comparable {
  const [first, ...rest] = list;
  if (first === undefined) throw new Fault("invalid", `${name} called on empty list`);
  return rest.reduce((best, each) => (isBetter(each, best) ? each : best), first);
}

function isSame(a: unknown, b: unknown): boolean {
  if (a === b) return true;
  if (typeof a === "bigint" && typeof b === "number") return Number(a) === b;
  if (typeof a === "number" && typeof b === "bigint") return a === Number(b);
  if (typeof a !== "object" || typeof b !== "object" || a === null || b === null) return false;
  if (a instanceof Date && b instanceof Date) return a.getTime() === b.getTime();
  const left = Object.entries(a);
  return (
    Array.isArray(a) === Array.isArray(b) &&
    left.length === Object.keys(b).length &&
    left.every(([key, each]) => Object.hasOwn(b, key) && isSame(each, (b as Record<string, unknown>)[key]))
  );
}
