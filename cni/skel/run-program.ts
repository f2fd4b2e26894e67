// Runs a plugin as a CNI program: environment and stdin in, stdout and exit code out. Knows no plugin and touches no process state.

import type { Call } from "../../plugins/kit/base/call.ts";
import { parsePluginConfig } from "../spec/config.ts";
import { errorBody } from "../spec/error.ts";
import type { NetworkPlugin } from "../spec/plugin.ts";
import { printResult } from "../spec/result.ts";
import { newestVersion, parseVersion, supportedVersions } from "../spec/version.ts";
import { type Environment, readArgs, readVerb } from "./environment.ts";

export interface ProgramInput {
  readonly environment: Environment;
  readonly stdin: string;
}

export interface ProgramOutput {
  readonly stdout: string;
  readonly exitCode: number;
}

/** Never throws: what goes wrong is an error object on stdout and exit code 1, as the specification says. */
export async function runProgram(
  plugin: NetworkPlugin,
  { environment, stdin }: ProgramInput,
  call: Call,
): Promise<ProgramOutput> {
  let version: string = newestVersion;
  try {
    const verb = readVerb(environment);
    if (verb === "VERSION")
      return { stdout: JSON.stringify({ cniVersion: askedVersion(stdin), supportedVersions }), exitCode: 0 };
    const config = parsePluginConfig(stdin);
    version = config.cniVersion;
    const args = readArgs(environment, config, verb);
    if (verb === "ADD") {
      const result = await plugin.add(args, call);
      return { stdout: JSON.stringify(printResult(result, parseVersion(version))), exitCode: 0 };
    }
    if (verb === "CHECK") await plugin.check(args, call);
    else if (verb === "DEL") await plugin.del(args, call);
    else if (verb === "GC") await plugin.gc?.(config, args.path, call);
    else await plugin.status?.(config, args.path, call);
    return { stdout: "", exitCode: 0 };
  } catch (error) {
    return { stdout: JSON.stringify(errorBody(error, version)), exitCode: 1 };
  }
}

function askedVersion(stdin: string): string {
  try {
    return parsePluginConfig(stdin).cniVersion;
  } catch {
    // VERSION is answered without looking at the configuration, which may be anything.
    return newestVersion;
  }
}
