// Settings: what a command can be told, by flag or by config file, checked once and told apart by name.
// Every flag may stand in the file under its own name; a flag on the command line wins.

import { Fault } from "./fault.ts";
import { nearest } from "./nearest.ts";

type SettingValue = string | number | boolean | readonly string[] | Readonly<Record<string, unknown>>;

export interface Setting {
  readonly name: string;
  /** `list` takes several values (the flag may be repeated or hold commas); `mapping` stands in the file only. */
  readonly type: "text" | "number" | "switch" | "list" | "mapping";
  readonly help: string;
  readonly default?: SettingValue;
  /** How the value is named in the help: `--data-dir <path>`. */
  readonly value?: string;
  /** One letter: `o` for `-o`. */
  readonly short?: string;
  readonly choices?: readonly string[];
  /** What is wrong with the value, as the end of a sentence that begins with the setting; undefined when it is fine. */
  readonly check?: (value: never) => string | undefined;
}

/** What is wrong with a port number; for `check`. */
export const portProblem = (value: number): string | undefined =>
  Number.isInteger(value) && value >= 0 && value <= 65535 ? undefined : "a port is a whole number from 0 to 65535";

export type Settings = Readonly<Record<string, SettingValue | undefined>>;

/** Defaults, then the file, then the flags; each value checked, with its place named when it is wrong. */
export function readSettings(
  settings: readonly Setting[],
  flags: Readonly<Record<string, unknown>>,
  file?: { path: string; content: unknown },
): Settings {
  const result: Record<string, SettingValue | undefined> = {};
  for (const setting of settings) result[setting.name] = setting.default;
  if (file) Object.assign(result, readFile(settings, file));
  for (const setting of settings) {
    const raw = flags[setting.name];
    if (raw !== undefined) result[setting.name] = readValue(setting, raw, `--${setting.name}`);
  }
  return result;
}

function readFile(
  settings: readonly Setting[],
  file: { path: string; content: unknown },
): Record<string, SettingValue> {
  const { path, content } = file;
  if (content === null || content === undefined) return {};
  if (typeof content !== "object" || Array.isArray(content)) {
    throw new Fault(
      "invalid",
      `Cannot read the config file ${path}: it must be a mapping of settings, not ${kindOf(content)}`,
    );
  }
  const result: Record<string, SettingValue> = {};
  for (const [name, raw] of Object.entries(content)) {
    const setting = settings.find((known) => known.name === name);
    if (!setting) throw new Fault("invalid", `Unknown setting "${name}" in ${path}${suggestion(name, settings)}`);
    result[name] = readValue(setting, raw, `${name} in ${path}`, file);
  }
  return result;
}

function readValue(setting: Setting, raw: unknown, where: string, file?: object): SettingValue {
  const wrong = (expected: string) =>
    new Fault("invalid", `Bad value for ${where}: expected ${expected}, got ${kindOf(raw)}`);
  const value = readers[setting.type](raw, file !== undefined);
  if (value === undefined) throw wrong(expectations[setting.type]);
  if (setting.choices && !setting.choices.includes(String(value))) throw wrong(`one of ${setting.choices.join(", ")}`);
  const complaint = setting.check?.(value as never);
  if (complaint) throw new Fault("invalid", `Bad value for ${where}: ${complaint}`);
  return value;
}

const expectations: Record<Setting["type"], string> = {
  text: "text",
  number: "a number",
  switch: "true or false",
  list: "a list of texts",
  mapping: "a mapping",
};

/** Flags arrive as text, values in the file with their YAML type; undefined means "does not fit". */
const readers: Record<Setting["type"], (raw: unknown, isFile: boolean) => SettingValue | undefined> = {
  text: (raw) => (typeof raw === "string" || typeof raw === "number" ? String(raw) : undefined),
  number(raw, isFile) {
    const value = typeof raw === "string" && !isFile && raw.trim() !== "" ? Number(raw) : raw;
    return typeof value === "number" && Number.isFinite(value) ? value : undefined;
  },
  switch: (raw, isFile) =>
    typeof raw === "boolean" ? raw : isFile ? undefined : raw === "true" ? true : raw === "false" ? false : undefined,
  list(raw) {
    const items = typeof raw === "string" ? raw.split(",") : raw;
    if (!Array.isArray(items) || !items.every((item) => typeof item === "string")) return undefined;
    return items.flatMap((item: string) => item.split(",")).filter((item) => item !== "");
  },
  mapping: (raw) =>
    typeof raw === "object" && raw !== null && !Array.isArray(raw) ? (raw as Record<string, unknown>) : undefined,
};

function kindOf(value: unknown): string {
  if (value === null || value === undefined) return "nothing";
  if (Array.isArray(value)) return "a list";
  if (typeof value === "object") return "a mapping";
  return JSON.stringify(value);
}

function suggestion(name: string, settings: readonly Setting[]): string {
  const near = nearest(
    name,
    settings.map((setting) => setting.name),
  );
  return near ? `; did you mean "${near}"?` : "; skiff <command> --help lists them";
}
