// The policy file of early schedulers: predicates and priorities with weights, by the names they had then.

import * as check from "../../plugins/kit/base/config-check.ts";
import { Fault } from "../../plugins/kit/base/fault.ts";
import { type Arguments, type Choice, chosenFilters, chosenScores } from "./choose-plugins.ts";
import { extendersFrom, extendersShape } from "./extender-config.ts";
import type { Extender } from "./extender.ts";
import { type Available, defaultSchedulerName, type Profile } from "./profile.ts";

const predicates: Readonly<Record<string, readonly string[]>> = {
  CheckNodeCondition: ["TaintToleration"],
  CheckNodeDiskPressure: ["TaintToleration"],
  CheckNodeMemoryPressure: ["TaintToleration"],
  CheckNodePIDPressure: ["TaintToleration"],
  CheckNodeUnschedulable: ["NodeUnschedulable"],
  CheckVolumeBinding: ["VolumeBinding"],
  EvenPodsSpread: ["PodTopologySpread"],
  GeneralPredicates: ["NodeResourcesFit", "NodeName", "NodePorts", "NodeAffinity"],
  HostName: ["NodeName"],
  MatchInterPodAffinity: ["InterPodAffinity"],
  MatchNodeSelector: ["NodeAffinity"],
  MaxCSIVolumeCountPred: ["NodeVolumeLimits"],
  NoDiskConflict: ["VolumeRestrictions"],
  NoVolumeZoneConflict: ["VolumeZone"],
  PodFitsHostPorts: ["NodePorts"],
  PodFitsPorts: ["NodePorts"],
  PodFitsResources: ["NodeResourcesFit"],
  PodToleratesNodeTaints: ["TaintToleration"],
};
/** These no policy could turn off. */
const mandatory = ["NodeUnschedulable", "TaintToleration"];
const priorities: Readonly<Record<string, string | undefined>> = {
  BalancedResourceAllocation: "BalancedAllocation",
  EqualPriority: undefined,
  EvenPodsSpreadPriority: "PodTopologySpread",
  ImageLocalityPriority: "ImageLocality",
  InterPodAffinityPriority: "InterPodAffinity",
  LeastRequestedPriority: "LeastAllocated",
  MostRequestedPriority: "MostAllocated",
  NodeAffinityPriority: "NodeAffinity",
  SelectorSpreadPriority: "PodTopologySpread",
  TaintTolerationPriority: "TaintToleration",
};
const anything: check.Check<unknown> = (raw) => raw;
const shape = {
  apiVersion: check.optional(check.string),
  kind: check.oneOf("Policy"),
  predicates: check.optional(
    check.listOf(
      check.object({
        name: check.string,
        argument: check.optional(
          check.object({ labelsPresence: check.optional(anything), serviceAffinity: check.optional(anything) }),
        ),
      }),
    ),
  ),
  priorities: check.optional(
    check.listOf(
      check.object({
        name: check.string,
        weight: check.integer({ min: 1, max: 1_000_000 }),
        argument: check.optional(check.object({ labelPreference: anything })),
      }),
    ),
  ),
  hardPodAffinitySymmetricWeight: check.withDefault(check.integer({ min: 0, max: 100 }), 1),
  extenders: extendersShape,
};

export function isPolicy(raw: unknown): boolean {
  return typeof raw === "object" && raw !== null && (raw as { kind?: unknown }).kind === "Policy";
}

/** A list that is not there means the usual ones; an empty list means none but the mandatory. */
export function configurationFromPolicy(
  raw: unknown,
  available: Available,
  where: string,
): { profiles: Profile[]; extenders?: Extender[] } {
  const policy = check.checkSettings(raw, shape, where);
  const { extenders, ignoredResources } = extendersFrom(policy.extenders, `${where}.extenders`);
  const args = new Map<string, Arguments>([
    ["NodeResourcesFit", { raw: { ignoredResources }, where: `${where}.extenders` }],
    ["InterPodAffinity", { raw: { hardPodAffinityWeight: policy.hardPodAffinitySymmetricWeight }, where }],
  ]);
  const told = (choice: Choice): Choice => ({ ...choice, args: choice.args ?? args.get(choice.name) });
  const usual = available.filters.filter((plugin) => !plugin.needsArguments).map(({ name }) => ({ name }));
  const filters: Choice[] | undefined = policy.predicates?.flatMap(({ name, argument }, index) => {
    if (argument?.labelsPresence)
      return [
        {
          name: "NodeLabelPresence",
          args: { raw: argument.labelsPresence, where: `${where}.predicates[${index}].argument.labelsPresence` },
        },
      ];
    if (argument?.serviceAffinity)
      return [
        {
          name: "ServiceAffinity",
          args: { raw: argument.serviceAffinity, where: `${where}.predicates[${index}].argument.serviceAffinity` },
        },
      ];
    const plugins = Object.hasOwn(predicates, name) ? predicates[name] : undefined;
    if (!plugins) throw new Fault("invalid", `${where}.predicates[${index}]: there is no predicate "${name}"`);
    return plugins.map((plugin) => ({ name: plugin }));
  });
  const scores: Choice[] | undefined = policy.priorities?.flatMap(({ name, weight, argument }, index) => {
    if (argument) {
      const place = `${where}.priorities[${index}].argument.labelPreference`;
      return [{ name: "NodeLabelPreference", weight, args: { raw: argument.labelPreference, where: place } }];
    }
    if (!Object.hasOwn(priorities, name))
      throw new Fault("invalid", `${where}.priorities[${index}]: there is no priority "${name}"`);
    const plugin = priorities[name];
    return plugin ? [{ name: plugin, weight }] : [];
  });
  const usualScores = available.scores
    .filter(({ weight, needsArguments }) => weight > 0 && !needsArguments)
    .map(({ name, weight }) => ({ name, weight }));
  const asked: Choice[] = [...mandatory.map((name) => ({ name })), ...(filters ?? usual)];
  const profile: Profile = {
    schedulerName: defaultSchedulerName,
    filters: chosenFilters(asked.map(told), available, where),
    scores: chosenScores((scores ?? usualScores).map(told), available, where),
  };
  return { profiles: [profile], ...(extenders.length === 0 ? {} : { extenders }) };
}
