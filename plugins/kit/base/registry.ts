// The plugin registry: checks settings, opens plugins in the order of their needs, and closes them last in, first out.
// Either everything that fits is open, or everything is closed again and one Fault names what went wrong.

import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import type { Call } from "./call.ts";
import type { Clock } from "./clock.ts";
import { Fault, toFault } from "./fault.ts";
import type { Log } from "./log.ts";
import { nearest } from "./nearest.ts";
import type { AnyPlugin, Host, Kind, Plugin } from "./plugin.ts";

export interface OpenPluginsOptions {
  /** In the order in which plugins of one kind are asked. */
  readonly plugins: readonly AnyPlugin[];
  /** Raw settings by plugin name, `kind/name` where a name is used by several kinds. */
  readonly settings?: Readonly<Record<string, unknown>>;
  /** Names or `kind/name` of plugins to leave out. */
  readonly disabled?: readonly string[];
  readonly log: Log;
  readonly clock: Clock;
  /** Plugins get `<stateDir>/<kind>/<name>`. */
  readonly stateDir: string;
}

export interface OpenedPlugins {
  /** The opened plugins of a kind, in list order. */
  all<T>(of: Kind<T>): readonly T[];
  /** The opened plugin of a kind by name. */
  named<T>(of: Kind<T>, name: string): T | undefined;
  /** Plugins that this host cannot run, each with its reason. */
  readonly skipped: readonly { kind: string; name: string; reason: string }[];
  /** Closes everything, last opened first, completely even when some fail. May be called twice. */
  close(): Promise<void>;
}

export async function openPlugins(options: OpenPluginsOptions, call: Call): Promise<OpenedPlugins> {
  const plugins = options.plugins.filter((plugin) => !isDisabled(plugin, options));
  refuseDuplicates(plugins);
  const settings = configureAll(plugins, options.plugins, options.settings ?? {});
  const registry = new Registry(options);
  try {
    for (const plugin of inOrderOfNeeds(plugins)) await registry.open(plugin, settings.get(plugin), call);
  } catch (error) {
    await registry.close();
    throw error;
  }
  registry.arrange(plugins);
  return registry;
}

/** The one plugin of its kind that is wanted. Closing what it gave also runs what it registered to be run at the end. */
export async function openChosen<T extends { close(): Promise<void> }>(
  of: Kind<T>,
  plugin: AnyPlugin,
  options: Omit<OpenPluginsOptions, "plugins">,
  call: Call,
): Promise<T> {
  const settings = settingsOf([plugin], options.settings ?? {});
  const opened = await openPlugins({ ...options, plugins: [plugin], settings }, call);
  const found = opened.named(of, plugin.name);
  if (found === undefined)
    throw new Fault(
      "unsupported",
      `Cannot use plugin "${plugin.name}": ${opened.skipped[0]?.reason ?? "it is disabled"}`,
    );
  const close = found.close.bind(found);
  found.close = async () => {
    await close();
    await opened.close();
  };
  return found;
}

const idOf = (plugin: AnyPlugin) => `${plugin.kind.name}/${plugin.name}`;

function isDisabled(plugin: AnyPlugin, { disabled = [] }: OpenPluginsOptions): boolean {
  return disabled.includes(plugin.name) || disabled.includes(idOf(plugin));
}

function refuseDuplicates(plugins: readonly AnyPlugin[]): void {
  const seen = new Set<string>();
  for (const plugin of plugins) {
    const id = idOf(plugin);
    if (seen.has(id))
      throw new Fault("already-exists", `Two plugins are called "${id}": disable or rename one of them`);
    seen.add(id);
  }
}

function configureAll(
  plugins: readonly AnyPlugin[],
  known: readonly AnyPlugin[],
  settings: Readonly<Record<string, unknown>>,
): Map<AnyPlugin, unknown> {
  refuseUnknownSettings(known, settings);
  return new Map(plugins.map((plugin) => [plugin, configure(plugin, rawSettings(plugin, settings))]));
}

const isNamed = (plugin: AnyPlugin, key: string) => plugin.name === key || idOf(plugin) === key;

/** Settings that none of the plugins would get are a mistake worth telling, not to be passed over. */
export function refuseUnknownSettings(
  plugins: readonly AnyPlugin[],
  settings: Readonly<Record<string, unknown>>,
): void {
  for (const key of Object.keys(settings)) {
    if (plugins.some((plugin) => isNamed(plugin, key))) continue;
    const names = plugins.flatMap((plugin) => [plugin.name, idOf(plugin)]);
    const near = nearest(key, names);
    throw new Fault("invalid", `Settings name an unknown plugin "${key}"${near ? `; did you mean "${near}"?` : ""}`);
  }
}

/** Those of these plugins, out of the settings for every plugin of the program. */
export function settingsOf(
  plugins: readonly AnyPlugin[],
  settings: Readonly<Record<string, unknown>>,
): Readonly<Record<string, unknown>> {
  return Object.fromEntries(Object.entries(settings).filter(([key]) => plugins.some((plugin) => isNamed(plugin, key))));
}

