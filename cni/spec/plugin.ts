// The NetworkPlugin contract: one step of a network list. The same object is called in process and behind a program's stdin.

import type { Call } from "../../plugins/kit/base/call.ts";
import type { PluginConfig } from "./config.ts";
import type { CniResult } from "./result.ts";

export interface PluginArgs {
  readonly containerId: string;
  /** Path of the network namespace; may be empty on DEL, when it is gone. */
  readonly netns: string;
  readonly ifName: string;
  /** CNI_ARGS, such as K8S_POD_NAME. */
  readonly args: Readonly<Record<string, string>>;
  /** CNI_PATH: where foreign programs are found. */
  readonly path: readonly string[];
  readonly config: PluginConfig;
  /** The result of the step before, or on CHECK and DEL the final one of ADD. */
  readonly previous?: CniResult;
}

export interface NetworkPlugin {
  readonly type: string;
  add(args: PluginArgs, call: Call): Promise<CniResult>;
  /** Throws when what ADD made is not as it was. */
  check(args: PluginArgs, call: Call): Promise<void>;
  /** Idempotent; completes although the namespace, the link or the lease is gone. */
  del(args: PluginArgs, call: Call): Promise<void>;
  /** Throws a CniFault 50 or 51 when ADD would fail now. */
  status?(config: PluginConfig, path: readonly string[], call: Call): Promise<void>;
  /** Removes what belongs to attachments of this network that are not among the valid ones of the configuration. */
  gc?(config: PluginConfig, path: readonly string[], call: Call): Promise<void>;
}

/** Finds the plugin that a configuration delegates to, such as its IPAM. */
export type Delegate = (type: string, path: readonly string[]) => NetworkPlugin;

/** The valid attachments that GC is told of, as `containerID/ifname`. */
export function validAttachments(config: PluginConfig): Set<string> {
  return new Set((config["cni.dev/valid-attachments"] ?? []).map((entry) => `${entry.containerID}/${entry.ifname}`));
}

/** `K=V;K2=V2` as the specification writes CNI_ARGS. */
export function parseCniArgs(text: string): Record<string, string> {
  const parsed: Record<string, string> = {};
  for (const pair of text.split(";")) {
    const at = pair.indexOf("=");
    if (at > 0) parsed[pair.slice(0, at)] = pair.slice(at + 1);
  }
  return parsed;
}

export function printCniArgs(args: Readonly<Record<string, string>>): string {
  return Object.entries(args)
    .map(([key, value]) => `${key}=${value}`)
    .join(";");
}
