// How cells are written: ages, ports, selectors, as kubectl users know them.

import type { Column } from "./definition.ts";

/** `5s`, `3m20s`, `4h`, `2d3h`, `1y20d`: the same steps as apimachinery's HumanDuration. */
export function humanDuration(ms: number): string {
  const seconds = Math.trunc(ms / 1000);
  if (seconds < -1) return "<invalid>";
  if (seconds < 0) return "0s";
  if (seconds < 120) return `${seconds}s`;
  const minutes = Math.trunc(seconds / 60);
  if (minutes < 10) return seconds % 60 === 0 ? `${minutes}m` : `${minutes}m${seconds % 60}s`;
  if (minutes < 180) return `${minutes}m`;
  const hours = Math.trunc(minutes / 60);
  if (hours < 8) return minutes % 60 === 0 ? `${hours}h` : `${hours}h${minutes % 60}m`;
  if (hours < 48) return `${hours}h`;
  const days = Math.trunc(hours / 24);
  if (hours < 192) return hours % 24 === 0 ? `${days}d` : `${days}d${hours % 24}h`;
  if (hours < 24 * 365 * 2) return `${days}d`;
  const years = Math.trunc(days / 365);
  if (hours < 24 * 365 * 8) return days % 365 === 0 ? `${years}y` : `${years}y${days % 365}d`;
  return `${years}y`;
}

/** The moments of a row that is made to be kept: their ages are marked in its cells and filled in later. */
let recorded: number[] | undefined;

/** Runs `make`; each age in what it makes is `\u0001<index of its moment>\u0001`. */
export function recordAges<T>(make: () => T): { made: T; moments: readonly number[] } {
  const moments: number[] = [];
  recorded = moments;
  try {
    return { made: make(), moments };
  } finally {
    recorded = undefined;
  }
}

/** The time since a moment. Cells that depend on the time get it from here or from `age`, nowhere else. */
export function since(moment: number, now: number): string {
  if (!recorded) return humanDuration(now - moment);
  return `\u0001${recorded.push(moment) - 1}\u0001`;
}

/** The time since a timestamp, or `<unknown>`. */
export function age(timestamp: string | undefined, now: number): string {
  const at = timestamp === undefined ? Number.NaN : Date.parse(timestamp);
  return Number.isNaN(at) ? "<unknown>" : since(at, now);
}

export function labelsText(labels: Record<string, string> | undefined): string {
  const pairs = Object.entries(labels ?? {}).sort(([a], [b]) => (a < b ? -1 : 1));
  return pairs.length === 0 ? "<none>" : pairs.map(([key, value]) => `${key}=${value}`).join(",");
}

export const nameColumn: Column = {
  name: "Name",
  type: "string",
  format: "name",
  description: "Name must be unique within a namespace.",
};

export const ageColumn: Column = {
  name: "Age",
  type: "string",
  description: "How long ago the object was created.",
};

/** A plain column; `wide` ones are only shown by `-o wide`. */
export function column(name: string, description: string, type: Column["type"] = "string"): Column {
  return { name, type, description };
}

export function wideColumn(name: string, description: string, type: Column["type"] = "string"): Column {
  return { name, type, description, priority: 1 };
}
