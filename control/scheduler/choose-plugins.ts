// Plugins by the names that a configuration gives them, with their arguments and weights.

import { Fault } from "../../plugins/kit/base/fault.ts";
import { nearest } from "../../plugins/kit/base/nearest.ts";
import type { FilterPlugin, ScorePlugin } from "../../plugins/kit/contracts/scheduling.ts";
import type { Available, Profile } from "./profile.ts";

/** What a profile tells a plugin, and where it stands in the configuration. */
export interface Arguments {
  readonly raw: unknown;
  readonly where: string;
}

export interface Choice {
  readonly name: string;
  readonly weight?: number | undefined;
  readonly args?: Arguments | undefined;
}

/** In the order the plugins have among themselves, whatever order they are named in. */
export function chosenFilters(choices: readonly Choice[], available: Available, where: string): FilterPlugin[] {
  for (const { name } of choices) find(available.filters, name, where);
  return available.filters.flatMap((plugin) => {
    const mine = choices.filter(({ name }) => name === plugin.name);
    // Each with arguments of its own stands for itself.
    const told = plugin.needsArguments ? mine : mine.slice(0, 1);
    return told.map(({ args }) => configured(plugin, args, where));
  });
}

/** The last weight given to a plugin counts; each with arguments of its own stands for itself. */
export function chosenScores(choices: readonly Choice[], available: Available, where: string): Profile["scores"] {
  const chosen = new Map<ScorePlugin, { readonly plugin: ScorePlugin; readonly weight: number }>();
  for (const { name, weight, args } of choices) {
    const plugin = find(available.scores, name, where);
    const own = configured(plugin, args, where);
    chosen.set(plugin.needsArguments ? own : plugin, { plugin: own, weight: weight || 1 });
  }
  return [...chosen.values()];
}

export function configured<
  T extends { name: string; needsArguments?: boolean; withArguments?(raw: unknown, where: string): T },
>(plugin: T, args: Arguments | undefined, where: string): T {
  if (!args && !plugin.needsArguments) return plugin;
  return plugin.withArguments?.(args?.raw ?? {}, args?.where ?? `${where}: arguments of ${plugin.name}`) ?? plugin;
}

export function find<T extends { readonly name: string }>(plugins: readonly T[], name: string, where: string): T {
  const found = plugins.find((plugin) => plugin.name === name);
  if (found) return found;
  const known = plugins.map((plugin) => plugin.name);
  const near = nearest(name, known);
  const hint = near ? `; did you mean "${near}"?` : `; known are ${known.join(", ")}`;
  throw new Fault("invalid", `${where}: there is no plugin "${name}" here${hint}`);
}
