// Reads the settings that stores share out of a config file's raw values; a wrong one is a Fault that names its key.

import { Fault } from "../kit/base/fault.ts";
import type { HistoryLimits } from "./history.ts";

export type RawSettings = Readonly<Record<string, unknown>>;

/** The raw settings as an object with none but the known keys. */
export function readSettings(raw: unknown, known: readonly string[]): RawSettings {
  if (raw === undefined || raw === null) return {};
  if (typeof raw !== "object" || Array.isArray(raw)) {
    throw new Fault("invalid", "its settings are not a mapping");
  }
  for (const key of Object.keys(raw)) {
    if (known.includes(key)) continue;
    throw new Fault("invalid", `unknown key "${key}" (known: ${known.join(", ")})`);
  }
  return raw as RawSettings;
}

/** A whole number of at least 1, or undefined where the key is absent. */
export function readCount(settings: RawSettings, key: string): number | undefined {
  const value = settings[key];
  if (value === undefined) return undefined;
  if (typeof value === "number" && Number.isSafeInteger(value) && value >= 1) return value;
  throw new Fault("invalid", `"${key}" is not a whole number of at least 1`);
}

export function readString(settings: RawSettings, key: string): string | undefined {
  const value = settings[key];
  if (value === undefined || typeof value === "string") return value;
  throw new Fault("invalid", `"${key}" is not a string`);
}

export function readStrings(settings: RawSettings, key: string): string[] | undefined {
  const value = settings[key];
  if (value === undefined) return undefined;
  if (Array.isArray(value) && value.every((item) => typeof item === "string")) return value;
  throw new Fault("invalid", `"${key}" is not a list of strings`);
}

export const historyKeys = ["historySeconds", "historyCount", "historyBytes"] as const;

/** The limits that a settings object sets, of `historySeconds`, `historyCount` and `historyBytes`. */
export function historyOf(settings: RawSettings): Partial<HistoryLimits> {
  const seconds = readCount(settings, "historySeconds");
  const count = readCount(settings, "historyCount");
  const bytes = readCount(settings, "historyBytes");
  return {
    ...(seconds === undefined ? {} : { ageMs: seconds * 1000 }),
    ...(count === undefined ? {} : { count }),
    ...(bytes === undefined ? {} : { bytes }),
  };
}

export function readHistorySettings(raw: unknown): Partial<HistoryLimits> {
  return historyOf(readSettings(raw, historyKeys));
}
