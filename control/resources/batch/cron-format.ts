// The format of cron schedules: five fields or a word, with the sentences of the parser that upstream uses.

interface Bounds {
  readonly least: number;
  readonly most: number;
  readonly names?: readonly string[];
}

const months = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];
const days = ["sun", "mon", "tue", "wed", "thu", "fri", "sat"];
const fields: readonly Bounds[] = [
  { least: 0, most: 59 },
  { least: 0, most: 23 },
  { least: 1, most: 31 },
  { least: 1, most: 12, names: months },
  { least: 0, most: 6, names: days },
];
const words: Readonly<Record<string, string>> = {
  "@yearly": "0 0 1 1 *",
  "@annually": "0 0 1 1 *",
  "@monthly": "0 0 1 * *",
  "@weekly": "0 0 * * 0",
  "@daily": "0 0 * * *",
  "@midnight": "0 0 * * *",
  "@hourly": "0 * * * *",
};
const unitMs: Readonly<Record<string, number>> = {
  ns: 1e-6,
  us: 1e-3,
  µs: 1e-3,
  ms: 1,
  s: 1000,
  m: 60_000,
  h: 3_600_000,
};
const durationPart = /([0-9]+(?:\.[0-9]*)?)(ns|us|µs|ms|s|m|h)/g;

/** Which values of a field are meant; `isAny` when it says nothing (a star without a step). */
interface CronField {
  readonly values: ReadonlySet<number>;
  readonly isAny: boolean;
}

export interface CronFields {
  readonly minute: CronField;
  readonly hour: CronField;
  readonly dayOfMonth: CronField;
  readonly month: CronField;
  readonly dayOfWeek: CronField;
}

/** What is wrong with a schedule, or undefined. A time zone in front of it is not looked at. */
export function cronProblem(text: string): string | undefined {
  const parsed = parseCron(text);
  return "problem" in parsed ? parsed.problem : undefined;
}

/** A schedule by its fields, or as a beat; a time zone in front of it is not looked at. */
export function parseCron(text: string): CronFields | { readonly everyMs: number } | { readonly problem: string } {
  if (text === "") return { problem: "empty spec string" };
  const schedule = text.replace(/^(CRON_)?TZ=\S+\s+/, "").trim();
  if (schedule.startsWith("@every ")) {
    const every = schedule.slice("@every ".length);
    const everyMs = durationMs(every);
    if (everyMs !== undefined) return { everyMs };
    return { problem: `failed to parse duration ${schedule}: time: invalid duration ${JSON.stringify(every)}` };
  }
  if (schedule.startsWith("@") && !Object.hasOwn(words, schedule))
    return { problem: `unrecognized descriptor: ${schedule}` };
  const said = (schedule.startsWith("@") ? (words[schedule] ?? "") : schedule)
    .split(/\s+/)
    .filter((field) => field !== "");
  if (said.length !== fields.length)
    return { problem: `expected exactly 5 fields, found ${said.length}: [${said.join(" ")}]` };
  const read: CronField[] = [];
  for (const [index, field] of said.entries()) {
    const found = readField(field, fields[index] as Bounds);
    if (typeof found === "string") return { problem: found };
    read.push(found);
  }
  const [minute, hour, dayOfMonth, month, dayOfWeek] = read as [CronField, CronField, CronField, CronField, CronField];
  return { minute, hour, dayOfMonth, month, dayOfWeek };
}

/** Whole seconds, at least one; or less than nothing. */
function durationMs(text: string): number | undefined {
  const bare = text.replace(/^[+-]/, "");
  const parts = [...bare.matchAll(durationPart)];
  if (parts.length === 0 || parts.map(([part]) => part).join("") !== bare) return undefined;
  const total = parts.reduce((sum, [, amount, unit]) => sum + Number(amount) * (unitMs[unit ?? ""] ?? 0), 0);
  return text.startsWith("-") ? -total : Math.max(1000, Math.floor(total / 1000) * 1000);
}

function readField(field: string, bounds: Bounds): CronField | string {
  const values = new Set<number>();
  let isAny = false;
  for (const range of field.split(",")) {
    if (range === "") continue;
    const found = readRange(range, bounds);
    if (typeof found === "string") return found;
    isAny ||= found.isAny;
    for (let value = found.start; value <= found.end; value += found.step) values.add(value);
  }
  return { values, isAny };
}

function readRange(
  range: string,
  { least, most, names = [] }: Bounds,
): { start: number; end: number; step: number; isAny: boolean } | string {
  const [span = "", step, ...moreSteps] = range.split("/");
  const [from = "", to, ...moreEnds] = span.split("-");
  const isAny = from === "*" || from === "?";
  const number = (text: string) => {
    const named = names.indexOf(text.toLowerCase());
    return named >= 0 ? named + least : /^[0-9]{1,9}$/.test(text) ? Number(text) : undefined;
  };
  const notNumber = (text: string) =>
    `failed to parse int from ${text}: strconv.Atoi: parsing ${JSON.stringify(text)}: invalid syntax`;
  const start = isAny ? least : number(from);
  if (start === undefined) return notNumber(from);
  if (!isAny && moreEnds.length > 0) return `too many hyphens: ${range}`;
  // A number with a step goes on to the end.
  const end = isAny ? most : to === undefined ? (step === undefined ? start : most) : number(to);
  if (end === undefined) return notNumber(to ?? "");
  if (moreSteps.length > 0) return `too many slashes: ${range}`;
  const steps = step === undefined ? 1 : number(step);
  if (steps === undefined) return notNumber(step ?? "");
  if (start < least) return `beginning of range (${start}) below minimum (${least}): ${range}`;
  if (end > most) return `end of range (${end}) above maximum (${most}): ${range}`;
  if (start > end) return `beginning of range (${start}) beyond end of range (${end}): ${range}`;
  if (steps === 0) return `step of range should be a positive number: ${range}`;
  return { start, end, step: steps, isAny: isAny && steps === 1 };
}
