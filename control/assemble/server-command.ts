// `skiff server`: the control plane alone.

import { hostname } from "node:os";
import { systemClock } from "../../plugins/kit/base/clock.ts";
import type { CommandContext } from "../../plugins/kit/os/command-line.ts";
import { openInstance, tellReady } from "../../plugins/kit/os/instance.ts";
import type { Settings } from "../../plugins/kit/base/settings.ts";
import { checkPluginSettings } from "./plugin-settings.ts";
import { openServer } from "./server.ts";

/** Runs until it is stopped. */
export async function serverCommand(settings: Settings, { log, signal }: CommandContext): Promise<void> {
  const startedAt = performance.now();
  const instance = await openInstance(settings, log);
  const { userPlugins } = instance;
  checkPluginSettings(settings, userPlugins);
  const opened = await openServer(
    { settings, nodeName: hostname().toLowerCase(), userPlugins, log, clock: systemClock },
    { signal },
  );
  const running = opened.control.run({ signal });
  const next = `
Let a node join:
  skiff token create --data-dir ${String(settings["data-dir"])}          here, to get a token
  skiff agent --server https://<this box>:${String(settings["https-port"])} --token <token>    on the other box
`;
  await tellReady({ startedAt, kubeconfig: opened.kubeconfigPath }, next, signal);
  await running;
  await opened.close();
  instance.release();
}
