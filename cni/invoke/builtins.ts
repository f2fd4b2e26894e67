// The plugins that are called in process, by type. One line each.

import { bridgePlugin } from "../bridge/plugin.ts";
import { hostLocal } from "../host-local/plugin.ts";
import { loopbackPlugin } from "../loopback/plugin.ts";
import type { Kernel } from "../net/kernel.ts";
import { portmapPlugin } from "../portmap/plugin.ts";
import type { Delegate, NetworkPlugin } from "../spec/plugin.ts";
import { foreignPlugin } from "./foreign.ts";

/** Finds a plugin: ours in process, anything else as a program in the folders. */
export function pluginFinder(kernel: Kernel, isBuiltIn: (type: string) => boolean = () => true): Delegate {
  const find: Delegate = (type, path) => {
    // Lists for containerd name our programs with a prefix, so that nobody else's are meant.
    const own = builtins.get(type.replace(/^skiff-/, ""));
    return own && isBuiltIn(type) ? own : foreignPlugin(type, path);
  };
  const builtins: ReadonlyMap<string, NetworkPlugin> = new Map(
    [hostLocal, loopbackPlugin(kernel), bridgePlugin(kernel, find), portmapPlugin(kernel)].map((plugin) => [
      plugin.type,
      plugin,
    ]),
  );
  return find;
}
