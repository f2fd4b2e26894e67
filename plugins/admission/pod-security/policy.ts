// Levels and versions as namespace labels give them, and what a pod violates at a level. Pure.

import { baselineChecks } from "./baseline.ts";
import type { Check, Finding, PodView } from "./check.ts";
import { restrictedChecks } from "./restricted.ts";

export type Level = "privileged" | "baseline" | "restricted";
type Mode = "enforce" | "audit" | "warn";

export interface LevelVersion {
  readonly level: Level;
  /** `latest` or `v1.25`. */
  readonly version: string;
}

export type Policy = Readonly<Record<Mode, LevelVersion>>;

const levels: readonly string[] = ["privileged", "baseline", "restricted"];
const modes: readonly Mode[] = ["enforce", "audit", "warn"];
const prefix = "pod-security.kubernetes.io/";

export interface LabelProblem {
  readonly label: string;
  readonly value: string;
  readonly why: string;
}

/** Wrong labels count as the strictest level, as upstream does, and are told. */
export function policyOf(
  labels: Readonly<Record<string, string>> | undefined,
  defaults: Policy,
): { policy: Policy; problems: LabelProblem[] } {
  const problems: LabelProblem[] = [];
  const read = (mode: Mode): LevelVersion => {
    const level = labels?.[prefix + mode];
    const version = labels?.[`${prefix}${mode}-version`];
    let chosen: LevelVersion = defaults[mode];
    if (level !== undefined) {
      const isKnown = levels.includes(level);
      if (!isKnown) problems.push({ label: prefix + mode, value: level, why: `must be one of ${levels.join(", ")}` });
      chosen = {
        level: isKnown ? (level as Level) : mode === "enforce" ? "restricted" : "privileged",
        version: "latest",
      };
    }
    if (version !== undefined) {
      const isKnown = version === "latest" || /^v1\.(0|[1-9][0-9]*)$/.test(version);
      const why = 'must be "latest" or "v1.x"';
      if (!isKnown) problems.push({ label: `${prefix}${mode}-version`, value: version, why });
      else chosen = { ...chosen, version };
    }
    return chosen;
  };
  const policy = { enforce: read("enforce"), audit: read("audit"), warn: read("warn") };
  return { policy, problems };
}

export const noPolicy: Policy = Object.fromEntries(
  modes.map((mode) => [mode, { level: "privileged", version: "latest" }]),
) as Policy;

// The versions in which checks became what they are; older versions leave them out.
const since: Readonly<Record<string, number>> = {
  allowPrivilegeEscalation: 8,
  capabilities_restricted: 22,
  hostProbesAndHostLifecycle: 34,
  procMount_restricted: 35,
  runAsUser: 23,
  seccompProfile_restricted: 19,
  seccompProfile_baseline: 19,
};

const order: Readonly<Record<Level, number>> = { privileged: 0, baseline: 1, restricted: 2 };
export const isStricter = (a: Level, b: Level): boolean => order[a] > order[b];

export function violations(pod: PodView, { level, version }: LevelVersion): Finding[] {
  if (level === "privileged") return [];
  const minor = version === "latest" ? Number.MAX_VALUE : Number(version.slice(3));
  const holds = ({ id }: Check) => minor >= (since[id] ?? 0);
  const restricted = level === "restricted" ? restrictedChecks.filter(holds) : [];
  const overridden = new Set(restricted.flatMap(({ overrides }) => overrides ?? []));
  const baseline = baselineChecks.filter((check) => holds(check) && !overridden.has(check.id));
  const isFree = ({ withoutUserNamespacesSince = Number.POSITIVE_INFINITY }: Check) =>
    pod.spec.hostUsers === false && minor >= withoutUserNamespacesSince;
  return [...baseline, ...restricted].flatMap((check) => (isFree(check) ? [] : (check.run(pod) ?? [])));
}

export const describe = (findings: readonly Finding[]): string =>
  findings.map(({ reason, detail }) => (detail ? `${reason} (${detail})` : reason)).join(", ");

export const nameOf = ({ level, version }: LevelVersion): string => `${level}:${version}`;
