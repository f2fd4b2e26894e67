// Runs the verbs of one network list: ADD forwards, CHECK forwards, DEL backwards and completely.

import { type Call, uninterrupted } from "../../plugins/kit/base/call.ts";
import { toFault } from "../../plugins/kit/base/fault.ts";
import type { Log } from "../../plugins/kit/base/log.ts";
import type { NetworkList, PluginConfig } from "../spec/config.ts";
import { CniFault, cniCode } from "../spec/error.ts";
import type { Delegate, PluginArgs } from "../spec/plugin.ts";
import { type CniResult, emptyResult, printResult } from "../spec/result.ts";
import { hasVerb, isAtLeast } from "../spec/version.ts";
import type { Attachment } from "./cache.ts";

export interface ListRun {
  readonly list: NetworkList;
  readonly attachment: Attachment;
  readonly find: Delegate;
  readonly path: readonly string[];
  readonly log: Log;
}

/** A failed ADD says whether all that it did is undone. */
export type AddOutcome = { readonly result: CniResult } | { readonly error: unknown; readonly isUndone: boolean };

/** The plugin's configuration with the runtime's values for the capabilities that it claims, and nothing else of them. */
function withRuntimeConfig(config: PluginConfig, capabilities: Readonly<Record<string, unknown>>): PluginConfig {
  const claimed = Object.entries(config.capabilities ?? {})
    .filter(([name, isClaimed]) => isClaimed && capabilities[name] !== undefined)
    .map(([name]) => [name, capabilities[name]] as const);
  if (claimed.length === 0) return config;
  return { ...config, runtimeConfig: { ...config.runtimeConfig, ...Object.fromEntries(claimed) } };
}

function stepArgs(
  { list, attachment, path }: ListRun,
  config: PluginConfig,
  previous: CniResult | undefined,
): PluginArgs {
  const { containerId, netns, ifName, args, capabilities } = attachment;
  const full = withRuntimeConfig(config, capabilities);
  return {
    containerId,
    netns,
    ifName,
    args,
    path,
    config: previous ? { ...full, prevResult: printResult(previous, list.cniVersion) } : full,
    ...(previous ? { previous } : {}),
  };
}

/** Attaches; when a step fails, the whole list is undone. */
export async function addList(run: ListRun, call: Call): Promise<AddOutcome> {
  let result: CniResult | undefined;
  try {
    for (const config of run.list.plugins)
      result = await run.find(config.type, run.path).add(stepArgs(run, config, result), call);
    return { result: result ?? emptyResult };
  } catch (error) {
    const isUndone = await delList(run, result, uninterrupted).then(
      () => true,
      () => false,
    );
    return { error, isUndone };
  }
}

export async function checkList(run: ListRun, result: CniResult | undefined, call: Call): Promise<void> {
  if (run.list.disableCheck || !hasVerb(run.list.cniVersion, "CHECK")) return;
  for (const config of run.list.plugins)
    await run.find(config.type, run.path).check(stepArgs(run, config, result), call);
}

/**
 * What a plugin says when no later attempt with this list can go better: it cannot read it, or there is no such plugin. A sandbox that
 * waited for that would stay for ever. What such a plugin may still hold is collected by GC, once the list is right again.
 */
const hopeless: ReadonlySet<number> = new Set([
  cniCode.incompatibleVersion,
  cniCode.unsupportedField,
  cniCode.unknownContainer,
  cniCode.invalidEnvironment,
  cniCode.decodingFailure,
  cniCode.invalidConfig,
]);

/**
 * Detaches: every step runs, in reverse, also after one failed; the first error is thrown at the end. A configuration that is wrong, or
 * has become so, is no error here.
 */
export async function delList(run: ListRun, result: CniResult | undefined, call: Call): Promise<void> {
  // Before 0.4.0 the specification hands no result to DEL.
  const previous = isAtLeast(run.list.cniVersion, "0.4.0") ? result : undefined;
  const errors: unknown[] = [];
  for (const config of run.list.plugins.toReversed()) {
    try {
      await run.find(config.type, run.path).del(stepArgs(run, config, previous), call);
    } catch (error) {
      if (error instanceof CniFault && hopeless.has(error.cniCode))
        run.log.warn(
          { err: error, container: run.attachment.containerId, network: run.list.name, plugin: config.type },
          "a network plugin cannot detach a container with this configuration; going on without it",
        );
      else errors.push(error);
    }
  }
  if (errors.length > 0)
    throw toFault(errors[0], `Cannot detach container "${run.attachment.containerId}" from "${run.list.name}"`);
}
