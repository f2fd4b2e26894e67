// The node as its pods see it, put together from configuration and machine.

import { readFileSync } from "node:fs";
import type { AgentConfig } from "../config/agent-config.ts";
import { parseResolver } from "../containers/dns.ts";
import type { NodeFacts } from "./contract.ts";
import type { Directories } from "./directories.ts";
import type { MachineFacts } from "../host/machine.ts";
import type { NodeManager } from "./node-manager.ts";

export function nodeFacts(
  config: AgentConfig,
  machine: MachineFacts,
  dirs: Directories,
  nodes: NodeManager,
  addresses: () => readonly string[],
  given: Pick<NodeFacts, "cgroupParent" | "usersOf">,
): NodeFacts {
  const read = (path: string) => {
    try {
      return readFileSync(path, "utf8");
    } catch {
      // A host without the file has nothing to hand down.
      return "";
    }
  };
  return {
    nodeName: config.nodeName,
    hostIps: addresses,
    allocatable: () => nodes.allocatable(),
    clusterDns: config.clusterDns,
    clusterDomain: config.clusterDomain,
    resolver: () => parseResolver(read(config.resolvConf)),
    hostsFile: () => read("/etc/hosts"),
    podsDir: dirs.pods,
    logsDir: dirs.logs,
    seccompDir: dirs.seccomp,
    seccompDefault: config.seccompDefault,
    hasAppArmor: machine.hasAppArmor,
    cgroupVersion: machine.cgroupVersion,
    hasMemoryController: machine.hasMemoryController,
    hasSwapController: machine.hasSwapController,
    memoryCapacityBytes: machine.memoryBytes,
    hasRecursiveReadOnly: (handler) =>
      nodes.runtimeHandlers().some(({ name, features }) => name === handler && features?.recursiveReadOnlyMounts),
    ...given,
  };
}
