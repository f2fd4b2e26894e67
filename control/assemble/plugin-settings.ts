// Settings of plugins as a whole program sees them: each must belong to some plugin, of the control plane, of a node, or the user's own.

import { controlPlugins, networkDaemons, nodePlugins } from "../../plugins/builtins.ts";
import type { AnyPlugin } from "../../plugins/kit/plugin.ts";
import { refuseUnknownSettings } from "../../plugins/kit/registry.ts";
import type { Settings } from "../../plugins/kit/settings.ts";
import { accessPlugins } from "../auth/plugins.ts";

/** Throws Fault `invalid` that names the first one which nobody would read. */
export function checkPluginSettings(settings: Settings, userPlugins: readonly AnyPlugin[]): void {
  const given = (settings["plugin-settings"] as Readonly<Record<string, unknown>> | undefined) ?? {};
  const known = [...controlPlugins, ...accessPlugins(given), ...nodePlugins, ...networkDaemons, ...userPlugins];
  refuseUnknownSettings(known, given);
}
