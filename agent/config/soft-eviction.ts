// Soft eviction thresholds as kubelet's flags write them: `memory.available<300Mi,nodefs.available<15%` with a grace period for each.

import { Fault } from "../../plugins/kit/fault.ts";
import { parseQuantity, quantityValue } from "../../plugins/kit/quantity.ts";

const evictionSignals = [
  "memory.available",
  "nodefs.available",
  "nodefs.inodesFree",
  "imagefs.available",
  "pid.available",
] as const;

export type EvictionSignal = (typeof evictionSignals)[number];

export interface SoftThreshold {
  readonly signal: EvictionSignal;
  /** Of what there is in all, or an amount. */
  readonly below: { readonly fraction: number } | { readonly amount: number };
  /** How long it must be crossed before a pod is ended. */
  readonly graceMs: number;
}

const units: Readonly<Record<string, number>> = { h: 3_600_000, m: 60_000, s: 1_000, ms: 1 };

/** Both lists as given; every threshold needs its grace period. Fault `invalid` names the setting. */
export function softThresholds(thresholds: readonly string[], graces: readonly string[]): SoftThreshold[] {
  const graceBySignal = new Map(graces.map((text) => splitAt(text, "=", "eviction-soft-grace-period")));
  return thresholds.map((text) => {
    const [name, amount] = splitAt(text, "<", "eviction-soft");
    const signal = evictionSignals.find((known) => known === name);
    if (!signal) throw wrong("eviction-soft", `"${name}" is none of ${evictionSignals.join(", ")}`);
    const grace = graceBySignal.get(name);
    if (grace === undefined) throw wrong("eviction-soft-grace-period", `there is none for ${name}`);
    return { signal, below: amountOf(amount), graceMs: durationOf(grace) };
  });
}

function amountOf(text: string): SoftThreshold["below"] {
  const percent = /^(\d+(?:\.\d+)?)%$/.exec(text)?.[1];
  if (percent !== undefined) return { fraction: Number(percent) / 100 };
  try {
    return { amount: Number(quantityValue(parseQuantity(text))) };
  } catch {
    throw wrong("eviction-soft", `"${text}" is neither a quantity nor a percentage`);
  }
}

/** `1m30s`, as Go writes it. */
function durationOf(text: string): number {
  const parts = [...text.matchAll(/(\d+(?:\.\d+)?)(ms|h|m|s)/g)];
  if (parts.length === 0 || parts.map(([part]) => part).join("") !== text)
    throw wrong("eviction-soft-grace-period", `"${text}" is no duration such as 1m30s`);
  return parts.reduce((sum, [, count = "0", unit = "s"]) => sum + Number(count) * (units[unit] ?? 0), 0);
}

function splitAt(text: string, mark: string, setting: string): [string, string] {
  const at = text.indexOf(mark);
  if (at < 1) throw wrong(setting, `"${text}" is not of the form signal${mark}value`);
  return [text.slice(0, at).trim(), text.slice(at + 1).trim()];
}

function wrong(setting: string, why: string): Fault {
  return new Fault("invalid", `Bad value for ${setting}: ${why}`);
}
