// Which cgroup driver the runtime uses: the agent's own must be the same, or no container starts.

import type { Runtime } from "../../cri/api/contract.ts";
import { CgroupDriver as DriverOfRuntime } from "../../cri/api/gen/runtime.js";
import { type Call, within } from "../../plugins/kit/base/call.ts";
import type { Clock } from "../../plugins/kit/base/clock.ts";
import { isFault } from "../../plugins/kit/base/fault.ts";
import type { Log } from "../../plugins/kit/base/log.ts";
import type { AgentConfig } from "../config/agent-config.ts";
import type { CgroupDriver } from "./cgroup-driver.ts";

type DriverName = CgroupDriver["name"];

const askMs = 2_000;
const tries = 3;
const pauseMs = 1_000;

/** The runtime's word holds; the setting is for those that say nothing. */
export async function driverName(
  setting: AgentConfig["cgroupDriver"],
  runtime: Runtime["runtime"],
  { clock, log }: { readonly clock: Clock; readonly log: Log },
  call: Call,
): Promise<DriverName> {
  const said = await saidBy(runtime, clock, call);
  const set = setting === "auto" ? undefined : setting;
  if (said && set && said !== set)
    log.warn(
      { set, runtime: said },
      `cgroup-driver is ${set}, but the runtime uses ${said}: ${said} is taken; set both alike`,
    );
  return said ?? set ?? "cgroupfs";
}

async function saidBy(runtime: Runtime["runtime"], clock: Clock, call: Call): Promise<DriverName | undefined> {
  for (let left = tries; left > 0; left--) {
    try {
      const { linux } = await runtime.runtimeConfig({}, within(askMs, call));
      if (linux) return linux.cgroupDriver === DriverOfRuntime.SYSTEMD ? "systemd" : "cgroupfs";
      break;
    } catch (error) {
      if (call.signal.aborted) throw error;
      // One that is not up yet is asked again; an older one does not know the question.
      if (isFault(error, "unsupported")) break;
      await clock.sleep(pauseMs, call);
    }
  }
  return containerdDriver(runtime, call);
}

/** containerd before 2.0 shows its whole configuration to those who ask for its status. */
async function containerdDriver(runtime: Runtime["runtime"], call: Call): Promise<DriverName | undefined> {
  try {
    const { info } = await runtime.status({ verbose: true }, within(askMs, call));
    const { containerd } = JSON.parse(info["config"] ?? "{}") as ContainerdConfig;
    const options = containerd?.runtimes?.[containerd.defaultRuntimeName ?? "runc"]?.options;
    if (!options) return undefined;
    return options["SystemdCgroup"] === true ? "systemd" : "cgroupfs";
  } catch {
    return undefined;
  }
}

interface ContainerdConfig {
  readonly containerd?: {
    readonly defaultRuntimeName?: string;
    readonly runtimes?: Readonly<Record<string, { readonly options?: Readonly<Record<string, unknown>> } | undefined>>;
  };
}
