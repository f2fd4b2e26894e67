// What pods need to know of the node they run on. Getters, because addresses and allocatable resources change while the agent runs.

import type { Resolver } from "../containers/dns.ts";
import type { IdRange } from "../model/id-range.ts";
import type { AgentPod } from "../model/agent-pod.ts";

export interface NodeFacts {
  readonly nodeName: string;
  /** The primary first; may be empty while the node has no address yet. */
  hostIps(): readonly string[];
  allocatable(): Readonly<Record<string, string>>;
  readonly clusterDns: readonly string[];
  readonly clusterDomain: string;
  /** The host's own resolver, read anew so that changes reach new pods. */
  resolver(): Resolver;
  /** The host's /etc/hosts, for pods on its network. */
  hostsFile(): string;
  readonly podsDir: string;
  readonly logsDir: string;
  readonly seccompDir: string;
  readonly seccompDefault: boolean;
  readonly hasAppArmor: boolean;
  readonly cgroupVersion: 1 | 2;
  readonly hasMemoryController: boolean;
  readonly hasSwapController: boolean;
  readonly memoryCapacityBytes: bigint;
  /** Whether this handler of the runtime can make what lies below a read-only mount read-only, too. */
  hasRecursiveReadOnly(runtimeHandler: string): boolean;
  /** The pod's cgroup as the runtime takes it; empty leaves it to the runtime. */
  cgroupParent(pod: AgentPod): string;
  /** The host's ids for a pod with users of its own; undefined for one that shares the host's. */
  usersOf(pod: AgentPod): IdRange | undefined;
}

/** As the builders of configs take it. */
export function ownUsersOf(node: Pick<NodeFacts, "usersOf">, pod: AgentPod): { ownUsers?: IdRange } {
  const ownUsers = node.usersOf(pod);
  return ownUsers ? { ownUsers } : {};
}
