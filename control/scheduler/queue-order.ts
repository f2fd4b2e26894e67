// Which waiting pod is tried first: by priority and then by age, or as a plugin that the configuration names has it. The queue is
// one for all profiles, and so is its order.

import { Fault } from "../../plugins/kit/base/fault.ts";
import type { QueueSortPlugin, WaitingPod } from "../../plugins/kit/contracts/scheduling.ts";
import { find } from "./choose-plugins.ts";
import { choicesAt, type Points } from "./plugin-points.ts";
import type { Available } from "./profile.ts";
import { sortName } from "./upstream-names.ts";

const priorityOf = ({ pod }: WaitingPod) => pod.spec?.priority ?? 0;

export const prioritySort: QueueSortPlugin = {
  name: sortName,
  precedes: (a, b) => (priorityOf(a) !== priorityOf(b) ? priorityOf(a) > priorityOf(b) : a.since < b.since),
};

/** Undefined for the usual order. */
export function queueSortOf(
  profiles: readonly { readonly plugins?: Points | undefined }[],
  { queueSorts = [] }: Available,
  where: string,
): QueueSortPlugin | undefined {
  const known = [prioritySort, ...queueSorts];
  const isKnown = ({ name }: { readonly name: string }) => known.some((plugin) => plugin.name === name);
  const [first, ...others] = profiles.map(({ plugins }, index) => {
    const place = `${where}.profiles[${index}].plugins.queueSort`;
    if (!plugins) return { place, name: sortName };
    const set = { multiPoint: plugins.multiPoint, point: plugins.queueSort };
    const names = new Set(choicesAt([{ name: sortName }], set, isKnown).map(({ name }) => name));
    if (names.size !== 1)
      throw new Fault("invalid", `${place}: exactly one queue sort plugin can be enabled, not ${names.size}`);
    return { place, name: [...names][0] ?? sortName };
  });
  for (const { place, name } of others)
    if (name !== first?.name) throw new Fault("invalid", `${place} must be the same for all profiles`);
  return first && first.name !== sortName ? find(known, first.name, first.place) : undefined;
}
