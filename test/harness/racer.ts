// A process that changes files under the feet of what is tested.

import { spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { selfCommand } from "../../plugins/kit/os/platform/runtime.ts";

type Teardown = { teardown(then: () => Promise<void>): void };

/** More than any test needs: a racer that nobody ends ends by itself. */
const mostRounds = 5_000_000;

async function start(t: Teardown, script: string, args: readonly string[]): Promise<() => Promise<void>> {
  const path = fileURLToPath(new URL(`../fixtures/${script}`, import.meta.url));
  const [command, ...words] = selfCommand(path, [...args, String(mostRounds)]);
  const racer = spawn(command, words, { stdio: ["ignore", "pipe", "inherit"] });
  const exited = once(racer, "exit");
  const stop = async () => {
    racer.kill("SIGKILL");
    await exited;
  };
  t.teardown(stop);
  await once(racer.stdout, "data");
  return stop;
}

/** Swaps the path with a symbolic link to the target until stopped. */
export const startSwapper = (t: Teardown, path: string, target: string): Promise<() => Promise<void>> =>
  start(t, "swap-loop.ts", [path, target]);

/** Plants a link of the name in every new version directory of a content volume until stopped. */
export const startPlanter = (t: Teardown, volume: string, name: string, target: string): Promise<() => Promise<void>> =>
  start(t, "plant-loop.ts", [volume, name, target]);
