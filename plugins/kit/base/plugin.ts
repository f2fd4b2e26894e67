// The plugin contract: what can be plugged (Kind), a plug (Plugin), and what it is handed when opened (Host).

import type { Call } from "./call.ts";
import type { Clock } from "./clock.ts";
import type { Log } from "./log.ts";

/** A list of plugins of every contract and settings type. */
export type AnyPlugin = Plugin<unknown, unknown>;

/** A socket that plugins of one contract fit; two kinds are the same when their names are. */
export interface Kind<T> {
  readonly name: string;
  /** Only carries the type of the contract; never set. */
  readonly contract?: T;
}

export function kind<T>(name: string): Kind<T> {
  return { name };
}

export interface Host<C = unknown> {
  readonly settings: C;
  readonly log: Log;
  readonly clock: Clock;
  /** Below the data dir, made before `open`, owned by this plugin alone. */
  readonly stateDir: string;
  /** The opened plugins of a kind that this plugin named in `needs`, in list order. */
  all<T>(of: Kind<T>): readonly T[];
  /** Runs when the registry closes, last registered first. */
  onClose(close: () => void | Promise<void>): void;
}

export interface Plugin<T = unknown, C = unknown> {
  readonly kind: Kind<T>;
  readonly name: string;
  /** Kinds whose plugins must be open before this one. */
  readonly needs?: readonly Kind<unknown>[];
  /** Checks and completes the raw settings; throws a Fault `invalid` that names the key. Settings are refused where it is absent. */
  configure?(raw: unknown): C;
  /** What may stand in the settings, each with what it does: for the reference. */
  readonly keys?: Readonly<Record<string, string>>;
  /** A reason why this host cannot run it, or undefined; a plugin with a reason is left out and the reason is told. */
  unfit?(call: Call): string | undefined | Promise<string | undefined>;
  open(host: Host<C>, call: Call): T | Promise<T>;
}
