// Opens the store that `--store` names: SQLite below the data dir, an etcd cluster, or a plugin of the user's.

import { join } from "node:path";
import type { Call } from "../../plugins/kit/base/call.ts";
import type { Clock } from "../../plugins/kit/base/clock.ts";
import { Fault } from "../../plugins/kit/base/fault.ts";
import type { Log } from "../../plugins/kit/base/log.ts";
import type { AnyPlugin } from "../../plugins/kit/base/plugin.ts";
import { chosenPlugin } from "../../plugins/kit/base/plugin-sides.ts";
import { configured, openChosen, rawSettings } from "../../plugins/kit/base/registry.ts";
import { type Store, storeKind } from "../../plugins/kit/contracts/store.ts";
import { openSqliteStore, sqlite } from "../../plugins/store/sqlite.ts";

export interface StoreChoice {
  /** `sqlite`, `etcd=https://a:2379,https://b:2379`, or the name of a plugin. */
  readonly store: string;
  readonly dataDir: string;
  /** The user's own, and the settings of all. */
  readonly plugins?: readonly AnyPlugin[];
  readonly settings?: Readonly<Record<string, unknown>>;
  readonly etcdTls?: { readonly caFile?: string; readonly certFile?: string; readonly keyFile?: string };
}

export async function openStore(
  { store, dataDir, etcdTls, plugins = [], settings = {} }: StoreChoice,
  log: Log,
  clock: Clock,
  call: Call,
): Promise<Store & { backup?(path: string): Promise<void> }> {
  if (store === "sqlite")
    return openSqliteStore({ ...configured(sqlite, settings), folder: join(dataDir, "store"), clock, log });
  const endpoints = /^etcd=(.+)$/.exec(store)?.[1]?.split(",");
  if (!endpoints) {
    const plugin = chosenPlugin("store", store, plugins);
    if (!plugin)
      throw new Fault(
        "invalid",
        `Bad value for --store: "${store}" is neither sqlite, etcd=https://host:2379 nor a plugin's name`,
      );
    const stateDir = join(dataDir, "plugins");
    return openChosen(storeKind, plugin, { settings, log, clock, stateDir }, call);
  }
  const { etcd, openEtcdStore } = await import("../../plugins/store/etcd.ts");
  const told = { ...(rawSettings(etcd as AnyPlugin, settings) as object | undefined), endpoints, ...etcdTls };
  return openEtcdStore({ ...configured(etcd, { etcd: told }), clock, log }, call);
}
