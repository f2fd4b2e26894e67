// The profiles of a kube-scheduler configuration: which plugins are on, off, how they weigh and what they are told, by upstream's
// names or our own.

import * as check from "../../plugins/kit/base/config-check.ts";
import { Fault } from "../../plugins/kit/base/fault.ts";
import { type Arguments, type Choice, chosenFilters, chosenScores, configured, find } from "./choose-plugins.ts";
import { bindsByApi, choicesAt, chosenPlacement, type Points, pointsCheck, refuseHalves } from "./plugin-points.ts";
import { type Available, type CandidateCount, defaultProfile, defaultSchedulerName, type Profile } from "./profile.ts";
import { isElsewhere, ownScore, preemptionName } from "./upstream-names.ts";

const anything: check.Check<unknown> = (raw) => raw;

export const profileShape = check.object({
  schedulerName: check.withDefault(check.string, defaultSchedulerName),
  percentageOfNodesToScore: check.optional(check.integer({ min: 0, max: 100 })),
  plugins: check.optional(pointsCheck),
  pluginConfig: check.withDefault(check.listOf(check.object({ name: check.string, args: anything })), []),
});
type RawProfile = Partial<ReturnType<typeof profileShape>>;

const fitName = "NodeResourcesFit";

export interface ProfilesOptions {
  readonly available: Available;
  readonly where: string;
  readonly percentageOfNodesToScore?: number | undefined;
  /** Extended resources that somebody else counts, in every profile. */
  readonly ignoredResources?: readonly string[];
}

export function profilesFrom(raw: readonly RawProfile[], options: ProfilesOptions): Profile[] {
  const { available, where } = options;
  if (raw.length === 0) throw new Fault("invalid", `${where}.profiles must hold at least one profile`);
  const seen = new Set<string>();
  return raw.map(({ schedulerName = defaultSchedulerName, plugins, pluginConfig = [], ...profile }, index) => {
    const place = `${where}.profiles[${index}]`;
    if (seen.has(schedulerName))
      throw new Fault("invalid", `${place}: there is a profile of the name "${schedulerName}" already`);
    seen.add(schedulerName);
    const percent = profile.percentageOfNodesToScore ?? options.percentageOfNodesToScore;
    const args = argumentsOf(pluginConfig, `${place}.pluginConfig`);
    for (const [name, given] of args) checkArguments(name, given, available);
    return {
      schedulerName,
      ...choose(plugins ?? pointsCheck({}, place), ignoring(args, options.ignoredResources ?? []), available, place),
      ...(percent ? { percentageOfNodesToScore: percent } : {}),
    };
  });
}

function argumentsOf(config: readonly { name: string; args: unknown }[], where: string): Map<string, Arguments> {
  const args = new Map<string, Arguments>();
  for (const [index, { name, args: raw }] of config.entries()) {
    if (args.has(name)) throw new Fault("invalid", `${where}[${index}] is there already: "${name}"`);
    args.set(name, { raw: withoutType(raw), where: `${where}[${index}].args` });
  }
  return args;
}

/** Arguments may say what they are. */
function withoutType(args: unknown): unknown {
  if (typeof args !== "object" || args === null || Array.isArray(args)) return args ?? {};
  const { apiVersion: _version, kind: _kind, ...rest } = args as Record<string, unknown>;
  return rest;
}

/** Arguments are right, or refused, also where the profile does not use the plugin; what nobody here would heed is refused too. */
function checkArguments(name: string, args: Arguments, available: Available): void {
  if (name === preemptionName) return void candidatesFrom(args);
  if (name === fitName) scoringStrategy(args);
  const { raw, where } = name === fitName ? withoutStrategy(args) : args;
  const plugins = [...available.filters, ...available.scores, ...(available.placement ?? [])];
  const known = isElsewhere(name) ? [] : plugins.filter((plugin) => plugin.name === (ownScoreOnly(name) ?? name));
  if (known.length === 0 && !isElsewhere(name)) find(plugins, name, where.slice(0, -".args".length));
  for (const plugin of known) plugin.withArguments?.(raw, where);
  if (!known.some((plugin) => plugin.withArguments)) check.checkSettings(raw, {}, where);
}

/** The name of the score where upstream's plugin of this name is nothing but a score. */
const ownScoreOnly = (name: string) => (name === fitName ? undefined : ownScore(name));

function ignoring(args: ReadonlyMap<string, Arguments>, resources: readonly string[]): ReadonlyMap<string, Arguments> {
  if (resources.length === 0) return args;
  const { raw, where } = args.get(fitName) ?? { raw: {}, where: "extenders" };
  const told = raw as { ignoredResources?: string[] };
  const ignoredResources = [...(told.ignoredResources ?? []), ...resources];
  return new Map(args).set(fitName, { raw: { ...told, ignoredResources }, where });
}

