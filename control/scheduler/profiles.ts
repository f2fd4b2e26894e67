// The profiles of a kube-scheduler configuration: which plugins are on, off and how they weigh, by upstream's names or our own.

import * as check from "../../plugins/kit/config-check.ts";
import { Fault } from "../../plugins/kit/fault.ts";
import { type Choice, chosenFilters, chosenScores, find } from "./choose-plugins.ts";
import { type Available, defaultProfile, defaultSchedulerName, type Profile } from "./profile.ts";
import { isElsewhere, ownScore, preemptionName, unusualArgument } from "./upstream-names.ts";

const anything: check.Check<unknown> = (raw) => raw;
const names = check.withDefault(
  check.listOf(check.object({ name: check.string, weight: check.optional(check.integer({ min: 0, max: 1_000_000 })) })),
  [],
);
const nothing = { enabled: [], disabled: [] };
const pluginSet = check.withDefault(check.object({ enabled: names, disabled: names }), nothing);
/** `multiPoint` is for all points at once. The others have one way each here: they may be named, and not taken away. */
const fixedPoints = [
  "preEnqueue",
  "queueSort",
  "preFilter",
  "preScore",
  "reserve",
  "permit",
  "preBind",
  "bind",
] as const;
const points = {
  multiPoint: pluginSet,
  filter: pluginSet,
  score: pluginSet,
  postFilter: pluginSet,
  postBind: pluginSet,
  ...(Object.fromEntries(fixedPoints.map((point) => [point, pluginSet])) as Record<
    (typeof fixedPoints)[number],
    typeof pluginSet
  >),
};
type Points = { [K in keyof typeof points]: ReturnType<(typeof points)[K]> };

export const profileShape = check.object({
  schedulerName: check.withDefault(check.string, defaultSchedulerName),
  percentageOfNodesToScore: check.optional(check.integer({ min: 0, max: 100 })),
  plugins: check.optional(check.object(points)),
  pluginConfig: check.withDefault(check.listOf(check.object({ name: check.string, args: anything })), []),
});
type RawProfile = Partial<ReturnType<typeof profileShape>>;

export function profilesFrom(
  raw: readonly RawProfile[],
  options: {
    readonly available: Available;
    readonly where: string;
    readonly percentageOfNodesToScore?: number | undefined;
  },
): Profile[] {
  const { available, where } = options;
  if (raw.length === 0) throw new Fault("invalid", `${where}.profiles must hold at least one profile`);
  const seen = new Set<string>();
  return raw.map(({ schedulerName = defaultSchedulerName, plugins, pluginConfig = [], ...profile }, index) => {
    const place = `${where}.profiles[${index}]`;
    if (seen.has(schedulerName))
      throw new Fault("invalid", `${place}: there is a profile of the name "${schedulerName}" already`);
    seen.add(schedulerName);
    const percent = profile.percentageOfNodesToScore ?? options.percentageOfNodesToScore;
    const args = new Map(pluginConfig.map((config) => [config.name, withoutType(config.args)]));
    for (const [name, given] of args) checkArguments(name, given, available, `${place}.pluginConfig`);
    return {
      schedulerName,
      ...choose(plugins ?? (check.checkSettings({}, points) as Points), args, available, place),
      ...(percent ? { percentageOfNodesToScore: percent } : {}),
    };
  });
}

/** What nobody here would heed is refused. */
function checkArguments(name: string, args: unknown, { filters, scores }: Available, where: string): void {
  const isKnown = isElsewhere(name) || ownScore(name) !== undefined;
  const plugin = isKnown ? undefined : find([...filters, ...scores], name, where);
  if (plugin?.withArguments || name === "NodeResourcesFit") return;
  const unusual = unusualArgument(name, args);
  if (unusual) throw new Fault("invalid", `${where}: ${name} cannot be told another ${unusual} here`);
}

function choose(plugins: Points, args: ReadonlyMap<string, unknown>, available: Available, place: string) {
  const { multiPoint, filter, score, postFilter } = plugins;
  for (const point of fixedPoints)
    if (plugins[point].disabled.length > 0)
      throw new Fault("invalid", `${place}.plugins.${point}: nothing can be taken away from this point here`);
  const base = defaultProfile(available);
  const isFilter = ({ name }: Choice) => available.filters.some((plugin) => plugin.name === name);
  const isScore = ({ name }: Choice) => available.scores.some((plugin) => plugin.name === (ownScore(name) ?? name));
  for (const { name } of multiPoint.enabled)
    if (!isElsewhere(name) && !isScore({ name })) find(available.filters, name, `${place}.plugins.multiPoint`);
  const off = (more: readonly Choice[]) => [...multiPoint.disabled, ...more];
  const withArgs = (choice: Choice): Choice => ({ ...choice, args: args.get(choice.name) });
  const filters = [
    ...kept(base.filters, off(filter.disabled)),
    ...multiPoint.enabled.filter(isFilter),
    ...filter.enabled.filter(({ name }) => !isElsewhere(name)),
  ];
  const usual = base.scores.map(({ plugin, weight }) => ({ name: plugin.name, weight }));
  const scores = [
    ...kept(usual, off(score.disabled).map(asOwn)),
    ...[...multiPoint.enabled.filter(isScore), ...score.enabled].map(asOwn),
  ];
  const strategy = args.get("NodeResourcesFit");
  return {
    filters: chosenFilters(filters.map(withArgs), available, place),
    scores: chosenScores(withStrategy(scores, strategy, place).map(withArgs), available, place),
    ...(kept([{ name: preemptionName }], off(postFilter.disabled)).length +
      postFilter.enabled.filter(({ name }) => name === preemptionName).length >
    0
      ? {}
      : { preempts: false }),
  };
}

const asOwn = (choice: Choice): Choice => ({ ...choice, name: ownScore(choice.name) ?? choice.name });

/** Upstream's one plugin for resources judges by the strategy that its arguments name; here each strategy is a score. */
function withStrategy(scores: readonly Choice[], raw: unknown, place: string): Choice[] {
  if (raw === undefined) return [...scores];
  const strategy = check.object({
    type: check.oneOf("LeastAllocated", "MostAllocated"),
    resources: check.optional(
      check.that(
        check.listOf(check.object({ name: check.oneOf("cpu", "memory"), weight: check.optional(check.integer()) })),
        (list) => list.length === 2 && list.every(({ weight }) => (weight ?? 1) === (list[0]?.weight ?? 1)),
        "cpu and memory with the same weight, which is what is judged here",
      ),
    ),
  });
  const shape = { scoringStrategy: check.optional(strategy) };
  const { scoringStrategy } = check.checkSettings(raw, shape, `${place}: arguments of NodeResourcesFit`);
  const type = scoringStrategy?.type ?? "LeastAllocated";
  return scores.map((choice) => (choice.name === "LeastAllocated" ? { ...choice, name: type } : choice));
}

/** Arguments may say what they are. */
function withoutType(args: unknown): unknown {
  if (typeof args !== "object" || args === null || Array.isArray(args)) return args;
  const { apiVersion: _version, kind: _kind, ...rest } = args as Record<string, unknown>;
  return Object.keys(rest).length > 0 ? rest : undefined;
}

function kept(base: readonly Choice[], disabled: readonly Choice[]): Choice[] {
  const off = new Set(disabled.map(({ name }) => name));
  return off.has("*") ? [] : base.filter(({ name }) => !off.has(name)).map(({ name, weight }) => ({ name, weight }));
}
