// What a CNI program is told by its environment, checked as the specification asks for each verb.

import type { PluginConfig } from "../spec/config.ts";
import { CniFault, cniCode } from "../spec/error.ts";
import { type PluginArgs, parseCniArgs } from "../spec/plugin.ts";
import { parseResult } from "../spec/result.ts";
import { hasVerb, parseVersion, type Verb } from "../spec/version.ts";

export type Environment = Readonly<Record<string, string | undefined>>;

const verbs: readonly Verb[] = ["ADD", "CHECK", "DEL", "GC", "STATUS", "VERSION"];
const needs: Record<Verb, readonly string[]> = {
  ADD: ["CNI_CONTAINERID", "CNI_NETNS", "CNI_IFNAME", "CNI_PATH"],
  CHECK: ["CNI_CONTAINERID", "CNI_NETNS", "CNI_IFNAME", "CNI_PATH"],
  DEL: ["CNI_CONTAINERID", "CNI_IFNAME", "CNI_PATH"],
  GC: ["CNI_PATH"],
  STATUS: ["CNI_PATH"],
  VERSION: [],
};

export function readVerb(environment: Environment): Verb {
  const verb = verbs.find((verb) => verb === environment.CNI_COMMAND);
  if (!verb)
    throw bad(`CNI_COMMAND is ${JSON.stringify(environment.CNI_COMMAND ?? "")}, not one of ${verbs.join(", ")}`);
  const missing = needs[verb].filter((name) => !environment[name]);
  if (missing.length > 0) throw bad(`${missing.join(", ")} must be set for ${verb}`);
  return verb;
}

function bad(what: string): CniFault {
  return new CniFault(cniCode.invalidEnvironment, `Invalid environment: ${what}`);
}

/** Checks the version for the verb, the names, and reads prevResult. */
export function readArgs(environment: Environment, config: PluginConfig, verb: Verb): PluginArgs {
  const version = parseVersion(config.cniVersion);
  if (!hasVerb(version, verb)) throw new CniFault(cniCode.incompatibleVersion, `CNI version ${version} has no ${verb}`);
  const containerId = environment.CNI_CONTAINERID ?? "";
  const ifName = environment.CNI_IFNAME ?? "";
  if (containerId !== "" && !/^[a-zA-Z0-9][a-zA-Z0-9_.-]*$/.test(containerId))
    throw bad(`CNI_CONTAINERID "${containerId}" is not allowed`);
  if (ifName !== "" && (ifName.length > 15 || ifName === "." || ifName === ".." || /[/:\s]/.test(ifName)))
    throw bad(`CNI_IFNAME "${ifName}" is no interface name`);
  if (!/^[a-zA-Z0-9][a-zA-Z0-9_.-]*$/.test(config.name))
    throw new CniFault(
      cniCode.invalidConfig,
      `Invalid network configuration: the name "${config.name}" is not allowed`,
    );
  return {
    containerId,
    netns: environment.CNI_NETNS ?? "",
    ifName,
    args: parseCniArgs(environment.CNI_ARGS ?? ""),
    path: (environment.CNI_PATH ?? "").split(":").filter((dir) => dir !== ""),
    config,
    ...(config.prevResult ? { previous: parseResult(config.prevResult) } : {}),
  };
}
