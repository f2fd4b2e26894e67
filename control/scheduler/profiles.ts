// Profiles from the scheduler's configuration, in the form that kube-scheduler reads, or from a policy file of the early days.
// Without either there is a single profile of everything.

import * as check from "../../plugins/kit/config-check.ts";
import { Fault } from "../../plugins/kit/fault.ts";
import { type Choice, chosenFilters, chosenScores, find } from "./choose-plugins.ts";
import { isPolicy, profileFromPolicy } from "./policy.ts";
import { type Available, defaultProfile, defaultSchedulerName, type Profile } from "./profile.ts";

const names = check.withDefault(
  check.listOf(check.object({ name: check.string, weight: check.optional(check.integer({ min: 0, max: 1_000_000 })) })),
  [],
);
const pluginSet = check.withDefault(check.object({ enabled: names, disabled: names }), { enabled: [], disabled: [] });
const anything: check.Check<unknown> = (raw) => raw;
const shape = {
  apiVersion: check.optional(check.string),
  kind: check.optional(check.oneOf("KubeSchedulerConfiguration")),
  profiles: check.listOf(
    check.object({
      schedulerName: check.withDefault(check.string, defaultSchedulerName),
      plugins: check.withDefault(check.object({ filter: pluginSet, score: pluginSet }), {
        filter: { enabled: [], disabled: [] },
        score: { enabled: [], disabled: [] },
      }),
      pluginConfig: check.withDefault(check.listOf(check.object({ name: check.string, args: anything })), []),
    }),
  ),
};

/** The profiles of a configuration or policy document; Fault `invalid` names what is wrong in it. */
export function profilesFrom(raw: unknown, available: Available, where: string): Profile[] {
  if (raw === undefined) return [defaultProfile(available)];
  if (isPolicy(raw)) return [profileFromPolicy(raw, available, where)];
  const { profiles } = check.checkSettings(raw, shape, where);
  if (profiles.length === 0) throw new Fault("invalid", `${where}.profiles must hold at least one profile`);
  const seen = new Set<string>();
  return profiles.map(({ schedulerName, plugins, pluginConfig }, index) => {
    const place = `${where}.profiles[${index}]`;
    if (seen.has(schedulerName))
      throw new Fault("invalid", `${place}: there is a profile of the name "${schedulerName}" already`);
    seen.add(schedulerName);
    const args = new Map(pluginConfig.map((config) => [config.name, config.args]));
    for (const name of args.keys()) find([...available.filters, ...available.scores], name, `${place}.pluginConfig`);
    const base = defaultProfile(available);
    const withArgs = (choice: Choice) => ({ ...choice, args: args.get(choice.name) });
    return {
      schedulerName,
      filters: chosenFilters(
        [...kept(base.filters, plugins.filter.disabled), ...plugins.filter.enabled].map(withArgs),
        available,
        place,
      ),
      scores: chosenScores(
        [
          ...kept(
            base.scores.map(({ plugin, weight }) => ({ name: plugin.name, weight })),
            plugins.score.disabled,
          ),
          ...plugins.score.enabled,
        ].map(withArgs),
        available,
        place,
      ),
    };
  });
}

function kept(base: readonly Choice[], disabled: readonly Choice[]): Choice[] {
  const off = new Set(disabled.map(({ name }) => name));
  return off.has("*") ? [] : base.filter(({ name }) => !off.has(name)).map(({ name, weight }) => ({ name, weight }));
}
