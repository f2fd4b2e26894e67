// Strategic merge patch: like a merge patch, but lists merge by key where the type says so, and directives
// (`$patch`, `$retainKeys`, `$setElementOrder/…`, `$deleteFromPrimitiveList/…`) steer it. Order of merged lists is in list-order.ts.

import { Fault } from "../../base/fault.ts";
import { checkDepth, cloneJson, getOwn, identityOf, isObject, type JsonObject, setOwn } from "./json-tree.ts";
import { elementId, orderMerged, placesOf, sameElement } from "./list-order.ts";
import { type FieldRule, ruleOf, type Rules, rulesBelow, rulesOfKind } from "./merge-keys.ts";

const patchMarker = "$patch";
const retainKeysMarker = "$retainKeys";
const elementOrderPrefix = "$setElementOrder/";
const deleteFromPrefix = "$deleteFromPrimitiveList/";

/** The patched document; neither argument is changed or shared. `kind` is `group/version/Kind`, or `version/Kind` for core. */
export function applyStrategicPatch(document: unknown, patch: unknown, kind: string): unknown {
  if (!isObject(patch)) throw new Fault("invalid", "A strategic merge patch is an object");
  return mergeObject(isObject(document) ? document : {}, patch, rulesOfKind(kind), 0);
}

function mergeObject(original: JsonObject, patch: JsonObject, rules: Rules, depth: number): JsonObject {
  checkDepth(depth);
  const directive = getOwn(patch, patchMarker);
  if (directive === "delete") return {};
  if (directive === "replace") return withoutDirectives(patch, depth) as JsonObject;
  if (directive !== undefined && directive !== "merge") throw unknownDirective(directive);
  const merged = cloneJson(original, depth) as JsonObject;
  retainKeys(merged, patch);
  const ordered = orderLists(merged, patch, rules, depth);
  for (const [key, value] of Object.entries(patch)) {
    if (key === patchMarker || key === retainKeysMarker || ordered.has(key)) continue;
    if (key.startsWith(deleteFromPrefix)) deleteScalars(merged, key.slice(deleteFromPrefix.length), value);
    else mergeField(merged, key, value, ruleOf(rules, key), depth);
  }
  return merged;
}

function mergeField(merged: JsonObject, key: string, value: unknown, rule: FieldRule, depth: number): void {
  if (value === null) {
    delete merged[key];
    return;
  }
  const current = getOwn(merged, key);
  if (isObject(current) && isObject(value) && rule.strategy !== "replace") {
    setOwn(merged, key, mergeObject(current, value, rulesBelow(rule), depth + 1));
  } else if (Array.isArray(current) && Array.isArray(value)) {
    setOwn(merged, key, mergeList(current, value, rule, depth + 1));
  } else {
    setOwn(merged, key, withoutDirectives(value, depth + 1));
  }
}

/** Keeps only the keys that the patch lists; what it sets must be among them. */
function retainKeys(merged: JsonObject, patch: JsonObject): void {
  const keep = getOwn(patch, retainKeysMarker);
  if (keep === undefined) return;
  if (!Array.isArray(keep) || keep.some((key) => typeof key !== "string"))
    throw new Fault("invalid", `${retainKeysMarker} must be a list of keys`);
  const kept = new Set<unknown>(keep);
  for (const [key, value] of Object.entries(patch)) {
    const isField = !key.startsWith("$") && value !== null;
    if (isField && !kept.has(key))
      throw new Fault("invalid", `${retainKeysMarker} must name "${key}", because the patch sets it`);
  }
  for (const key of Object.keys(merged)) if (!kept.has(key)) delete merged[key];
}

/** Merges the lists whose order the patch demands; returns the keys of the patch that are done with. */
function orderLists(merged: JsonObject, patch: JsonObject, rules: Rules, depth: number): Set<string> {
  const done = new Set<string>();
  for (const [marker, order] of Object.entries(patch)) {
    if (!marker.startsWith(elementOrderPrefix)) continue;
    done.add(marker);
    const field = marker.slice(elementOrderPrefix.length);
    if (!Array.isArray(order)) throw new Fault("invalid", `${marker} must be a list`);
    const rule = ruleOf(rules, field);
    const current = listOr(getOwn(merged, field), field);
    const change = listOr(getOwn(patch, field), field);
    if (change) {
      checkOrder(change, order, rule, marker);
      done.add(field);
    }
    if (!current && !change) continue;
    const all =
      current && change
        ? mergeList(current, change, rule, depth + 1)
        : (withoutDirectives(current ?? change, depth + 1) as unknown[]);
    setOwn(merged, field, orderMerged(all, order, current ?? [], rule.key));
  }
  return done;
}

