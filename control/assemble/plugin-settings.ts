// Settings of plugins as a whole program sees them: each must belong to some plugin, of the control plane, of a node, or the user's own.

import { controlPlugins, networkDaemons, nodePlugins } from "../../plugins/builtins.ts";
import type { AnyPlugin } from "../../plugins/kit/base/plugin.ts";
import { refuseUnknownSettings } from "../../plugins/kit/base/registry.ts";
import { storeKind } from "../../plugins/kit/contracts/store.ts";
import type { Settings } from "../../plugins/kit/base/settings.ts";
import { sqlite } from "../../plugins/store/sqlite.ts";
import { allAccessPlugins } from "../auth/plugins.ts";

/** Throws Fault `invalid` that names the first one which nobody would read. */
export function checkPluginSettings(settings: Settings, userPlugins: readonly AnyPlugin[]): void {
  const given = (settings["plugin-settings"] as Readonly<Record<string, unknown>> | undefined) ?? {};
  refuseUnknownSettings([...builtins, etcdName, ...userPlugins], given);
}

const builtins = [sqlite as AnyPlugin, ...controlPlugins, ...allAccessPlugins, ...nodePlugins, ...networkDaemons];
/** What stands for the etcd store without its client, which only those load who use it. */
const etcdName: AnyPlugin = { kind: storeKind, name: "etcd", open: () => undefined };

/** Every built-in plugin that takes settings. */
export async function settablePlugins(): Promise<readonly AnyPlugin[]> {
  const { etcd } = await import("../../plugins/store/etcd.ts");
  return [...builtins, etcd as AnyPlugin].filter(({ configure }) => configure !== undefined);
}
