// Times as they are written in flags and the config file.

/** `24h`, `30m`, `90s`, or `0` for a token that never ends; undefined when it is none of these. */
export function durationSeconds(text: string): number | undefined {
  const match = /^(\d+)(s|m|h|d)?$/.exec(text.trim());
  if (!match || (match[2] === undefined && match[1] !== "0")) return undefined;
  return Number(match[1]) * { s: 1, m: 60, h: 3600, d: 86_400 }[(match[2] ?? "s") as "s" | "m" | "h" | "d"];
}
