// The plugin registration folder: every socket in it is a plugin that wants to be used. Noticed at once, looked at again every ten seconds;
// a socket that was made anew is a plugin that was started anew.

import { type FSWatcher, lstatSync, mkdirSync, readdirSync, watch } from "node:fs";
import { join } from "node:path";
import type { Call } from "../../plugins/kit/base/call.ts";
import type { Clock } from "../../plugins/kit/base/clock.ts";
import type { Log } from "../../plugins/kit/base/log.ts";
import type { PluginSockets, SocketPluginUser } from "../../plugins/kit/contracts/plugin-sockets.ts";
import type { Registering } from "./registration.ts";

const lookAgainMs = 10_000;

export interface SocketFolderOptions {
  /** Undefined takes no plugins. */
  readonly dir: string | undefined;
  readonly clock: Clock;
  readonly log: Log;
}

interface Known {
  /** Changes when the socket is made anew. */
  readonly stamp: string;
  /** Undefined while it is not registered: it is tried again. */
  readonly found: Registering | undefined;
  readonly trouble: string;
}

export class SocketFolder implements PluginSockets {
  readonly #options: SocketFolderOptions;
  readonly #users = new Map<string, SocketPluginUser>();
  readonly #knownByPath = new Map<string, Known>();
  #wake = () => {};

  constructor(options: SocketFolderOptions) {
    this.#options = options;
  }

  use(type: string, user: SocketPluginUser): void {
    this.#users.set(type, user);
    this.#wake();
  }

  async run(call: Call): Promise<void> {
    const { dir, clock, log } = this.#options;
    if (!dir) return;
    mkdirSync(dir, { recursive: true, mode: 0o750 });
    let watcher: FSWatcher | undefined;
    try {
      watcher = watch(dir, () => this.#wake());
      watcher.on("error", () => watcher?.close());
    } catch (error) {
      log.debug({ dir, err: error }, "cannot watch the plugin folder: it is looked at every ten seconds");
    }
    try {
      while (!call.signal.aborted) {
        const noticed = new Promise<void>((resolve) => (this.#wake = resolve));
        const onAbort = () => this.#wake();
        call.signal.addEventListener("abort", onAbort, { once: true });
        await this.#look(dir, call);
        const cancel = clock.after(lookAgainMs, () => this.#wake());
        await noticed;
        cancel();
        call.signal.removeEventListener("abort", onAbort);
      }
    } finally {
      watcher?.close();
    }
  }

  async #look(dir: string, call: Call): Promise<void> {
    const paths = socketsBelow(dir);
    for (const [path, { found }] of this.#knownByPath) {
      if (paths.has(path)) continue;
      this.#knownByPath.delete(path);
      if (found) this.#gone(found);
    }
    for (const [path, stamp] of paths) {
      const known = this.#knownByPath.get(path);
      if (known?.stamp === stamp && known.found) continue;
      if (call.signal.aborted) return;
      await this.#register(path, stamp, known, call);
    }
  }

  async #register(path: string, stamp: string, known: Known | undefined, call: Call): Promise<void> {
    const { log } = this.#options;
    try {
      // Loaded with the first plugin: most nodes have none.
      const { registerSocket } = await import("./registration.ts");
      const found = await registerSocket(path, (one) => this.#users.get(one.type)?.register(one.plugin, call), call);
      this.#knownByPath.set(path, { stamp, found, trouble: "" });
      if (!found) return;
      log.info({ plugin: found.plugin.name, type: found.type }, "a plugin registered");
    } catch (error) {
      if (call.signal.aborted) return;
      const trouble = error instanceof Error ? error.message : String(error);
      if (known?.trouble !== trouble) log.warn({ socket: path, err: error }, "a plugin could not be registered");
      if (known?.found) this.#gone(known.found);
      this.#knownByPath.set(path, { stamp, found: undefined, trouble });
    }
  }

  #gone({ type, plugin }: Registering): void {
    this.#options.log.info({ plugin: plugin.name, type }, "a plugin went away");
    this.#users.get(type)?.gone(plugin.name);
  }
}

/** Sockets in the folder and one level below it, each with what changes when it is made anew. */
function socketsBelow(dir: string, depth = 0): Map<string, string> {
  const found = new Map<string, string>();
  for (const name of readdirSync(dir)) {
    const path = join(dir, name);
    const stat = name.startsWith(".") ? undefined : lstatSync(path, { throwIfNoEntry: false });
    if (stat?.isSocket()) found.set(path, `${stat.ino}/${stat.ctimeMs}`);
    if (stat?.isDirectory() && depth === 0) for (const [below, stamp] of socketsBelow(path, 1)) found.set(below, stamp);
  }
  return found;
}
