// The points of a profile at which plugins are turned on and off, and what that means for each: `multiPoint` is for all at once,
// and what a point itself says comes after it.

import * as check from "../../plugins/kit/base/config-check.ts";
import { Fault } from "../../plugins/kit/base/fault.ts";
import type { PlacementPlugin, PlacementSteps } from "../../plugins/kit/contracts/scheduling.ts";
import { type Choice, find } from "./choose-plugins.ts";
import type { Available } from "./profile.ts";
import { binderName, isElsewhere } from "./upstream-names.ts";

const names = check.withDefault(
  check.listOf(check.object({ name: check.string, weight: check.optional(check.integer({ min: 0, max: 1_000_000 })) })),
  [],
);
const pluginSet = check.withDefault(check.object({ enabled: names, disabled: names }), { enabled: [], disabled: [] });
type PluginSet = ReturnType<typeof pluginSet>;

/** A plugin prepares at these what it does at another point: one is not taken away without the other. */
const partOf = { preFilter: "filter", preScore: "score" } as const;
const stepsByPoint = {
  reserve: ["reserve", "unreserve"],
  permit: ["permit"],
  preBind: ["beforeBind"],
  bind: ["bind"],
  postBind: ["bound"],
} as const satisfies Record<string, readonly (keyof PlacementSteps)[]>;
type PlacementPoint = keyof typeof stepsByPoint;
const placementPoints = Object.keys(stepsByPoint) as PlacementPoint[];
const pointNames = [
  "multiPoint",
  "preEnqueue",
  "queueSort",
  "preFilter",
  "filter",
  "postFilter",
  "preScore",
  "score",
  ...placementPoints,
] as const;

export type Points = Readonly<Record<(typeof pointNames)[number], PluginSet>>;

export const pointsCheck: check.Check<Points> = (raw, where) =>
  check.checkSettings(raw, Object.fromEntries(pointNames.map((name) => [name, pluginSet])), where) as Points;

/** The usual plugins of a point without those turned off, then those turned on. */
export function choicesAt(
  usual: readonly Choice[],
  { multiPoint, point }: { multiPoint: PluginSet; point: PluginSet },
  isMeant: (choice: Choice) => boolean,
): Choice[] {
  return [
    ...without([...without(usual, multiPoint.disabled), ...multiPoint.enabled.filter(isMeant)], point.disabled),
    ...point.enabled,
  ];
}

function without(choices: readonly Choice[], disabled: readonly Choice[]): Choice[] {
  const off = new Set(disabled.map(({ name }) => name));
  return off.has("*") ? [] : choices.filter(({ name }) => !off.has(name));
}

/** What would only half be taken away is refused. */
export function refuseHalves(points: Points, available: Available, where: string): void {
  const isOff = (set: PluginSet, name: string) =>
    set.disabled.some((one) => one.name === name || one.name === "*") && !set.enabled.some((one) => one.name === name);
  const refuse = (point: string, name: string, other: string) => {
    throw new Fault("invalid", `${where}.${point}: "${name}" cannot be taken away here and stay at ${other}`);
  };
  for (const [point, other] of Object.entries(partOf) as ["preFilter", "filter"][])
    for (const { name } of points[point].disabled)
      if (!isOff(points[other], name) && !isOff(points.multiPoint, name)) refuse(point, name, other);
  const stepping = available.filters.filter((plugin) => placementPoints.some((point) => hasStep(plugin, point)));
  for (const point of placementPoints)
    for (const { name } of points[point].disabled)
      for (const filter of stepping)
        if ((name === filter.name || name === "*") && hasStep(filter, point))
          if (!isOff(points.filter, filter.name) && !isOff(points.multiPoint, filter.name))
            refuse(point, filter.name, "filter");
  if (points.preEnqueue.disabled.length > 0)
    throw new Fault("invalid", `${where}.preEnqueue: nothing can be taken away from this point here`);
}

const hasStep = (plugin: PlacementSteps, point: PlacementPoint) =>
  stepsByPoint[point].some((step) => plugin[step] !== undefined);

/** Each plugin with the steps that the profile leaves it. */
export function chosenPlacement(
  plugins: readonly PlacementPlugin[],
  points: Points,
  available: Available,
  where: string,
): PlacementPlugin[] {
  const usual = plugins.filter((plugin) => !plugin.needsArguments);
  const on = new Map(
    placementPoints.map((point) => {
      const isMeant = ({ name }: Choice) => plugins.some((plugin) => plugin.name === name);
      const choices = choicesAt(usual, { multiPoint: points.multiPoint, point: points[point] }, isMeant);
      const isFilter = (name: string) => available.filters.some((filter) => filter.name === name);
      for (const { name } of points[point].enabled)
        if (!isElsewhere(name) && !isFilter(name)) find(plugins, name, `${where}.${point}`);
      return [point, new Set(choices.map(({ name }) => name))];
    }),
  );
  return plugins
    .map((plugin) =>
      withSteps(
        plugin,
        placementPoints.filter((point) => on.get(point)?.has(plugin.name)),
      ),
    )
    .filter((plugin) => placementPoints.some((point) => hasStep(plugin, point)));
}

function withSteps(plugin: PlacementPlugin, points: readonly PlacementPoint[]): PlacementPlugin {
  const steps = points.flatMap((point) => stepsByPoint[point]);
  const own = steps.flatMap((step) => (plugin[step] ? [[step, plugin[step].bind(plugin)] as const] : []));
  return { name: plugin.name, ...(plugin.retryOn ? { retryOn: plugin.retryOn } : {}), ...Object.fromEntries(own) };
}

/** False where the API's own way was taken away; somebody else must be there to bind then. */
export function bindsByApi(points: Points, placement: readonly PlacementPlugin[], where: string): boolean {
  const { multiPoint, bind } = points;
  const choices = choicesAt([{ name: binderName }], { multiPoint, point: bind }, ({ name }) => name === binderName);
  if (choices.some(({ name }) => name === binderName)) return true;
  if (placement.some((plugin) => plugin.bind)) return false;
  throw new Fault("invalid", `${where}.bind: at least one bind plugin is needed`);
}
