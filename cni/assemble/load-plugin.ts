// Loads the code of one plugin type and of what it may delegate to, and nothing else: start-up is most of what a program costs.

import { foreignPlugin } from "../invoke/foreign.ts";
import type { Kernel } from "../net/kernel.ts";
import type { Delegate, NetworkPlugin } from "../spec/plugin.ts";

type Loader = (kernel: Kernel) => Promise<NetworkPlugin>;

const loaders: Readonly<Record<string, Loader>> = {
  "host-local": async () => (await import("../host-local/plugin.ts")).hostLocal,
  loopback: async (kernel) => (await import("../loopback/plugin.ts")).loopbackPlugin(kernel),
  portmap: async (kernel) => (await import("../portmap/plugin.ts")).portmapPlugin(kernel),
  bridge: async (kernel) => {
    const [{ bridgePlugin }, { hostLocal }] = await Promise.all([
      import("../bridge/plugin.ts"),
      import("../host-local/plugin.ts"),
    ]);
    // Addresses from host-local cost no second process; any other IPAM is a program.
    const delegate: Delegate = (type, path) =>
      type.replace(/^skiff-/, "") === "host-local" ? hostLocal : foreignPlugin(type, path);
    return bridgePlugin(kernel, delegate);
  },
};

/** Undefined for a type that is not ours. */
export async function loadPlugin(type: string, kernel: Kernel): Promise<NetworkPlugin | undefined> {
  return loaders[type.replace(/^skiff-/, "")]?.(kernel);
}
