// Leases on disk, in the layout of the upstream host-local program, so that both may share a folder: one file per address that
// holds the container id and the interface, `last_reserved_ip.<set>`, and a `lock` file held by flock(2).
// Invariants: every change happens under the lock; a file without content was left by a killed writer and is free;
// the kernel drops the lock of a killed process.

import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Call } from "../../plugins/kit/base/call.ts";
import { type Address, formatAddress, tryAddress } from "../../plugins/kit/os/net/address.ts";
import { withFileLock } from "../../plugins/kit/os/net/file-lock.ts";
import { networkName } from "../spec/config.ts";
import { CniFault, cniCode } from "../spec/error.ts";
import { forget, type LeaseOwner, recall, remember } from "./lease-memory.ts";

export const defaultDataDir = "/var/lib/cni/networks";

export interface Lease {
  readonly address: Address;
  readonly containerId: string;
  readonly ifName: string;
}

/** What may be done while the lock is held. Synchronous, so that nothing else of this process comes between. */
export interface LockedLeases {
  list(): Lease[];
  /** Those of one container's interface. Leases written by old upstream programs name no interface: they belong to all of the container's. */
  listOf(owner: LeaseOwner): Lease[];
  isTaken(address: Address): boolean;
  reserve(lease: Lease): void;
  release(lease: Lease): void;
  lastReserved(set: number): Address | undefined;
  setLastReserved(set: number, address: Address): void;
}

export async function withLeases<T>(
  dataDir: string,
  network: string,
  work: (leases: LockedLeases) => T,
  call: Call,
): Promise<T> {
  const dir = join(dataDir, networkName(network));
  attempt(`Cannot make the lease folder "${dir}"`, () => void mkdirSync(dir, { recursive: true, mode: 0o755 }));
  return withFileLock(join(dir, "lock"), () => work(leasesIn(dir)), call);
}

function leasesIn(dir: string): LockedLeases {
  const pathOf = (address: Address) => join(dir, formatAddress(address));
  /** Nothing is known while a change is under way: one that fails must not be remembered as done. */
  const change = (alter: (owners: Map<string, LeaseOwner>) => void, work: () => void) => {
    const owners = recall(dir);
    forget(dir);
    work();
    if (!owners) return;
    alter(owners);
    remember(dir, owners);
  };
  const read = () => {
    const owners = readOwners(dir);
    remember(dir, owners);
    return owners;
  };
  const found = (owners: Map<string, LeaseOwner>, isWanted: (owner: LeaseOwner) => boolean): Lease[] =>
    [...owners].flatMap(([name, owner]) => {
      const address = isWanted(owner) ? tryAddress(name) : undefined;
      return address ? [{ address, ...owner }] : [];
    });
  return {
    list: () => found(read(), () => true),
    listOf({ containerId, ifName }) {
      const isWanted = (owner: LeaseOwner) =>
        owner.containerId === containerId && (owner.ifName === ifName || owner.ifName === "");
      return found(recall(dir) ?? read(), isWanted);
    },
    isTaken: (address) => readOwner(pathOf(address)) !== undefined,
    reserve({ address, containerId, ifName }) {
      attempt(`Cannot write the lease of ${formatAddress(address)}`, () =>
        change(
          (owners) => owners.set(formatAddress(address), { containerId, ifName }),
          () => writeFileSync(pathOf(address), `${containerId}\r\n${ifName}`, { mode: 0o600 }),
        ),
      );
    },
    release({ address }) {
      attempt(`Cannot remove the lease of ${formatAddress(address)}`, () =>
        change(
          (owners) => owners.delete(formatAddress(address)),
          () => rmSync(pathOf(address), { force: true }),
        ),
      );
    },
    lastReserved(set) {
      try {
        return tryAddress(readFileSync(join(dir, `last_reserved_ip.${set}`), "utf8").trim());
      } catch {
        // Nothing was given out yet: begin at the start of the range.
        return undefined;
      }
    },
    setLastReserved(set, address) {
      attempt("Cannot write the last reserved address", () =>
        writeFileSync(join(dir, `last_reserved_ip.${set}`), formatAddress(address), { mode: 0o600 }),
      );
    },
  };
}

function readOwners(dir: string): Map<string, LeaseOwner> {
  const owners = new Map<string, LeaseOwner>();
  for (const name of readdirSync(dir)) {
    const owner = tryAddress(name) && readOwner(join(dir, name));
    if (owner) owners.set(name, owner);
  }
  return owners;
}

function readOwner(path: string): LeaseOwner | undefined {
  try {
    const [containerId = "", ifName = ""] = readFileSync(path, "utf8").trim().split(/\r?\n/);
    return containerId === "" ? undefined : { containerId, ifName };
  } catch {
    return undefined;
  }
}

function attempt(doing: string, work: () => void): void {
  try {
    work();
  } catch (error) {
    throw new CniFault(cniCode.ioFailure, `${doing}: ${(error as Error).message}`, { cause: error });
  }
}
