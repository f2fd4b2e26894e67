// The node's stats put together: cgroup sources, the machine's facts, and what the agent knows of its pods.

import { readFileSync } from "node:fs";
import { networkInterfaces } from "node:os";
import type { Clock } from "../../plugins/kit/base/clock.ts";
import type { Log } from "../../plugins/kit/base/log.ts";
import { Cgroups } from "../../plugins/kit/os/platform/cgroups.ts";
import { statsKind } from "../../plugins/kit/contracts/stats-source.ts";
import type { Agent } from "./agent.ts";
import { nodeAddresses } from "../../plugins/kit/os/net/own-addresses.ts";
import { machineFacts } from "../host/machine.ts";
import type { CertificateRenewals } from "../stats/agent-metrics.ts";
import { coreCounts } from "../stats/cadvisor/topology.ts";
import { probeMetrics } from "../stats/probe-metrics.ts";
import { openStats, type Stats } from "../stats/routes.ts";
import { PodDirectories } from "../volumes/pod-directories.ts";

export interface NodeStatsOptions {
  readonly agent: Agent;
  readonly dataDir: string;
  readonly nodeIps: readonly string[];
  readonly certificateEndsAt?: (() => number | undefined) | undefined;
  readonly renewals?: (() => CertificateRenewals | undefined) | undefined;
  readonly clock: Clock;
  readonly log: Log;
}

export function openNodeStats(options: NodeStatsOptions): Stats {
  const { agent, dataDir, nodeIps, clock, log } = options;
  const machine = machineFacts();
  const { cores, sockets } = coreCounts(machine.cpus);
  const directories = new PodDirectories(dataDir);
  return openStats({
    view: agent.view,
    sources: agent.plugins.all(statsKind),
    cgroups: new Cgroups(),
    cgroupOf: (pod) => agent.cgroupOf(pod),
    dataDir,
    volumesOf: (uid) => directories.volumes(uid),
    usageOf: ({ pluginName, path }, call) => agent.volumes.usage(pluginName, path, call),
    machine: {
      cpus: machine.cpus,
      memoryBytes: Number(machine.memoryBytes),
      kernelVersion: machine.kernelVersion,
      osImage: machine.osImage,
      bootedAt: bootedAt(clock),
      machineId: machine.machineId,
      systemUuid: machine.systemUuid,
      bootId: machine.bootId,
      physicalCores: cores,
      sockets,
    },
    defaultInterface: () => interfaceOf(nodeAddresses(nodeIps)[0] ?? ""),
    meters: agent.meters,
    certificateEndsAt: options.certificateEndsAt,
    renewals: options.renewals,
    probes: () => probeMetrics(agent.probeCounts),
    clock,
    log: log.child({ part: "stats" }),
  });
}

function interfaceOf(address: string): string {
  const found = Object.entries(networkInterfaces()).find(([, own]) => own?.some((one) => one.address === address));
  return found?.[0] ?? "";
}

function bootedAt(clock: Clock): number {
  const seconds = /^btime (\d+)/m.exec(readFileSync("/proc/stat", "utf8"))?.[1];
  return seconds ? Number(seconds) * 1000 : clock.now();
}