/** The settings of one plugin, checked and completed, out of those for every plugin of the program. */
export function configured<C>(plugin: Plugin<unknown, C>, settings: Readonly<Record<string, unknown>>): C {
  return configure(plugin as AnyPlugin, rawSettings(plugin as AnyPlugin, settings)) as C;
}

export function rawSettings(plugin: AnyPlugin, settings: Readonly<Record<string, unknown>>): unknown {
  const id = idOf(plugin);
  if (Object.hasOwn(settings, id)) return settings[id];
  return Object.hasOwn(settings, plugin.name) ? settings[plugin.name] : undefined;
}

function configure(plugin: AnyPlugin, raw: unknown): unknown {
  if (!plugin.configure) {
    if (raw === undefined || raw === null) return undefined;
    throw new Fault("invalid", `Plugin "${idOf(plugin)}" takes no settings`);
  }
  try {
    return plugin.configure(raw);
  } catch (error) {
    const fault = toFault(error, "its settings", "invalid");
    throw new Fault(fault.code, `Cannot configure plugin "${idOf(plugin)}": ${fault.message}`, { cause: error });
  }
}

/** The plugins so that each comes after all plugins of the kinds it needs; otherwise as listed. */
function inOrderOfNeeds(plugins: readonly AnyPlugin[]): AnyPlugin[] {
  const ordered: AnyPlugin[] = [];
  const state = new Map<AnyPlugin, "visiting" | "done">();
  const visit = (plugin: AnyPlugin, path: readonly string[]): void => {
    if (state.get(plugin) === "done") return;
    const trail = [...path, idOf(plugin)];
    if (state.get(plugin) === "visiting")
      throw new Fault(
        "invalid",
        `Plugins need each other in a circle: ${trail.slice(trail.indexOf(idOf(plugin))).join(" -> ")}`,
      );
    state.set(plugin, "visiting");
    for (const need of plugin.needs ?? []) {
      for (const other of plugins) if (other.kind.name === need.name) visit(other, trail);
    }
    state.set(plugin, "done");
    ordered.push(plugin);
  };
  for (const plugin of plugins) visit(plugin, []);
  return ordered;
}

interface Opened {
  readonly plugin: AnyPlugin;
  readonly instance: unknown;
}

class Registry implements OpenedPlugins {
  readonly skipped: { kind: string; name: string; reason: string }[] = [];
  readonly #options: OpenPluginsOptions;
  #opened: Opened[] = [];
  readonly #closers: { of: string; close: () => void | Promise<void> }[] = [];

  constructor(options: OpenPluginsOptions) {
    this.#options = options;
  }

  all<T>(of: Kind<T>): readonly T[] {
    return this.#opened.filter(({ plugin }) => plugin.kind.name === of.name).map(({ instance }) => instance as T);
  }

  named<T>(of: Kind<T>, name: string): T | undefined {
    const found = this.#opened.find(({ plugin }) => plugin.kind.name === of.name && plugin.name === name);
    return found?.instance as T | undefined;
  }

  async open(plugin: AnyPlugin, settings: unknown, call: Call): Promise<void> {
    const id = idOf(plugin);
    const { log } = this.#options;
    try {
      const reason = await plugin.unfit?.(call);
      if (reason !== undefined) {
        this.skipped.push({ kind: plugin.kind.name, name: plugin.name, reason });
        log.info({ plugin: id, reason }, "plugin left out");
        return;
      }
      const instance = await plugin.open(await this.#hostOf(plugin, settings), call);
      this.#opened.push({ plugin, instance });
    } catch (error) {
      const fault = toFault(error, "it failed");
      throw new Fault(fault.code, `Cannot open plugin "${id}": ${fault.message}`, { cause: error });
    }
  }

  /** Puts plugins back into the order of the list, which is the one they are asked in. */
  arrange(plugins: readonly AnyPlugin[]): void {
    this.#opened = this.#opened.toSorted((a, b) => plugins.indexOf(a.plugin) - plugins.indexOf(b.plugin));
  }

  async close(): Promise<void> {
    for (let next = this.#closers.pop(); next; next = this.#closers.pop()) {
      try {
        await next.close();
      } catch (error) {
        // The others must still be closed, and there is nobody left to hand this to.
        this.#options.log.error({ err: error, plugin: next.of }, "plugin failed to close");
      }
    }
    this.#opened = [];
  }

  async #hostOf(plugin: AnyPlugin, settings: unknown): Promise<Host> {
    const id = idOf(plugin);
    const stateDir = join(this.#options.stateDir, plugin.kind.name, plugin.name);
    await mkdir(stateDir, { recursive: true, mode: 0o700 });
    return {
      settings,
      stateDir,
      log: this.#options.log.child({ plugin: id }),
      clock: this.#options.clock,
      all: <T>(of: Kind<T>) => {
        if (!plugin.needs?.some((need) => need.name === of.name))
          throw new Fault("internal", `Plugin "${id}" asks for kind "${of.name}" without naming it in its needs`);
        return this.all(of);
      },
      onClose: (close) => void this.#closers.push({ of: id, close }),
    };
  }
}
