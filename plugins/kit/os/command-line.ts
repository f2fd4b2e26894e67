// The command line: a table of commands in, the one that was asked for run with its checked settings. Errors of use are one line.

import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { CommanderError, Command as CommandParser } from "commander";
import { Fault, isFault } from "../base/fault.ts";
import { type LogLevel, openLog } from "../base/log.ts";
import { readBounded } from "./platform/files.ts";
import { projectFolder } from "./platform/project.ts";
import { readSettings, type Setting, type Settings } from "../base/settings.ts";
import { requireTrustedFile } from "./platform/trusted-file.ts";
import { readYaml } from "../base/yaml.ts";

export interface Command {
  readonly name: string;
  readonly help: string;
  readonly settings: readonly Setting[];
  /** Further words of the command line, such as `<action>`. Its switches take no value then: the next word is a word. */
  readonly words?: string;
  /** What may stand in the config file besides; not offered as flags. */
  readonly fileSettings?: readonly Setting[];
  /** Speaks of the installed service, and reads its settings, unless told of another instance. */
  readonly usesInstalledConfig?: boolean;
  run(settings: Settings, context: CommandContext): Promise<void>;
}

export interface CommandContext {
  readonly log: ReturnType<typeof openLog>;
  readonly words: readonly string[];
  /** Stopped by SIGTERM and SIGINT. */
  readonly signal: AbortSignal;
}

const installedConfig = "/etc/skiff/config.yaml";
const largestConfig = 4 * 1024 * 1024;

/** Runs what the words ask for, and ends the process. */
export async function runCommandLine(
  commands: readonly Command[],
  help: string,
  argv: readonly string[],
): Promise<void> {
  const { version } = JSON.parse(readFileSync(join(projectFolder, "package.json"), "utf8")) as { version: string };
  const program = new CommandParser("skiff")
    .description("A Kubernetes node and a compact control plane for small boxes")
    .version(version, "--version")
    .helpCommand("help [command]", "tell what a command takes")
    .addHelpText("after", help)
    .configureOutput({
      outputError: (text, write) => write(text.replace(/^error:/, "skiff:").replace(/\n(?=\()/, " ")),
    })
    .exitOverride();
  for (const command of commands) {
    const sub = program
      .command(command.words ? `${command.name} ${command.words}` : command.name)
      .description(command.help);
    for (const setting of command.settings) addFlag(sub, setting, command.words !== undefined);
    sub.addHelpText("after", fileHelp(command.settings));
    sub.exitOverride().action(async (...given: unknown[]) => {
      const flags = sub.opts<Record<string, unknown>>();
      const named = Object.fromEntries(command.settings.map(({ name }) => [name, flags[camel(name)]]));
      await run(command, given.slice(0, -2).flat() as string[], named);
    });
  }
  try {
    await program.parseAsync([...argv], { from: "user" });
  } catch (error) {
    if (error instanceof CommanderError) process.exit(error.exitCode === 0 ? 0 : 2);
    complain(error, undefined);
  }
}

/** The key under which commander keeps a flag. */
function camel(name: string): string {
  return name.replace(/-([a-z])/g, (_, letter: string) => letter.toUpperCase());
}

async function run(command: Command, words: readonly string[], flags: Record<string, unknown>): Promise<void> {
  try {
    const isInstalled = command.usesInstalledConfig && flags["data-dir"] === undefined && existsSync(installedConfig);
    const config = flags.config ?? (isInstalled ? installedConfig : undefined);
    const file = config === undefined ? undefined : { path: String(config), content: readConfig(String(config)) };
    if (file) checkPluginNames(file);
    const named = new Set(command.settings.map(({ name }) => name));
    const further = (command.fileSettings ?? []).filter(({ name }) => !named.has(name));
    const settings = readSettings([...command.settings, ...further], flags, file);
    const log = openLog({ level: (settings["log-level"] ?? "info") as LogLevel, human: process.stderr.isTTY === true });
    const stop = new AbortController();
    for (const name of ["SIGTERM", "SIGINT"] as const)
      process.once(name, () => stop.abort(new Error(`stopped by ${name}`)));
    await command.run(settings, { log, words, signal: stop.signal });
    process.exit();
  } catch (error) {
    complain(error, flags["log-level"]);
  }
}

/** Who can write a config file that names plugins can have any code run. */
function checkPluginNames({ path, content }: { path: string; content: unknown }): void {
  const { plugins } = (content ?? {}) as { plugins?: unknown };
  if (plugins !== undefined) requireTrustedFile(path, `Cannot load the plugins that ${path} names`);
}

function readConfig(path: string): unknown {
  try {
    return readYaml(readBounded(path, largestConfig).toString("utf8"), path);
  } catch (error) {
    if (!isFault(error, "not-found")) throw error;
    throw new Fault("invalid", `Cannot read the config file ${path} of --config: there is no such file`, {
      cause: error,
    });
  }
}

function addFlag(command: CommandParser, setting: Setting, isBare: boolean): void {
  if (setting.type === "mapping") return;
  const short = setting.short ? `-${setting.short}, ` : "";
  if (setting.type === "switch" && (isBare || setting.short)) {
    const { name, help } = setting;
    command.option(setting.default === true ? `--no-${name}` : `${short}--${name}`, help);
    return;
  }
  const flag =
    short +
    (setting.type === "switch" ? `--${setting.name} [true|false]` : `--${setting.name} <${setting.value ?? "value"}>`);
  const help = `${setting.help}${choicesOf(setting)}${defaultOf(setting)}`;
  if (setting.type === "list")
    command.option(flag, help, (value: string, all: string[] | undefined) => [...(all ?? []), value]);
  else command.option(flag, help);
}

function choicesOf({ choices }: Setting): string {
  return choices ? ` (${choices.join(", ")})` : "";
}

function defaultOf({ default: value }: Setting): string {
  return value === undefined || value === false || String(value) === "" ? "" : ` (default: ${String(value)})`;
}

/** What can only be said in the config file, where there is such. */
function fileHelp(settings: readonly Setting[]): string {
  const mappings = settings.filter(({ type }) => type === "mapping");
  if (mappings.length === 0) return "";
  return ["", "In the config file only:", ...mappings.map(({ name, help }) => `  ${name}: ${help}`)].join("\n");
}

/** Every settings and usage error is one line; a stack is shown only where debug logs were asked for. */
function complain(error: unknown, level: unknown): never {
  const wantsStack = level === "debug" || level === "trace";
  const message = error instanceof Error ? error.message : String(error);
  process.stderr.write(`skiff: ${wantsStack && error instanceof Error ? error.stack : message}\n`);
  process.exit(isFault(error, "invalid") ? 2 : 1);
}
