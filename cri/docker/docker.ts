// What the parts of this runtime share: the daemon, the network, and the tools to act. Owns no behaviour; what exists is asked of the
// daemon, which is the only keeper of state.

import type { NetworkLists } from "../../cni/invoke/network-lists.ts";
import type { Clock } from "../../plugins/kit/base/clock.ts";
import type { KeyedLock } from "../../plugins/kit/base/keyed-lock.ts";
import type { Log } from "../../plugins/kit/base/log.ts";
import type { Cgroups } from "../../plugins/kit/os/platform/cgroups.ts";
import type { DiskUsage } from "../../plugins/kit/os/platform/disk-usage.ts";
import type { SystemdManager } from "../../plugins/kit/os/systemd/manager.ts";
import type { CpuRates } from "../api/cgroup-usage.ts";
import type { EventFeed } from "../api/event-feed.ts";
import type { Engine } from "./engine/engine.ts";
import type { EngineInfoCache } from "./engine/engine-info.ts";
import type { Inventory } from "./inventory.ts";
import type { LogPumps } from "./logs/log-pumps.ts";

/** What sandboxes need of the network: `cni/invoke` is one. */
export type SandboxNetwork = Pick<NetworkLists, "add" | "del" | "status">;

export interface Docker {
  readonly engine: Engine;
  readonly info: EngineInfoCache;
  readonly inventory: Inventory;
  /** The mark of what is ours on a daemon that others use too. */
  readonly instance: string;
  readonly sandboxImage: string;
  readonly network: SandboxNetwork;
  readonly logs: LogPumps;
  readonly events: EventFeed;
  readonly host: HostFacts;
  readonly cgroups: Cgroups;
  /** Where the daemon has systemd make the groups of containers. */
  readonly systemd: SystemdManager | undefined;
  readonly rates: CpuRates;
  readonly disk: DiskUsage;
  readonly locks: KeyedLock;
  readonly clock: Clock;
  readonly log: Log;
  /** Sandboxes whose network is not there yet: not to be shown. */
  readonly unfinished: Set<string>;
  /** Addresses by sandbox id, in the network's own order. */
  readonly addresses: Map<string, readonly string[]>;
}

/** What this host lets containers have. */
export interface HostFacts {
  readonly capabilities: readonly string[];
  /** False where the host itself lacks capabilities: then Docker's own privileged mode cannot start anything. */
  readonly hasAllCapabilities: boolean;
  readonly lowestOomScoreAdj: number;
  readonly hasAppArmor: boolean;
}

export function nowNs(clock: Clock): bigint {
  return BigInt(Math.round(clock.now() * 1000)) * 1000n;
}
