// Whether one set of rules grants everything that another does. Pure; upstream's definition of privilege coverage.

import { type PolicyRule, pathMatches } from "./objects.ts";

/** The smallest pieces of `wanted` that `held` does not grant; empty when everything is covered. */
export function uncoveredRules(held: readonly PolicyRule[], wanted: readonly PolicyRule[]): PolicyRule[] {
  return wanted.flatMap(singleRules).filter((piece) => !held.some((rule) => covers(rule, piece)));
}

/** Breaks a rule into rules of one verb and one resource or URL each. */
function singleRules(rule: PolicyRule): PolicyRule[] {
  const pieces: PolicyRule[] = [];
  for (const verb of rule.verbs) {
    for (const group of rule.apiGroups ?? []) {
      for (const resource of rule.resources ?? []) {
        const piece = { verbs: [verb], apiGroups: [group], resources: [resource] };
        if (!rule.resourceNames?.length) pieces.push(piece);
        else for (const name of rule.resourceNames) pieces.push({ ...piece, resourceNames: [name] });
      }
    }
    for (const url of rule.nonResourceURLs ?? []) pieces.push({ verbs: [verb], nonResourceURLs: [url] });
  }
  return pieces;
}

function covers(held: PolicyRule, piece: PolicyRule): boolean {
  return (
    hasAll(held.verbs, piece.verbs) &&
    hasAll(held.apiGroups, piece.apiGroups) &&
    coversResources(held.resources, piece.resources) &&
    coversNames(held.resourceNames, piece.resourceNames) &&
    (piece.nonResourceURLs ?? []).every((url) => (held.nonResourceURLs ?? []).some((own) => pathMatches(own, url)))
  );
}

function hasAll(held: readonly string[] | undefined, wanted: readonly string[] | undefined): boolean {
  return (wanted ?? []).every((each) => held?.includes(each) || held?.includes("*"));
}

function coversResources(held: readonly string[] | undefined, wanted: readonly string[] | undefined): boolean {
  return (wanted ?? []).every((each) => {
    if (held?.includes("*") || held?.includes(each)) return true;
    const slash = each.indexOf("/");
    return slash >= 0 && held?.includes(`*${each.slice(slash)}`) === true;
  });
}

function coversNames(held: readonly string[] | undefined, wanted: readonly string[] | undefined): boolean {
  if (!held?.length) return true;
  return wanted !== undefined && wanted.length > 0 && wanted.every((name) => held.includes(name));
}

/** `{APIGroups:[""], Resources:["pods"], Verbs:["get"]}`, as upstream prints a rule. */
export function describeRule(rule: PolicyRule): string {
  const list = (values: readonly string[]) => `[${values.map((value) => JSON.stringify(value)).join(" ")}]`;
  const parts: string[] = [];
  if (rule.apiGroups?.length) parts.push(`APIGroups:${list(rule.apiGroups)}`);
  if (rule.resources?.length) parts.push(`Resources:${list(rule.resources)}`);
  if (rule.nonResourceURLs?.length) parts.push(`NonResourceURLs:${list(rule.nonResourceURLs)}`);
  if (rule.resourceNames?.length) parts.push(`ResourceNames:${list(rule.resourceNames)}`);
  if (rule.verbs.length) parts.push(`Verbs:${list(rule.verbs)}`);
  return `{${parts.join(", ")}}`;
}

/** Puts pieces that differ only in their verb back together, so that a refusal names each resource once. */
export function compactRules(pieces: readonly PolicyRule[]): PolicyRule[] {
  const byPlace = new Map<string, PolicyRule>();
  for (const piece of pieces) {
    const key = JSON.stringify([piece.apiGroups, piece.resources, piece.resourceNames, piece.nonResourceURLs]);
    const known = byPlace.get(key);
    if (!known) byPlace.set(key, { ...piece, verbs: [...piece.verbs] });
    else known.verbs.push(...piece.verbs.filter((verb) => !known.verbs.includes(verb)));
  }
  return [...byPlace.values()];
}
