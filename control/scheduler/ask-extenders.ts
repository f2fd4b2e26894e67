// What all extenders that are interested in a pod say together, one after another: each is asked about what the others left.

import type { Call } from "../../plugins/kit/base/call.ts";
import type { Log } from "../../plugins/kit/base/log.ts";
import type { Pod } from "../../plugins/kit/kube/objects/types.ts";
import type { NodeView } from "../../plugins/kit/contracts/scheduling.ts";
import type { Feasible } from "./decide.ts";
import type { Extender, Victims } from "./extender.ts";
import { type Candidate, candidateOf } from "./preemption.ts";

/** Stands among the plugins that said no. */
export const extenderPlugin = "Extender";

export interface AskOptions {
  readonly pod: Pod;
  readonly extenders: readonly Extender[];
  readonly log: Log;
}

/** The nodes that are left; why others are not goes to the refusals. Throws when one fails that may not. */
export async function filterByExtenders(
  { nodes, refusals }: Pick<Feasible, "nodes" | "refusals">,
  { pod, extenders, log }: AskOptions,
  call: Call,
): Promise<NodeView[]> {
  let left = [...nodes];
  for (const extender of extenders) {
    if (left.length === 0) break;
    if (!extender.does("filter")) continue;
    const asked = left.map(({ node }) => node);
    const result = await orIgnored(extender, log, call, () => extender.filter(pod, asked, call));
    if (!result) continue;
    const kept = new Set(result.nodeNames);
    for (const { name } of left) {
      if (kept.has(name)) continue;
      const { reason, final } = result.failed.get(name) ?? { reason: "", final: false };
      refusals.add(name, { plugin: extenderPlugin, reasons: reason ? [reason] : [], final });
    }
    left = left.filter(({ name }) => kept.has(name));
  }
  return left;
}

/** Points by node, summed; one that fails gives none. */
export async function pointsFromExtenders(
  nodes: readonly NodeView[],
  { pod, extenders, log }: AskOptions,
  call: Call,
): Promise<Map<string, number>> {
  const total = new Map<string, number>();
  const asked = extenders.filter((extender) => extender.does("prioritize"));
  const answers = await Promise.all(
    asked.map(async (extender) => {
      try {
        const views = nodes.map(({ node }) => node);
        return await extender.prioritize(pod, views, call);
      } catch (error) {
        if (call.signal.aborted) throw error;
        log.info({ err: error, extender: extender.url }, "an extender gave no points");
        return undefined;
      }
    }),
  );
  for (const points of answers)
    for (const [name, given] of points ?? []) total.set(name, (total.get(name) ?? 0) + given);
  return total;
}

export async function candidatesFromExtenders(
  candidates: readonly Candidate[],
  podsOn: (nodeName: string) => readonly Pod[] | undefined,
  { pod, extenders, log }: AskOptions,
  call: Call,
): Promise<Candidate[]> {
  let left: ReadonlyMap<string, Victims> = new Map(
    candidates.map(({ nodeName, victims, violations }) => [nodeName, { pods: victims, violations }]),
  );
  for (const extender of extenders) {
    if (left.size === 0) break;
    if (!extender.does("preempt")) continue;
    const before = left;
    left = (await orIgnored(extender, log, call, () => extender.preempt(pod, before, podsOn, call))) ?? before;
  }
  return [...left].map(([nodeName, { pods, violations }]) => candidateOf(nodeName, pods, violations));
}

/** Undefined when it failed and may. */
async function orIgnored<T>(extender: Extender, log: Log, call: Call, ask: () => Promise<T>): Promise<T | undefined> {
  try {
    return await ask();
  } catch (error) {
    if (!extender.isIgnorable || call.signal.aborted) throw error;
    log.info({ err: error, extender: extender.url }, "an extender that may fail was passed over");
    return undefined;
  }
}