function choose(points: Points, args: ReadonlyMap<string, Arguments>, available: Available, place: string) {
  const { multiPoint } = points;
  refuseHalves(points, available, `${place}.plugins`);
  const base = defaultProfile(available);
  const isFilter = ({ name }: Choice) => available.filters.some((plugin) => plugin.name === name);
  const isScore = ({ name }: Choice) => available.scores.some((plugin) => plugin.name === (ownScore(name) ?? name));
  const placing = available.placement ?? [];
  for (const { name } of multiPoint.enabled)
    if (!isElsewhere(name) && !isScore({ name }) && !placing.some((plugin) => plugin.name === name))
      find(available.filters, name, `${place}.plugins.multiPoint`);
  const told = (choice: Choice): Choice => ({ ...choice, args: args.get(choice.name) });
  const filters = choicesAt(base.filters.map(byName), { multiPoint, point: points.filter }, isFilter)
    .filter(({ name }) => !isElsewhere(name))
    .map(told)
    .map((choice) =>
      choice.name === fitName && choice.args ? { ...choice, args: withoutStrategy(choice.args) } : choice,
    );
  const usualScores = base.scores.map(({ plugin, weight }) => ({ name: plugin.name, weight }));
  const scores = choicesAt(usualScores, { multiPoint: asOwn(multiPoint), point: asOwn(points.score) }, isScore);
  const chosen = chosenPlacement(
    placing.map((plugin) => (args.has(plugin.name) ? configured(plugin, args.get(plugin.name), place) : plugin)),
    points,
    available,
    `${place}.plugins`,
  );
  const preempts = choicesAt(
    [{ name: preemptionName }],
    { multiPoint, point: points.postFilter },
    ({ name }) => name === preemptionName,
  ).some(({ name }) => name === preemptionName);
  const candidates = args.get(preemptionName);
  return {
    filters: chosenFilters(filters, available, place),
    scores: chosenScores(
      scores.map((choice) => toldScore(choice, args)),
      available,
      place,
    ),
    ...(chosen.length > 0 ? { placement: chosen } : {}),
    ...(bindsByApi(points, chosen, `${place}.plugins`) ? {} : { bindsByApi: false }),
    ...(preempts ? {} : { preempts: false }),
    ...(candidates ? { candidates: candidatesFrom(candidates) } : {}),
  };
}

const byName = ({ name }: { readonly name: string }): Choice => ({ name });

const asOwn = (set: Points["score"]): Points["score"] => {
  const own = ({ name, weight }: Points["score"]["enabled"][number]) => ({ name: ownScore(name) ?? name, weight });
  return { enabled: set.enabled.map(own), disabled: set.disabled.map(own) };
};

/** Upstream's one plugin for resources judges by the strategy that its arguments name; here each strategy is a score. */
function toldScore(choice: Choice, args: ReadonlyMap<string, Arguments>): Choice {
  const fit = args.get(fitName);
  if (choice.name === "LeastAllocated" && fit) {
    const { type, ...strategy } = scoringStrategy(fit);
    return { ...choice, name: type, args: { raw: strategy, where: `${fit.where}.scoringStrategy` } };
  }
  const name = choice.name === "BalancedAllocation" ? "NodeResourcesBalancedAllocation" : choice.name;
  return { ...choice, args: args.get(name) ?? args.get(choice.name) };
}

function scoringStrategy({ raw, where }: Arguments): { type: string; resources?: unknown; shape?: unknown } {
  const shape = {
    type: check.withDefault(
      check.oneOf("LeastAllocated", "MostAllocated", "RequestedToCapacityRatio"),
      "LeastAllocated" as const,
    ),
    resources: check.optional(anything),
    requestedToCapacityRatio: check.optional(check.object({ shape: anything })),
  };
  const given = (raw as { scoringStrategy?: unknown }).scoringStrategy ?? {};
  const { type, resources, requestedToCapacityRatio } = check.checkSettings(given, shape, `${where}.scoringStrategy`);
  const isShaped = type === "RequestedToCapacityRatio";
  return { type, resources, ...(isShaped ? { shape: requestedToCapacityRatio?.shape } : {}) };
}

function withoutStrategy({ raw, where }: Arguments): Arguments {
  if (typeof raw !== "object" || raw === null) return { raw, where };
  const { scoringStrategy: _strategy, ...rest } = raw as Record<string, unknown>;
  return { raw: rest, where };
}

function candidatesFrom({ raw, where }: Arguments): CandidateCount {
  const shape = {
    minCandidateNodesPercentage: check.withDefault(check.integer({ min: 0, max: 100 }), 10),
    minCandidateNodesAbsolute: check.withDefault(check.integer({ min: 0 }), 100),
  };
  const { minCandidateNodesPercentage: percentage, minCandidateNodesAbsolute: absolute } = check.checkSettings(
    raw,
    shape,
    where,
  );
  if (percentage === 0 && absolute === 0)
    throw new Fault("invalid", `${where}.minCandidateNodesPercentage cannot be 0 when minCandidateNodesAbsolute is`);
  return { percentage, absolute };
}
