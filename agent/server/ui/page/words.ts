// Numbers and states as people read them.

import type { PageContainer } from "../state.ts";

export function bytes(value: number): string {
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  let step = 0;
  let left = value;
  while (left >= 1024 && step < units.length - 1) {
    left /= 1024;
    step++;
  }
  return `${left >= 100 || step === 0 ? Math.round(left) : left.toFixed(1)} ${units[step]}`;
}

/** What a container does, or waits for. */
export function stateWords({ state, reason, pull }: Pick<PageContainer, "state" | "reason" | "pull">): string {
  if (!pull) return `${state} ${reason}`;
  if (pull.totalBytes === 0) return "pulling its image";
  const total = bytes(pull.totalBytes);
  return pull.bytes < pull.totalBytes ? `pulling its image: ${bytes(pull.bytes)} of ${total}` : `unpacking ${total}`;
}

export function cores(milli: number): string {
  return milli >= 1000 ? `${(milli / 1000).toFixed(2)} cores` : `${Math.round(milli)}m`;
}

/** Labels of the lines across a plot: rounding must not show one value at two of them, as it would in a plot of nothing. */
export function tickLabels(values: readonly number[], show: (value: number) => string): string[] {
  const labels = values.map(show);
  return labels.map((label, index) => (labels.indexOf(label) < index ? "" : label));
}

export const ago = (at: number): string => `${since(at)} ago`;

/** How long it is since then, in the largest unit that fits. */
export function since(at: number): string {
  const seconds = Math.max(0, Math.round((Date.now() - at) / 1000));
  if (seconds < 60) return `${seconds} s`;
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min`;
  if (seconds < 86_400) return `${Math.floor(seconds / 3600)} h`;
  return `${Math.floor(seconds / 86_400)} d`;
}
