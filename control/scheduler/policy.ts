// The policy file of early schedulers: predicates and priorities with weights, by the names they had then.

import * as check from "../../plugins/kit/config-check.ts";
import { Fault } from "../../plugins/kit/fault.ts";
import { type Choice, chosenFilters, chosenScores } from "./choose-plugins.ts";
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
};

export function isPolicy(raw: unknown): boolean {
  return typeof raw === "object" && raw !== null && (raw as { kind?: unknown }).kind === "Policy";
}

/** A list that is not there means the usual ones; an empty list means none but the mandatory. */
export function profileFromPolicy(raw: unknown, available: Available, where: string): Profile {
  const policy = check.checkSettings(raw, shape, where);
  const usual = available.filters.filter((plugin) => !plugin.withArguments);
  const filters: Choice[] | undefined = policy.predicates?.flatMap(({ name, argument }, index) => {
    if (argument?.labelsPresence) return [{ name: "NodeLabelPresence", args: argument.labelsPresence }];
    if (argument?.serviceAffinity) return [{ name: "ServiceAffinity", args: argument.serviceAffinity }];
    const plugins = Object.hasOwn(predicates, name) ? predicates[name] : undefined;
    if (!plugins) throw new Fault("invalid", `${where}.predicates[${index}]: there is no predicate "${name}"`);
    return plugins.map((plugin) => ({ name: plugin }));
  });
  const scores: Choice[] | undefined = policy.priorities?.flatMap(({ name, weight, argument }, index) => {
    if (argument) return [{ name: "NodeLabelPreference", weight, args: argument.labelPreference }];
    if (!Object.hasOwn(priorities, name))
      throw new Fault("invalid", `${where}.priorities[${index}]: there is no priority "${name}"`);
    const plugin = priorities[name];
    return plugin ? [{ name: plugin, weight }] : [];
  });
  const usualScores = available.scores.filter(({ weight, withArguments }) => weight > 0 && !withArguments);
  return {
    schedulerName: defaultSchedulerName,
    filters: chosenFilters([...mandatory.map((name) => ({ name })), ...(filters ?? usual)], available, where),
    scores: chosenScores(scores ?? usualScores, available, where),
  };
}
