// Merges an applied configuration into the live object.

import { isObject } from "./compare.ts";
import { elementStep } from "./shape.ts";
import type { ListShape, Shape } from "../../resources/shape.ts";

type Json = Record<string, unknown>;

/** The live value with all of the applied one in it. Neither is changed. */
export function merge(live: unknown, applied: unknown, shape: Shape): unknown {
  if (applied === undefined) return live;
  if (shape.is === "object" && !shape.atomic && isObject(live) && isObject(applied)) {
    const result: Json = { ...live };
    for (const key of Object.keys(applied)) put(result, key, merge(own(live, key), applied[key], shape.child(key)));
    return result;
  }
  if (shape.is === "list" && shape.by !== "atomic" && Array.isArray(live) && Array.isArray(applied))
    return mergeLists(live, applied, shape);
  return applied;
}

/**
 * Elements that are not applied keep their place before what followed them; applied ones stand in the applied order. A key that several
 * live elements share is no element to merge with: all of them stay, or the applied one replaces them.
 */
function mergeLists(live: unknown[], applied: unknown[], shape: ListShape): unknown[] {
  const liveSteps = live.map((element) => elementStep(shape, element));
  const steps = applied.map((element) => elementStep(shape, element));
  const known = new Map<string | undefined, unknown>();
  for (const [index, step] of liveSteps.entries()) known.set(step, known.has(step) ? undefined : live[index]);
  known.delete(undefined);
  const wanted = new Set(steps.filter((step) => step !== undefined));
  // The applied elements that are live too, in the applied order: live ones that come before their turn are passed over.
  const shared = steps.filter((step) => known.has(step));
  const done = new Set<string | undefined>();
  const result: unknown[] = [];
  let [at, next, turn] = [0, 0, 0];
  const take = () => {
    const step = steps[next];
    result.push(merge(known.get(step), applied[next], shape.item));
    done.add(step);
    next++;
    if (turn < shared.length && shared[turn] === step) turn++;
  };
  while (at < live.length || next < applied.length) {
    const step = liveSteps[at];
    const isWanted = step !== undefined && wanted.has(step);
    if (at < live.length && !isWanted) result.push(live[at++]);
    else if (at < live.length && next < applied.length && step === steps[next]) {
      at++;
      take();
    } else if (isWanted && next < applied.length && turn < shared.length && shared[turn] !== step) at++;
    else {
      if (isWanted && done.has(step)) at++;
      if (next < applied.length) take();
    }
  }
  return result;
}

function own(object: Json, key: string): unknown {
  return Object.hasOwn(object, key) ? object[key] : undefined;
}

function put(target: Json, key: string, value: unknown): void {
  Object.defineProperty(target, key, { value, writable: true, enumerable: true, configurable: true });
}
