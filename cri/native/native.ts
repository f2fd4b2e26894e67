// What the parts of this runtime share: where things lie, what is remembered, and the tools to act. Owns no behaviour.

import { createHash, randomBytes } from "node:crypto";
import { join } from "node:path";
import type { NetworkLists } from "../../cni/invoke/network-lists.ts";
import type { Clock } from "../../plugins/kit/base/clock.ts";
import type { Log } from "../../plugins/kit/base/log.ts";
import type { ContainerRecord } from "./containers/container-record.ts";
import type { DiskUsage } from "../../plugins/kit/os/platform/disk-usage.ts";
import type { HostFacts } from "./containers/host-facts.ts";
import type { RuntimeEvents } from "./runtime-events.ts";
import type { Images } from "./images/image-service.ts";
import type { Cgroups } from "../../plugins/kit/os/platform/cgroups.ts";
import type { Spawner } from "./kernel/spawn.ts";
import type { Gate } from "../../plugins/kit/base/gate.ts";
import type { KeyedLock } from "../../plugins/kit/base/keyed-lock.ts";
import type { RecordStore } from "./record-store.ts";
import type { SandboxRecord } from "./sandboxes/sandbox-record.ts";
import type { StartConditions } from "./start-conditions.ts";

/** What sandboxes need of the network: `cni/invoke` is one. */
export type SandboxNetwork = Pick<NetworkLists, "add" | "del" | "status">;

export interface Native {
  readonly paths: NativePaths;
  readonly sandboxes: RecordStore<SandboxRecord>;
  readonly containers: RecordStore<ContainerRecord>;
  readonly images: Images;
  readonly disk: DiskUsage;
  readonly network: SandboxNetwork;
  readonly spawner: Spawner;
  readonly cgroups: Cgroups;
  readonly host: HostFacts;
  readonly events: RuntimeEvents;
  readonly locks: KeyedLock;
  /** How many containers are made at once. */
  readonly launches: Gate;
  /** How many sandboxes are made, and how many things taken down, at once. Never entered twice by one task. */
  readonly making: Gate;
  readonly clearing: Gate;
  /** The hierarchies in which we are in a group of our own, such as a service's, that children must leave to outlive it. */
  readonly ownGroups: readonly string[];
  /** Where device specifications lie. */
  readonly cdiFolders: readonly string[];
  readonly clock: Clock;
  readonly log: Log;
  /** Absolute paths of the programs it stands on. */
  readonly programs: { readonly oci: string; readonly conmon: string };
  readonly startConditions: StartConditions;
}

/** What survives a reboot lies below `root`; what a reboot ends lies below `runDir`. */
export class NativePaths {
  readonly root: string;
  readonly runDir: string;
  /** Conmon leaves an exit code here, in a file named after the container. */
  readonly exits: string;
  /** Conmon leaves a note here when memory ran out. */
  readonly persist: string;
  readonly attach: string;
  readonly ociState: string;
  /** Above the cgroups of pods that bring none of their own. Not shared: a runtime that closes removes its own while it is empty. */
  readonly defaultCgroup: string;
  readonly conmonCgroup: string;

  constructor(root: string, runDir: string) {
    this.root = root;
    this.runDir = runDir;
    this.exits = join(runDir, "exits");
    this.persist = join(runDir, "p");
    this.attach = join(runDir, "a");
    this.ociState = join(runDir, "oci");
    const id = createHash("sha256").update(root).digest("hex").slice(0, 8);
    this.defaultCgroup = `/skiff-native-${id}`;
    this.conmonCgroup = `/skiff-conmon-${id}`;
  }

  /** The bundle: config.json, root file system and what the container wrote. */
  container(id: string): string {
    return join(this.root, "containers", id);
  }

  rootfs(id: string): string {
    return join(this.container(id), "rootfs");
  }

  sandbox(id: string): string {
    return join(this.runDir, "s", id);
  }

  namespaces(id: string): string {
    return join(this.sandbox(id), "ns");
  }
}

export function newId(): string {
  return randomBytes(32).toString("hex");
}

export function nowNs(clock: Clock): bigint {
  return BigInt(Math.round(clock.now() * 1000)) * 1000n;
}
