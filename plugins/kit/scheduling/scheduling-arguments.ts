// The arguments of scheduler plugins that are a filter and a score at once: both read the same ones. The names are those of
// kube-scheduler's configuration.

import * as check from "../base/config-check.ts";
import { Fault } from "../base/fault.ts";
import type { NodeSelectorTerm, PreferredSchedulingTerm } from "../kube/objects/node-affinity.ts";
import { isLabelKey } from "../kube/selector.ts";

const labelKey = check.that(check.string, isLabelKey, "the name of a label");

export const interPodAffinityArguments = {
  hardPodAffinityWeight: check.withDefault(check.integer({ min: 0, max: 100 }), 1),
  ignorePreferredTermsOfExistingPods: check.withDefault(check.boolean, false),
};

const isInteger = (text: string | undefined) => text !== undefined && /^-?\d+$/.test(text);

const expression: check.Check<{ key: string; operator: string; values: string[] }> = (raw, where) => {
  const shape = {
    key: labelKey,
    operator: check.oneOf("In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt"),
    values: check.withDefault(check.listOf(check.string), []),
  };
  const { key, operator, values } = check.object(shape)(raw, where);
  const isFitting =
    operator === "In" || operator === "NotIn"
      ? values.length > 0
      : operator === "Gt" || operator === "Lt"
        ? values.length === 1 && isInteger(values[0])
        : values.length === 0;
  if (!isFitting) throw new Fault("invalid", `${where}.values does not fit the operator ${operator}`);
  return { key, operator, values };
};

const field = check.object({
  key: check.oneOf("metadata.name"),
  operator: check.oneOf("In", "NotIn"),
  values: check.that(check.listOf(check.string), (values) => values.length === 1, "a list of one value"),
});

const term: check.Check<NodeSelectorTerm> = check.object({
  matchExpressions: check.withDefault(check.listOf(expression), []),
  matchFields: check.withDefault(check.listOf(field), []),
});

const preferredTerm: check.Check<PreferredSchedulingTerm> = check.object({
  weight: check.integer({ min: 1, max: 100 }),
  preference: term,
});

export const nodeAffinityArguments = {
  addedAffinity: check.optional(
    check.object({
      requiredDuringSchedulingIgnoredDuringExecution: check.optional(
        check.object({
          nodeSelectorTerms: check.that(check.listOf(term), (terms) => terms.length > 0, "a list of at least one term"),
        }),
      ),
      preferredDuringSchedulingIgnoredDuringExecution: check.optional(check.listOf(preferredTerm)),
    }),
  ),
};

export type DefaultConstraint = ReturnType<typeof defaultConstraint>;

const defaultConstraint = check.object({
  maxSkew: check.integer({ min: 1 }),
  topologyKey: labelKey,
  whenUnsatisfiable: check.oneOf("DoNotSchedule", "ScheduleAnyway"),
  minDomains: check.optional(check.integer({ min: 1 })),
  nodeAffinityPolicy: check.optional(check.oneOf("Honor", "Ignore")),
  nodeTaintsPolicy: check.optional(check.oneOf("Honor", "Ignore")),
  matchLabelKeys: check.optional(check.listOf(labelKey)),
  labelSelector: ((raw, where) => {
    if (raw !== undefined && raw !== null)
      throw new Fault(
        "invalid",
        `${where} cannot be given: which pods are counted follows from what each pod belongs to`,
      );
    return undefined;
  }) satisfies check.Check<undefined>,
});

/** What pods are spread by that say nothing themselves. `System`: over hosts and zones, softly. */
export function podTopologySpreadDefaults(
  raw: unknown,
  where: string,
): { readonly constraints: readonly DefaultConstraint[]; readonly isSystem: boolean } {
  const { defaultConstraints, defaultingType } = check.checkSettings(
    raw,
    {
      defaultConstraints: check.withDefault(check.listOf(defaultConstraint), []),
      defaultingType: check.withDefault(check.oneOf("System", "List"), "System"),
    },
    where,
  );
  const isSystem = defaultingType === "System";
  if (isSystem && defaultConstraints.length > 0)
    throw new Fault("invalid", `${where}.defaultingType must be List when defaultConstraints are given, not "System"`);
  const seen = new Set<string>();
  for (const [index, { topologyKey, whenUnsatisfiable }] of defaultConstraints.entries()) {
    const key = `${topologyKey}, ${whenUnsatisfiable}`;
    if (seen.has(key)) throw new Fault("invalid", `${where}.defaultConstraints[${index}] is there already: {${key}}`);
    seen.add(key);
  }
  return isSystem ? systemSpread : { constraints: defaultConstraints, isSystem };
}

const soft = { whenUnsatisfiable: "ScheduleAnyway", labelSelector: undefined } as const;
const silent = {
  minDomains: undefined,
  nodeAffinityPolicy: undefined,
  nodeTaintsPolicy: undefined,
  matchLabelKeys: undefined,
};

export const systemSpread = {
  constraints: [
    { maxSkew: 3, topologyKey: "kubernetes.io/hostname", ...soft, ...silent },
    { maxSkew: 5, topologyKey: "topology.kubernetes.io/zone", ...soft, ...silent },
  ],
  isSystem: true,
} satisfies ReturnType<typeof podTopologySpreadDefaults>;
