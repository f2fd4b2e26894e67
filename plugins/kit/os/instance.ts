// What every way to run the program has in common: the data dir taken for this process, the user's own plugins, and telling when it is ready.

import { type Clock, systemClock } from "../base/clock.ts";
import type { Log } from "../base/log.ts";
import { claimDataDir } from "./platform/data-dir.ts";
import { keepServiceManagerTold } from "./platform/notify.ts";
import { keepGivingBack } from "./platform/spare-memory.ts";
import { handleStrayErrors } from "./platform/stray-errors.ts";
import type { AnyPlugin } from "../base/plugin.ts";
import { refuseUnknownKinds } from "../base/plugin-sides.ts";
import type { Settings } from "../base/settings.ts";
import { loadUserPlugins } from "./user-plugins.ts";

export interface Instance {
  readonly userPlugins: readonly AnyPlugin[];
  release(): void;
}

/** Takes the data dir, so that no second process may, and loads the user's plugins. Once a process: from here on it is to stay. */
export async function openInstance(settings: Settings, log: Log): Promise<Instance> {
  handleStrayErrors(log);
  const lock = await claimDataDir(String(settings["data-dir"]));
  const userPlugins = await loadUserPlugins((settings.plugins as readonly string[] | undefined) ?? [], process.cwd());
  refuseUnknownKinds(userPlugins);
  const stopGivingBack = keepGivingBack(systemClock);
  return {
    userPlugins,
    release: () => {
      stopGivingBack();
      lock.release();
    },
  };
}

/** Prints the line that begins with `ready`, tells what to try next, and waits for the end. */
export async function tellReady(
  facts: { startedAt: number } & Record<string, unknown>,
  next: string,
  signal: AbortSignal,
): Promise<void> {
  if (signal.aborted) return;
  const { startedAt, kubeconfig, ...named } = facts;
  const seconds = ((performance.now() - startedAt) / 1000).toFixed(1);
  const shown = Object.entries({ ...named, seconds, ...(kubeconfig ? { kubeconfig } : {}) }).map(
    ([name, value]) => `${name}=${value}`,
  );
  await keepServiceManagerTold("ready", signal);
  process.stdout.write(`ready ${shown.join(" ")}\n${next}`);
  await new Promise((resolve) => signal.addEventListener("abort", resolve, { once: true }));
}

/** A box that comes up with no cluster in reach does its work all the same: the service manager must not start it anew for that. */
const patienceMs = 60_000;

/** Resolves when the node is ready, or when it is stopped before. */
export async function whenReady(agent: { isReady(): boolean }, clock: Clock, signal: AbortSignal): Promise<void> {
  const cancel = clock.after(patienceMs, () => {
    if (!signal.aborted) void keepServiceManagerTold("running, but the node is not ready yet", signal);
  });
  while (!signal.aborted && !agent.isReady()) await clock.sleep(20, { signal }).catch(() => {});
  cancel();
}