function listOr(value: unknown, field: string): unknown[] | undefined {
  if (value === undefined || value === null) return undefined;
  if (!Array.isArray(value)) throw new Fault("invalid", `"${field}" must be a list`);
  return value;
}

/** What the patch changes must stand in the order list, in the same sequence. */
function checkOrder(change: readonly unknown[], order: readonly unknown[], rule: FieldRule, marker: string): void {
  let at = 0;
  for (const item of change) {
    if (isObject(item) && getOwn(item, patchMarker) !== undefined) continue;
    while (at < order.length && !sameElement(order[at], item, rule.key)) at++;
    if (at === order.length)
      throw new Fault("invalid", `The order of the patch's list does not match ${marker}: ${JSON.stringify(order)}`);
  }
}

function mergeList(current: readonly unknown[], change: readonly unknown[], rule: FieldRule, depth: number): unknown[] {
  checkDepth(depth);
  if (rule.strategy !== "merge") return withoutDirectives(change, depth) as unknown[];
  if (rule.key === undefined) {
    const joined = [...new Set([...current, ...change])];
    return orderMerged(joined, change, current, undefined);
  }
  return mergeByKey(current, change, rule.key, rulesBelow(rule), depth);
}

function mergeByKey(current: readonly unknown[], change: readonly unknown[], key: string, rules: Rules, depth: number) {
  const { replace, deleted, kept } = splitDirectives(change, key);
  // Taken as it stands, also where a key comes twice: that is how kubelets write two addresses of one type.
  if (replace) return kept.map((item) => withoutDirectives(item, depth));
  const gone = placesOf(deleted, key);
  const base = current.filter((item) => !gone.has(elementId(item, key) ?? ""));
  const merged = base.map((item) => cloneJson(item, depth));
  const places = placesOf(merged, key);
  for (const item of kept) {
    const id = elementId(item, key) ?? "";
    const at = places.get(id);
    const other = at === undefined ? undefined : merged[at];
    if (at !== undefined && isObject(other)) merged[at] = mergeObject(other, item, rules, depth + 1);
    else places.set(id, merged.push(withoutDirectives(item, depth)) - 1);
  }
  return orderMerged(merged, kept, base, key);
}

function splitDirectives(change: readonly unknown[], key: string) {
  const deleted: JsonObject[] = [];
  const kept: JsonObject[] = [];
  let replace = false;
  for (const item of change) {
    if (!isObject(item))
      throw new Fault("invalid", `An element of a list that is merged by "${key}" must be an object`);
    const directive = getOwn(item, patchMarker);
    if (directive === "replace") replace = true;
    else if (directive !== undefined && directive !== "delete" && directive !== "merge")
      throw unknownDirective(directive);
    if (directive === "replace" && !Object.hasOwn(item, key)) continue;
    if (!Object.hasOwn(item, key))
      throw new Fault("invalid", `map: ${JSON.stringify(item)} does not contain declared merge key: ${key}`);
    (directive === "delete" ? deleted : kept).push(item);
  }
  return { replace, deleted, kept };
}

function deleteScalars(merged: JsonObject, field: string, value: unknown): void {
  if (!Array.isArray(value)) throw new Fault("invalid", `${deleteFromPrefix}${field} must be a list`);
  const current = getOwn(merged, field);
  if (!Array.isArray(current)) return;
  const gone = placesOf(value, undefined);
  setOwn(
    merged,
    field,
    current.filter((item) => !gone.has(identityOf(item))),
  );
}

/** A copy of a patch's value without directives and nulls, for places where there is nothing to merge with. */
function withoutDirectives(value: unknown, depth: number): unknown {
  checkDepth(depth);
  if (Array.isArray(value))
    return value
      .filter((item) => !isObject(item) || !Object.hasOwn(item, patchMarker) || item[patchMarker] === "merge")
      .map((item) => withoutDirectives(item, depth + 1));
  if (!isObject(value)) return value;
  const clean: JsonObject = {};
  for (const [key, member] of Object.entries(value)) {
    const isDirective =
      key === patchMarker ||
      key === retainKeysMarker ||
      key.startsWith(elementOrderPrefix) ||
      key.startsWith(deleteFromPrefix);
    if (!isDirective && member !== null && member !== undefined)
      setOwn(clean, key, withoutDirectives(member, depth + 1));
  }
  return clean;
}

function unknownDirective(directive: unknown): Fault {
  return new Fault("invalid", `unknown patch type ${JSON.stringify(directive)}: replace, delete and merge are known`);
}
