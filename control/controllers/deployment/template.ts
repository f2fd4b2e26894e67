// Which replica set is of a template, and the hash that names a new one.

import { createHash } from "node:crypto";
import type { PodTemplate } from "../pods/pod-control.ts";
import { type ReplicaSet, templateHashLabel } from "./objects.ts";

// Without vowels and easily mistaken characters, as generated names are.
const alphabet = "bcdfghjklmnpqrstvwxz2456789";

/** A short name for the template; another one for each collision. */
export function templateHash(template: PodTemplate, collisionCount: number | undefined): string {
  const digest = createHash("sha256")
    .update(canonical(template))
    .update(String(collisionCount ?? ""))
    .digest();
  return [...digest.subarray(0, 10)].map((byte) => alphabet[byte % alphabet.length]).join("");
}

export function isSameTemplate(a: PodTemplate, b: PodTemplate): boolean {
  return canonical(withoutHash(a)) === canonical(withoutHash(b));
}

/** The oldest one with the template, so that two of them do not take turns. */
export function findOfTemplate(template: PodTemplate, sets: readonly ReplicaSet[]): ReplicaSet | undefined {
  return byAge(sets).find((set) => isSameTemplate(set.spec.template, template));
}

export function byAge<T extends { metadata: ReplicaSet["metadata"] }>(sets: readonly T[]): T[] {
  const time = (set: T) => Date.parse(set.metadata.creationTimestamp ?? "") || 0;
  return [...sets].sort((a, b) => time(a) - time(b) || ((a.metadata.name ?? "") < (b.metadata.name ?? "") ? -1 : 1));
}

function withoutHash(template: PodTemplate): PodTemplate {
  const { [templateHashLabel]: _, ...labels } = template.metadata?.labels ?? {};
  return { ...template, metadata: { ...template.metadata, labels } };
}

/** JSON with sorted keys: two equal values have one text. Absent, null and empty maps are alike. */
function canonical(value: unknown): string {
  return JSON.stringify(value, (_, item: unknown) => {
    if (typeof item !== "object" || item === null || Array.isArray(item)) return item ?? undefined;
    const entries = Object.entries(item).filter(
      ([, field]) => field !== null && field !== undefined && !isEmptyMap(field),
    );
    return Object.fromEntries(entries.sort(([a], [b]) => (a < b ? -1 : 1)));
  });
}

function isEmptyMap(value: unknown): boolean {
  return typeof value === "object" && value !== null && !Array.isArray(value) && Object.keys(value).length === 0;
}
