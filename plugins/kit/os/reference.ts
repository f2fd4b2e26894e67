// Every command, flag and config key as one Markdown page, from the tables that the command line itself is made from.

import type { Command } from "./command-line.ts";
import type { AnyPlugin } from "../base/plugin.ts";
import type { Setting } from "../base/settings.ts";

/** `runs` are the commands that run the program: their settings are those of the config file. `plugins` are the built-in ones. */
export function referenceText(
  commands: readonly Command[],
  runs: readonly string[],
  plugins: readonly AnyPlugin[],
): string {
  const running = runs.flatMap((name) => commands.filter((command) => command.name === name));
  const settings = [...new Map(running.flatMap((one) => one.settings).map((one) => [one.name, one])).values()];
  const shared = new Set(settings.map(({ name }) => name));
  return [
    "# Every command, flag and config key",
    "",
    "Made by `skiff reference` from the program's own tables; a test fails when it is stale.",
    "",
    `## Settings of ${runs.map((name) => `\`skiff ${name}\``).join(", ")}`,
    "",
    "Each may be a flag (`--name value`) or stand in the config file (`name: value`, `--config file.yaml`); a flag wins. Flags of",
    "lists may be repeated or hold commas. `skiff install` writes `/etc/skiff/config.yaml`, and the other commands read it, too.",
    "",
    `| setting | default | ${runs.join(" | ")} | |`,
    `|---|---|${runs.map(() => "---|").join("")}---|`,
    ...settings.map((one) => {
      const marks = running.map((command) => (command.settings.some(({ name }) => name === one.name) ? "✓" : ""));
      return `| ${nameOf(one)} | ${defaultOf(one)} | ${marks.join(" | ")} | ${cell(one.help)}${choicesOf(one)} |`;
    }),
    "",
    "## Settings of built-in plugins",
    "",
    "They stand in the config file below `plugin-settings`, under the plugin's name: `plugin-settings: { dns: { upstreams: [9.9.9.9] } }`.",
    "Arguments of the scheduler's plugins stand in the file of `--scheduler-config`. Your own plugins name and check their own.",
    "",
    "| plugin | key | |",
    "|---|---|---|",
    ...plugins.flatMap((plugin) =>
      Object.entries(plugin.keys ?? {}).map(([key, help]) => `| \`${plugin.name}\` | \`${key}\` | ${cell(help)} |`),
    ),
    "",
    "## Commands",
    "",
    ...commands.flatMap((command) =>
      commandText(command, runs.includes(command.name) ? shared : new Set<string>(), shared),
    ),
    "All of them take `--data-dir`, `--config` and `--log-level`.",
    "",
  ].join("\n");
}

const common = new Set(["config", "data-dir", "log-level"]);

function commandText(command: Command, told: ReadonlySet<string>, shared: ReadonlySet<string>): string[] {
  const isLarge = command.settings.length > 30;
  const own = command.settings.filter(
    ({ name }) => !common.has(name) && !told.has(name) && !(isLarge && shared.has(name)),
  );
  const also = isLarge && told.size === 0 ? ["", "It takes the settings above, too."] : [];
  return [
    `### \`skiff ${command.name}${command.words ? ` ${command.words}` : ""}\``,
    "",
    `${command.help[0]?.toUpperCase() ?? ""}${cell(command.help.slice(1))}.`,
    ...also,
    ...(own.length === 0
      ? []
      : ["", "| flag | default | |", "|---|---|---|", ...own.map((one) => row(one, command.words !== undefined))]),
    "",
  ];
}

function row(setting: Setting, isBare: boolean): string {
  if (isBare && setting.type === "switch" && setting.default === true)
    return `| \`--no-${setting.name}\` |  | ${cell(setting.help)} |`;
  return `| ${nameOf(setting)} | ${defaultOf(setting)} | ${cell(setting.help)}${choicesOf(setting)} |`;
}

function nameOf({ name, short, type, value }: Setting): string {
  if (type === "mapping") return `\`${name}\` (config file only)`;
  const shown = type === "switch" ? `--${name}` : `--${name} <${value ?? type}>`;
  return `\`${short ? `-${short}, ` : ""}${shown}\``;
}

function defaultOf({ default: value }: Setting): string {
  return value === undefined || value === "" ? "" : `\`${cell(String(value))}\``;
}

function choicesOf({ choices }: Setting): string {
  return choices ? ` (${choices.join(", ")})` : "";
}

/** A bar would end the cell, and a word in angle brackets is taken for a tag. */
const cell = (text: string) => text.replaceAll("|", "\\|").replaceAll("<", "\\<");
