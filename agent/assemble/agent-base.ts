// What every part of the agent stands on: its folders, the machine's facts, the way to the API, the events, and what it remembers.

import { statSync } from "node:fs";
import { join } from "node:path";
import type { Runtime } from "../../cri/api/contract.ts";
import { ApiClient } from "../../plugins/kit/kube/client/api-client.ts";
import { type Clock, systemClock } from "../../plugins/kit/base/clock.ts";
import { EventRecorder } from "../../plugins/kit/kube/events.ts";
import type { Log } from "../../plugins/kit/base/log.ts";
import { projectFolder } from "../../plugins/kit/os/platform/project.ts";
import type { AgentConfig } from "../config/agent-config.ts";
import { rememberedAddresses } from "../node/addresses.ts";
import { makeDirectories } from "../node/directories.ts";
import { machineFacts } from "../host/machine.ts";
import { patientRuntime } from "../runtime/with-timeouts.ts";
import { AgentMeters } from "../runtime/agent-meters.ts";
import { measuredRecorder, measuredRuntime } from "./measured.ts";
import { EventLog } from "../pods/event-log.ts";
import { noRecorder } from "../model/recorder.ts";
import { Checkpoint } from "../sources/checkpoint.ts";
import type { AgentOptions } from "./agent.ts";

/** What every part stands on. */
export interface AgentBase {
  readonly config: AgentConfig;
  readonly log: Log;
  readonly clock: Clock;
  /** Stops the agent. */
  readonly stop: AbortController;
  readonly meters: AgentMeters;
  readonly runtime: Runtime;
  /** Wall time that has passed for certain: of the program, or of the agent's last run here. */
  readonly laterThan: number;
  readonly dirs: ReturnType<typeof makeDirectories>;
  readonly machine: ReturnType<typeof machineFacts>;
  readonly addresses: ReturnType<typeof rememberedAddresses>;
  /** Absent on a node with static pods alone. */
  readonly client: ApiClient | undefined;
  readonly recorder: EventLog;
  /** Ends what the recorder has under way. */
  closeRecorder(): void;
  readonly checkpoint: Checkpoint;
  /** What the node was told to run when it last ran. */
  readonly remembered: Awaited<ReturnType<Checkpoint["load"]>>;
}

export async function openBase(options: AgentOptions): Promise<AgentBase> {
  const { config, log, clock = systemClock } = options;
  const meters = new AgentMeters();
  const runtime = measuredRuntime(patientRuntime(options.runtime, clock), meters, clock);
  const stop = new AbortController();
  const dirs = makeDirectories(config.dataDir);
  const laterThan = Math.max(
    ...[join(projectFolder, "package.json"), dirs.agent].map((path) => statSync(path).mtimeMs),
  );
  const machine = machineFacts();
  const addresses = rememberedAddresses(config.nodeIps, clock);
  if (!machine.hasMemoryController) {
    log.warn(
      {},
      "the kernel has no memory controller: memory limits of containers are not enforced (cgroup_enable=memory)",
    );
  }
  const host = options.api?.server ? new URL(options.api.server).host : "in-process";
  const client = options.api
    ? new ApiClient({
        ...options.api,
        fetch: meters.client.measured(options.api.fetch, clock, host),
        log,
        clock,
        userAgent: "skiff-agent",
      })
    : undefined;
  const eventRecorder =
    client && new EventRecorder({ client, component: "kubelet", host: config.nodeName, clock, log });
  const recorder = new EventLog(measuredRecorder(eventRecorder ?? noRecorder, meters), clock);
  const checkpoint = new Checkpoint({ dir: dirs.agent, clock, log });
  const remembered = await checkpoint.load();
  return {
    config,
    log,
    clock,
    stop,
    meters,
    runtime,
    laterThan,
    dirs,
    machine,
    addresses,
    client,
    recorder,
    closeRecorder: () => eventRecorder?.close(),
    checkpoint,
    remembered,
  };
}
