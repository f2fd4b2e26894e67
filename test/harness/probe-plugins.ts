// The built-in probes, opened for tests on any runtime.

import type { Runtime } from "../../cri/api/contract.ts";
import { uninterrupted } from "../../plugins/kit/base/call.ts";
import { systemClock } from "../../plugins/kit/base/clock.ts";
import { type ContainerExec, containerExecKind } from "../../plugins/kit/contracts/container-exec.ts";
import { noLog } from "../../plugins/kit/base/log.ts";
import type { Kind, Plugin } from "../../plugins/kit/base/plugin.ts";
import type { ProbePlugin } from "../../plugins/kit/contracts/probe.ts";
import { probes } from "../../plugins/probe/index.ts";

export async function openProbes({ runtime }: Pick<Runtime, "runtime">): Promise<ProbePlugin[]> {
  const containers: ContainerExec = {
    exec: (containerId, command, seconds, call) =>
      runtime.execSync({ containerId, cmd: [...command], timeout: BigInt(seconds) }, call),
  };
  return Promise.all(probes.map((plugin) => openProbe(plugin, containers)));
}

export async function openProbe(plugin: Plugin<ProbePlugin>, containers: ContainerExec): Promise<ProbePlugin> {
  const all = <T>(of: Kind<T>) => (of.name === containerExecKind.name ? [containers] : []) as T[];
  const host = { settings: undefined, log: noLog, clock: systemClock, stateDir: "", all, onClose: () => {} };
  return plugin.open(host, uninterrupted);
}
