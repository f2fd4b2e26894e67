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
const words = ["@yearly", "@annually", "@monthly", "@weekly", "@daily", "@midnight", "@hourly"];
const duration = /^[+-]?([0-9]+(\.[0-9]*)?(ns|us|µs|ms|s|m|h))+$/;

/** What is wrong with a schedule, or undefined. A time zone in front of it is not looked at. */
export function cronProblem(text: string): string | undefined {
  if (text === "") return "empty spec string";
  const schedule = text.replace(/^(CRON_)?TZ=\S+\s+/, "").trim();
  if (schedule.startsWith("@every ")) {
    const every = schedule.slice("@every ".length);
    return duration.test(every)
      ? undefined
      : `failed to parse duration ${schedule}: time: invalid duration ${JSON.stringify(every)}`;
  }
  if (schedule.startsWith("@")) return words.includes(schedule) ? undefined : `unrecognized descriptor: ${schedule}`;
  const said = schedule.split(/\s+/).filter((field) => field !== "");
  if (said.length !== fields.length) return `expected exactly 5 fields, found ${said.length}: [${said.join(" ")}]`;
  for (const [index, field] of said.entries())
    for (const range of field.split(",")) {
      const problem = range === "" ? undefined : rangeProblem(range, fields[index] as Bounds);
      if (problem) return problem;
    }
  return undefined;
}

function rangeProblem(range: string, { least, most, names = [] }: Bounds): string | undefined {
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
  const end = isAny ? most : to === undefined ? (step === undefined ? start : most) : number(to);
  if (end === undefined) return notNumber(to ?? "");
  if (moreSteps.length > 0) return `too many slashes: ${range}`;
  const steps = step === undefined ? 1 : number(step);
  if (steps === undefined) return notNumber(step ?? "");
  if (start < least) return `beginning of range (${start}) below minimum (${least}): ${range}`;
  if (end > most) return `end of range (${end}) above maximum (${most}): ${range}`;
  if (start > end) return `beginning of range (${start}) beyond end of range (${end}): ${range}`;
  return steps === 0 ? `step of range should be a positive number: ${range}` : undefined;
}
