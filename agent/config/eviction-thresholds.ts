// Eviction thresholds as kubelet's flags write them: `memory.available<300Mi,nodefs.available<15%`, soft ones with a grace period each, and
// how much more than that must be freed before a threshold that was crossed counts as resolved.

import { Fault } from "../../plugins/kit/base/fault.ts";
import { parseQuantity, quantityValue } from "../../plugins/kit/kube/quantity.ts";

const evictionSignals = [
  "memory.available",
  "nodefs.available",
  "nodefs.inodesFree",
  "imagefs.available",
  "imagefs.inodesFree",
  "pid.available",
] as const;

export type EvictionSignal = (typeof evictionSignals)[number];

/** Of what there is in all, or an amount. */
export type Amount = { readonly fraction: number } | { readonly amount: number };

export interface Threshold {
  readonly signal: EvictionSignal;
  readonly below: Amount;
  /** How long it must be crossed before a pod is ended; a hard one has none. */
  readonly graceMs?: number;
  readonly minimumReclaim?: Amount;
}

/** What holds where nothing is said. */
export const defaultThresholds: readonly Threshold[] = [
  { signal: "memory.available", below: { amount: 100 << 20 } },
  { signal: "nodefs.available", below: { fraction: 0.1 } },
  { signal: "nodefs.inodesFree", below: { fraction: 0.05 } },
  { signal: "imagefs.available", below: { fraction: 0.15 } },
  { signal: "imagefs.inodesFree", below: { fraction: 0.05 } },
  { signal: "pid.available", below: { fraction: 0.02 } },
];

export interface ThresholdTexts {
  /** Each takes the place of the default for its signal; 0 switches that off. */
  readonly hard: readonly string[];
  readonly soft: readonly string[];
  /** One for each soft threshold. */
  readonly softGracePeriods: readonly string[];
  readonly minimumReclaims: readonly string[];
}

/** The hard ones, then the soft ones. Fault `invalid` names the setting. */
export function evictionThresholds(texts: ThresholdTexts): Threshold[] {
  const graces = new Map(texts.softGracePeriods.map((text) => splitAt(text, "=", "eviction-soft-grace-period")));
  const reclaims = new Map(
    texts.minimumReclaims.map((text) => {
      const [name, amount] = splitAt(text, "=", "eviction-minimum-reclaim");
      return [signalOf(name, "eviction-minimum-reclaim"), amountOf(amount, "eviction-minimum-reclaim")] as const;
    }),
  );
  const said = texts.hard.map((text) => thresholdOf(text, "eviction-hard"));
  const hard = defaultThresholds.map((own) => said.findLast(({ signal }) => signal === own.signal) ?? own);
  const soft = texts.soft.map((text) => {
    const threshold = thresholdOf(text, "eviction-soft");
    const grace = graces.get(threshold.signal);
    if (grace === undefined) throw wrong("eviction-soft-grace-period", `there is none for ${threshold.signal}`);
    return { ...threshold, graceMs: durationOf(grace, "eviction-soft-grace-period") };
  });
  return [...hard.filter(({ below }) => !isNothing(below)), ...soft].map((threshold) => {
    const minimumReclaim = reclaims.get(threshold.signal);
    return minimumReclaim ? { ...threshold, minimumReclaim } : threshold;
  });
}

export function amountFrom(amount: Amount, capacity: number): number {
  return "fraction" in amount ? capacity * amount.fraction : amount.amount;
}

/** What pods are never promised of it, because they would be ended before they could use it. */
export function hardAmount(thresholds: readonly Threshold[], signal: EvictionSignal, capacity: number): number {
  const own = thresholds.find((threshold) => threshold.signal === signal && threshold.graceMs === undefined);
  return own ? amountFrom(own.below, capacity) : 0;
}

const units: Readonly<Record<string, number>> = { h: 3_600_000, m: 60_000, s: 1_000, ms: 1 };

/** `1m30s`, as Go writes it, in milliseconds. */
export function durationOf(text: string, setting: string): number {
  if (text === "0") return 0;
  const parts = [...text.matchAll(/(\d+(?:\.\d+)?)(ms|h|m|s)/g)];
  if (parts.length === 0 || parts.map(([part]) => part).join("") !== text)
    throw wrong(setting, `"${text}" is no duration such as 1m30s`);
  return parts.reduce((sum, [, count = "0", unit = "s"]) => sum + Number(count) * (units[unit] ?? 0), 0);
}

function thresholdOf(text: string, setting: string): Threshold {
  const [name, amount] = splitAt(text, "<", setting);
  return { signal: signalOf(name, setting), below: amountOf(amount, setting) };
}

function signalOf(name: string, setting: string): EvictionSignal {
  const signal = evictionSignals.find((known) => known === name);
  if (!signal) throw wrong(setting, `"${name}" is none of ${evictionSignals.join(", ")}`);
  return signal;
}

function isNothing(below: Amount): boolean {
  return "fraction" in below ? below.fraction === 0 : below.amount === 0;
}

function amountOf(text: string, setting: string): Amount {
  const percent = /^(\d+(?:\.\d+)?)%$/.exec(text)?.[1];
  if (percent !== undefined) return { fraction: Number(percent) / 100 };
  try {
    return { amount: Number(quantityValue(parseQuantity(text))) };
  } catch {
    throw wrong(setting, `"${text}" is neither a quantity nor a percentage`);
  }
}

function splitAt(text: string, mark: string, setting: string): [string, string] {
  const at = text.indexOf(mark);
  if (at < 1) throw wrong(setting, `"${text}" is not of the form signal${mark}value`);
  return [text.slice(0, at).trim(), text.slice(at + 1).trim()];
}

function wrong(setting: string, why: string): Fault {
  return new Fault("invalid", `Bad value for ${setting}: ${why}`);
}
