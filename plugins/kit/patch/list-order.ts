// The order of a merged list: elements that the patch names keep the patch's order, the others keep the order they had, and
// the two are woven together by where they stood. Elements that are new come before those they have no relation to.

import { equalJson, getOwn, isObject } from "./json-tree.ts";

/** True when both are the same element of a list merged by `key`, or of a list of scalars. */
export function sameElement(a: unknown, b: unknown, key: string | undefined): boolean {
  if (key === undefined) return equalJson(a, b);
  return isObject(a) && isObject(b) && Object.hasOwn(a, key) && equalJson(getOwn(a, key), getOwn(b, key));
}

export function orderMerged(
  merged: readonly unknown[],
  wanted: readonly unknown[],
  before: readonly unknown[],
  key: string | undefined,
): unknown[] {
  const place = (item: unknown, order: readonly unknown[]) => order.findIndex((other) => sameElement(other, item, key));
  const placed = merged.map((item) => ({ item, wanted: place(item, wanted), before: place(item, before) }));
  const named = placed.filter((entry) => entry.wanted >= 0).sort((a, b) => a.wanted - b.wanted);
  const others = placed
    .filter((entry) => entry.wanted < 0)
    .sort((a, b) => (a.before < 0 || b.before < 0 ? 0 : a.before - b.before));
  const woven: unknown[] = [];
  let at = 0;
  for (const entry of named) {
    for (let other = others[at]; other && isBefore(other.before, entry.before); other = others[++at]) {
      woven.push(other.item);
    }
    woven.push(entry.item);
  }
  return [...woven, ...others.slice(at).map(({ item }) => item)];
}

function isBefore(a: number, b: number): boolean {
  return a >= 0 && b >= 0 && a < b;
}
