// The file that has logind wait as long as pods may take: there only while its own limit is too short for what is configured.

import { existsSync, mkdirSync, readFileSync, rmdirSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { type Call, within } from "../../plugins/kit/base/call.ts";
import type { Clock } from "../../plugins/kit/base/clock.ts";
import { Fault } from "../../plugins/kit/base/fault.ts";
import type { SystemdManager } from "../../plugins/kit/os/systemd/manager.ts";
import type { Logind } from "./logind.ts";

const folder = "/etc/systemd/logind.conf.d";
const logindService = "systemd-logind.service";
const readAnew = 1; // SIGHUP
const reloadMs = 5_000;
const pollMs = 20;

/** After the files of others, whose values it overrides. An instance beside the main one has one of its own. */
export function delayFile(instance: string, root: string = "/"): string {
  return join(root, folder, instance ? `99-skiff-${instance}.conf` : "99-skiff.conf");
}

export interface DelayParts {
  readonly file: string;
  readonly manager: Pick<SystemdManager, "kill">;
  readonly clock: Clock;
}

/** Has logind wait for at least so long. Fault `unavailable` where it does not take that on. */
export async function raiseDelay(
  logind: Pick<Logind, "longestDelayMs">,
  seconds: number,
  parts: DelayParts,
  call: Call,
): Promise<void> {
  const { file, manager, clock } = parts;
  const wanted = `# Pods may take this long to end (shutdown-grace-period).\n[Login]\nInhibitDelayMaxSec=${seconds}\n`;
  const isThere = existsSync(file);
  const isEnough = async () => (await logind.longestDelayMs(call)) >= seconds * 1000;
  if (isThere ? readFileSync(file, "utf8") === wanted && (await isEnough()) : await isEnough()) return;
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, wanted);
  await manager.kill(logindService, readAnew, call);
  const patience = within(reloadMs, call);
  while (!(await isEnough())) {
    if (patience.signal.aborted)
      throw new Fault("unavailable", `logind waits for less than ${seconds} s: another file sets InhibitDelayMaxSec`);
    await clock.sleep(pollMs, call);
  }
}

/** Nothing where there is no file. */
export async function dropDelay({ file, manager }: Omit<DelayParts, "clock">, call: Call): Promise<void> {
  if (!existsSync(file)) return;
  rmSync(file);
  try {
    rmdirSync(dirname(file));
  } catch {
    // It holds files of others.
  }
  // A logind that is not there has nothing to forget.
  await manager.kill(logindService, readAnew, call).catch(() => {});
}
