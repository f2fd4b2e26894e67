// The audit policy: its first rule that matches a request says how much of it is recorded. Pure.

import { Fault } from "../../../plugins/kit/base/fault.ts";
import { readYaml } from "../../../plugins/kit/base/yaml.ts";
import type { Attributes } from "../../machinery/attributes.ts";
import { combinedResource, pathMatches } from "../rbac/objects.ts";

type Level = "None" | "Metadata" | "Request" | "RequestResponse";
export type Stage = "RequestReceived" | "ResponseStarted" | "ResponseComplete" | "Panic";

interface PolicyRule {
  level: Level;
  users?: string[];
  userGroups?: string[];
  verbs?: string[];
  resources?: { group?: string; resources?: string[]; resourceNames?: string[] }[];
  namespaces?: string[];
  nonResourceURLs?: string[];
  omitStages?: Stage[];
  omitManagedFields?: boolean;
}

export interface AuditPolicy {
  readonly rules: readonly PolicyRule[];
  readonly omitStages: readonly Stage[];
  readonly omitManagedFields: boolean;
  /**
   * Also records what was refused (401, 403) though its rule says None, as Metadata and so many at most: those who may do nothing could
   * else fill the disk. Of the default policy; a policy file decides by its rules alone, as upstream.
   */
  readonly refusals?: RefusalLimits;
}

export interface RefusalLimits {
  /** So many at once, then one in so many milliseconds. */
  readonly burst: number;
  readonly everyMs: number;
}

export interface Recording {
  readonly level: Level;
  readonly omitStages: ReadonlySet<Stage>;
  readonly omitManagedFields: boolean;
}

const levels: readonly string[] = ["None", "Metadata", "Request", "RequestResponse"];
const stages: readonly string[] = ["RequestReceived", "ResponseStarted", "ResponseComplete", "Panic"];

/** Fault `invalid` names the file and the rule. */
export function parseAuditPolicy(text: string, where: string): AuditPolicy {
  const policy = readYaml(text, where) as {
    kind?: unknown;
    apiVersion?: unknown;
    rules?: unknown;
    omitStages?: Stage[];
    omitManagedFields?: boolean;
  } | null;
  const wrong = (what: string) => new Fault("invalid", `Cannot use audit policy ${where}: ${what}`);
  if (policy?.kind !== "Policy" || policy.apiVersion !== "audit.k8s.io/v1")
    throw wrong("it is not an audit.k8s.io/v1 Policy");
  if (!Array.isArray(policy.rules) || policy.rules.length === 0) throw wrong("it has no rules");
  const rules = policy.rules as PolicyRule[];
  rules.forEach((rule, index) => {
    if (!levels.includes(rule?.level)) throw wrong(`rules[${index}].level must be one of ${levels.join(", ")}`);
    const stage = rule.omitStages?.find((each) => !stages.includes(each));
    if (stage !== undefined) throw wrong(`rules[${index}].omitStages: "${stage}" is not a stage`);
    if (rule.nonResourceURLs?.length && (rule.resources?.length || rule.namespaces?.length)) {
      throw wrong(`rules[${index}] speaks of resources and of other URLs at once`);
    }
  });
  return { rules, omitStages: policy.omitStages ?? [], omitManagedFields: policy.omitManagedFields === true };
}

export const noRecording: Recording = { level: "None", omitStages: new Set(), omitManagedFields: false };
export const refusalRecording: Recording = {
  level: "Metadata",
  omitStages: new Set(["RequestReceived", "ResponseStarted"]),
  omitManagedFields: true,
};

/** What each rule asks for; made once, since every request is asked about. */
const recordings = new WeakMap<PolicyRule, Recording>();

export function recordingOf(policy: AuditPolicy, attributes: Attributes): Recording {
  const rule = policy.rules.find((each) => matches(each, attributes));
  if (!rule || rule.level === "None") return noRecording;
  const known = recordings.get(rule);
  if (known) return known;
  const recording = {
    level: rule.level,
    omitStages: new Set([...policy.omitStages, ...(rule.omitStages ?? [])]),
    omitManagedFields: rule.omitManagedFields ?? policy.omitManagedFields,
  };
  recordings.set(rule, recording);
  return recording;
}

function matches(rule: PolicyRule, attributes: Attributes): boolean {
  const { user, verb, resource } = attributes;
  if (!allows(rule.users, user.name) || !allows(rule.verbs, verb)) return false;
  if (rule.userGroups?.length && !isAmong(user.groups, rule.userGroups)) return false;
  const speaksOfResources = Boolean(rule.resources?.length || rule.namespaces?.length);
  if (resource) {
    if (rule.nonResourceURLs?.length) return false;
    if (!speaksOfResources) return true;
    if (!allows(rule.namespaces, resource.namespace)) return false;
    return !rule.resources?.length || matchesSome(rule.resources, resource);
  }
  if (speaksOfResources) return false;
  return !rule.nonResourceURLs?.length || matchesPath(rule.nonResourceURLs, attributes.path ?? "");
}

// Loops of their own: every request passes every rule, and functions that are made on the way would be most of what that costs.

function isAmong(groups: readonly string[], wanted: readonly string[]): boolean {
  for (const group of wanted) if (groups.includes(group)) return true;
  return false;
}

function matchesSome(
  wanted: readonly NonNullable<PolicyRule["resources"]>[number][],
  asked: NonNullable<Attributes["resource"]>,
): boolean {
  for (const each of wanted) if (matchesResource(each, asked)) return true;
  return false;
}

function matchesPath(urls: readonly string[], path: string): boolean {
  for (const url of urls) if (pathMatches(url, path)) return true;
  return false;
}

function allows(list: readonly string[] | undefined, value: string): boolean {
  return !list?.length || list.includes(value);
}

function matchesResource(
  { group = "", resources, resourceNames }: NonNullable<PolicyRule["resources"]>[number],
  asked: NonNullable<Attributes["resource"]>,
): boolean {
  if (group !== asked.group) return false;
  if (!resources?.length) return true;
  if (resourceNames?.length && !resourceNames.includes(asked.name)) return false;
  const whole = combinedResource(asked.plural, asked.subresource);
  return resources.some(
    (each) =>
      each === "*" ||
      each === whole ||
      (each === `${asked.plural}/*` && asked.subresource !== "") ||
      (each === `*/${asked.subresource}` && asked.subresource !== ""),
  );
}
