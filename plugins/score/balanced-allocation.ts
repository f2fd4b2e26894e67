// BalancedAllocation: prefers the node whose resources would be used to about the same share.

import { checkSettings } from "../kit/base/config-check.ts";
import { Fault } from "../kit/base/fault.ts";
import { podRequests } from "../kit/kube/pod-requests.ts";
import type { Plugin } from "../kit/base/plugin.ts";
import { type Amounts, type ScorePlugin, scoreKind } from "../kit/contracts/scheduling.ts";
import { type Counted, countedFor, cpuAndMemory, type ResourceWeight, resourceList } from "./allocated.ts";

/** How far the shares are from each other: their standard deviation. Of two it is half of what is between them. */
function deviation(allocatable: Amounts, taken: Amounts, counted: readonly Counted[]): number {
  const shareOf = ({ name, own }: Counted) => {
    const most = allocatable.get(name);
    return most ? Math.min(1, ((taken.get(name) ?? 0) + own) / most) : undefined;
  };
  if (counted.length === 2) {
    const first = shareOf(counted[0] as Counted);
    const second = shareOf(counted[1] as Counted);
    return first === undefined || second === undefined ? 0 : Math.abs(first - second) / 2;
  }
  const shares = counted.map(shareOf).filter((share) => share !== undefined);
  if (shares.length < 2) return 0;
  const mean = shares.reduce((sum, share) => sum + share, 0) / shares.length;
  return Math.sqrt(shares.reduce((sum, share) => sum + (share - mean) ** 2, 0) / shares.length);
}

const scoreOf = (resources: readonly ResourceWeight[]): ScorePlugin => ({
  name: "BalancedAllocation",
  weight: 1,
  withArguments(raw, where) {
    const given = checkSettings(raw, { resources: resourceList({ maxWeight: 1 }) }, where).resources;
    const seen = new Set<string>();
    for (const [index, { name }] of given.entries()) {
      if (seen.has(name)) throw new Fault("invalid", `${where}.resources[${index}].name "${name}" is there already`);
      seen.add(name);
    }
    return scoreOf(given);
  },
  prepare: (pod) => countedFor(resources, podRequests(pod)),
  score: (_pod, { allocatable, requested }, prepared) =>
    Math.floor((1 - deviation(allocatable, requested, prepared as Counted[])) * 100),
});

export const balancedAllocation: Plugin<ScorePlugin> = {
  kind: scoreKind,
  name: "BalancedAllocation",
  open: () => scoreOf(cpuAndMemory),
};
