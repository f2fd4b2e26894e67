// A program on disk as a NetworkPlugin: run with the environment and stdin of the specification, its answer read back.

import { accessSync, constants } from "node:fs";
import { join } from "node:path";
import type { Call } from "../../plugins/kit/base/call.ts";
import { CniFault, cniCode, faultOf } from "../spec/error.ts";
import type { PluginConfig } from "../spec/config.ts";
import { type NetworkPlugin, type PluginArgs, printCniArgs } from "../spec/plugin.ts";
import { type CniResult, parseResult, printResult } from "../spec/result.ts";
import { hasVerb, parseVersion, type Verb } from "../spec/version.ts";

/** Where the program of a plugin type lies; a type may not leave the folders. */
function findProgram(type: string, path: readonly string[]): string {
  if (type.includes("/")) throw new CniFault(cniCode.invalidConfig, `Plugin type "${type}" is not a file name`);
  for (const dir of path) {
    const file = join(dir, type);
    try {
      accessSync(file, constants.X_OK);
      return file;
    } catch {
      // Not in this folder: look in the next.
    }
  }
  throw new CniFault(
    cniCode.invalidConfig,
    `There is no plugin "${type}": it is not built in, and no program of that name is in ${path.join(":") || "any folder"}`,
  );
}

export function foreignPlugin(type: string, path: readonly string[]): NetworkPlugin {
  const program = findProgram(type, path);
  const step = async (verb: Verb, args: PluginArgs, call: Call): Promise<string> => {
    const version = parseVersion(args.config.cniVersion);
    const previous = args.previous ? { prevResult: printResult(args.previous, version) } : {};
    const environment = {
      CNI_COMMAND: verb,
      CNI_CONTAINERID: args.containerId,
      CNI_NETNS: args.netns,
      CNI_IFNAME: args.ifName,
      CNI_ARGS: printCniArgs(args.args),
      CNI_PATH: args.path.join(":"),
    };
    return run(program, environment, JSON.stringify({ ...args.config, ...previous }), call);
  };
  const whole = async (verb: Verb, config: PluginConfig, searched: readonly string[], call: Call): Promise<void> => {
    // A program of an older version has no such verb: there is nothing to ask it.
    if (hasVerb(parseVersion(config.cniVersion), verb))
      await run(program, { CNI_COMMAND: verb, CNI_PATH: searched.join(":") }, JSON.stringify(config), call);
  };
  return {
    type,
    async add(args, call): Promise<CniResult> {
      const output = await step("ADD", args, call);
      try {
        return parseResult(JSON.parse(output));
      } catch (error) {
        throw new CniFault(
          cniCode.decodingFailure,
          `Plugin "${type}" printed no usable result: ${(error as Error).message}`,
          { cause: error },
        );
      }
    },
    async check(args, call) {
      await step("CHECK", args, call);
    },
    async del(args, call) {
      await step("DEL", args, call);
    },
    status: (config, searched, call) => whole("STATUS", config, searched, call),
    gc: (config, searched, call) => whole("GC", config, searched, call),
  };
}

async function run(program: string, environment: Record<string, string>, input: string, call: Call): Promise<string> {
  // Loaded on first use: our own programs seldom run others, and start-up is most of what they cost.
  const { spawn } = await import("node:child_process");
  return new Promise((resolve, reject) => {
    const { PATH = "/usr/sbin:/usr/bin:/sbin:/bin" } = process.env;
    const child = spawn(program, [], {
      env: { PATH, ...environment },
      stdio: ["pipe", "pipe", "pipe"],
      signal: call.signal,
      killSignal: "SIGKILL",
    });
    const output: Buffer[] = [];
    const said: Buffer[] = [];
    child.stdout.on("data", (chunk: Buffer) => output.push(chunk));
    child.stderr.on("data", (chunk: Buffer) => said.push(chunk));
    child.on("error", (error) =>
      reject(new CniFault(cniCode.ioFailure, `Cannot run "${program}": ${error.message}`, { cause: error })),
    );
    child.on("close", (code, signal) => {
      const text = Buffer.concat(output).toString();
      if (code === 0) return resolve(text);
      const doing = `Plugin "${program}" failed`;
      try {
        reject(faultOf(JSON.parse(text) as Record<string, never>, doing));
      } catch {
        const words = Buffer.concat(said).toString().trim() || text.trim() || "it said nothing";
        reject(
          new CniFault(cniCode.internal, `${doing} with ${signal ?? `exit code ${code}`}: ${words.slice(0, 500)}`),
        );
      }
    });
    // A program that ended early is told of by its exit code.
    child.stdin.on("error", () => {});
    child.stdin.end(input);
  });
}
