// The order of a merged list: elements that the patch names keep the patch's order, the others keep the order they had, and
// the two are woven together by where they stood. Elements that are new come before those they have no relation to.

import { equalJson, getOwn, identityOf, isObject } from "./json-tree.ts";

/** True when both are the same element of a list merged by `key`, or of a list of scalars. */
export function sameElement(a: unknown, b: unknown, key: string | undefined): boolean {
  if (key === undefined) return equalJson(a, b);
  return isObject(a) && isObject(b) && Object.hasOwn(a, key) && equalJson(getOwn(a, key), getOwn(b, key));
}

/**
 * The same for two elements exactly where `sameElement` holds; undefined for what is the same as nothing. Lists are long as clients
 * make them: they are searched by this, never one element after the other.
 */
export function elementId(item: unknown, key: string | undefined): string | undefined {
  if (key === undefined) return identityOf(item);
  return isObject(item) && Object.hasOwn(item, key) ? identityOf(getOwn(item, key)) : undefined;
}

/** Where each element stands first. */
export function placesOf(list: readonly unknown[], key: string | undefined): Map<string, number> {
  const places = new Map<string, number>();
  list.forEach((item, at) => {
    const id = elementId(item, key);
    if (id !== undefined && !places.has(id)) places.set(id, at);
  });
  return places;
}

export function orderMerged(
  merged: readonly unknown[],
  wanted: readonly unknown[],
  before: readonly unknown[],
  key: string | undefined,
): unknown[] {
  const wantedPlaces = placesOf(wanted, key);
  const formerPlaces = placesOf(before, key);
  const placed = merged.map((item) => {
    const id = elementId(item, key) ?? "";
    return { item, wanted: wantedPlaces.get(id) ?? -1, before: formerPlaces.get(id) ?? -1 };
  });
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
