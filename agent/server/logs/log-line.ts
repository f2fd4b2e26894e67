// One raw line of a container's log file: CRI's text form, or the JSON lines that Docker writes.

export interface LogLine {
  /** As written, an RFC 3339 time. */
  readonly time: string;
  readonly stream: string;
  /** More of the same line follows in the next one. */
  readonly isPartial: boolean;
  /** Without the line's end. */
  readonly content: Buffer;
}

const space = 0x20;
const brace = 0x7b;
const partialTag = 0x50;

/** Undefined for what is no log line; such lines are left out, as upstream does. */
export function parseLogLine(raw: Buffer): LogLine | undefined {
  if (raw[0] === brace) return parseJsonLine(raw);
  const afterTime = raw.indexOf(space);
  const afterStream = raw.indexOf(space, afterTime + 1);
  if (afterTime <= 0 || afterStream < 0) return undefined;
  const found = raw.indexOf(space, afterStream + 1);
  const afterTags = found < 0 ? raw.length : found;
  return {
    time: raw.toString("latin1", 0, afterTime),
    stream: raw.toString("latin1", afterTime + 1, afterStream),
    isPartial: isPartialAt(raw, afterStream + 1),
    content: raw.subarray(Math.min(afterTags + 1, raw.length)),
  };
}

/** Whether the raw line is continued, without taking it apart. */
export function isPartialLine(raw: Buffer): boolean {
  if (raw[0] === brace) return parseJsonLine(raw)?.isPartial ?? false;
  const afterStream = raw.indexOf(space, raw.indexOf(space) + 1);
  return afterStream > 0 && isPartialAt(raw, afterStream + 1);
}

/** Tags are joined by colons and the first of them says it. */
function isPartialAt(raw: Buffer, at: number): boolean {
  return raw[at] === partialTag && (raw[at + 1] === space || raw[at + 1] === 0x3a || at + 1 === raw.length);
}

function parseJsonLine(raw: Buffer): LogLine | undefined {
  try {
    const { log, stream, time } = JSON.parse(raw.toString("utf8")) as { log?: string; stream?: string; time?: string };
    if (typeof log !== "string" || typeof time !== "string") return undefined;
    const isWhole = log.endsWith("\n");
    const content = Buffer.from(isWhole ? log.slice(0, -1) : log);
    return { time, stream: stream ?? "stdout", isPartial: !isWhole, content };
  } catch {
    return undefined;
  }
}

const timeForm = /^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:\.(\d{1,9}))?(Z|[+-]\d\d:\d\d)$/;

/** Nanoseconds since 1970; undefined when it is no time. */
export function nanosecondsOf(time: string): bigint | undefined {
  const match = timeForm.exec(time);
  if (!match) return undefined;
  const ms = Date.parse(`${match[1]}${match[3]}`);
  return Number.isNaN(ms) ? undefined : BigInt(ms) * 1_000_000n + BigInt((match[2] ?? "").padEnd(9, "0"));
}

/** With all nine digits of the fraction and `Z` where the offset is none (conmon writes +00:00), as clients are shown it. */
export function fullTime(time: string): string {
  const match = timeForm.exec(time);
  if (!match) return time;
  const zone = match[3] === "+00:00" ? "Z" : match[3];
  return `${match[1]}.${(match[2] ?? "").padEnd(9, "0")}${zone}`;
}
