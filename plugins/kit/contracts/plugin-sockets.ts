// Plugins that are programs of their own: they put a socket into the kubelet's registration folder and say there what they are and where they
// listen. Whoever can use a type of them says so here; the agent watches the folder.

import type { Call } from "../base/call.ts";
import { type Kind, kind } from "../base/plugin.ts";

export interface SocketPlugin {
  readonly name: string;
  /** Absolute path of the socket on which it serves. */
  readonly endpoint: string;
  readonly versions: readonly string[];
}

export interface SocketPluginUser {
  /** A rejection is told to the plugin, which may try again by making its socket anew. Called again when it does. */
  register(plugin: SocketPlugin, call: Call): Promise<void>;
  /** Its registration socket is gone. */
  gone(name: string): void;
}

export interface PluginSockets {
  /** Plugins of a type that nobody uses are left alone. Plugins that are there already are told too. */
  use(type: string, user: SocketPluginUser): void;
}

export const pluginSocketsKind: Kind<PluginSockets> = kind("plugin-sockets");
