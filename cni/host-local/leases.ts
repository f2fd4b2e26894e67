// Leases on disk, in the layout of the upstream host-local program, so that both may share a folder: one file per address that
// holds the container id and the interface, `last_reserved_ip.<set>`, and a `lock` file held by flock(2).
// Invariants: every change happens under the lock; a file without content was left by a killed writer and is free;
// the kernel drops the lock of a killed process.

import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Call } from "../../plugins/kit/call.ts";
import { type Address, formatAddress, tryAddress } from "../../plugins/kit/net/address.ts";
import { withFileLock } from "../../plugins/kit/net/file-lock.ts";
import { networkName } from "../spec/config.ts";
import { CniFault, cniCode } from "../spec/error.ts";

export const defaultDataDir = "/var/lib/cni/networks";

export interface Lease {
  readonly address: Address;
  readonly containerId: string;
  readonly ifName: string;
}

/** What may be done while the lock is held. Synchronous, so that nothing else of this process comes between. */
export interface LockedLeases {
  list(): Lease[];
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
  return {
    list() {
      const leases: Lease[] = [];
      for (const name of readdirSync(dir)) {
        const address = tryAddress(name);
        const owner = address && readOwner(join(dir, name));
        if (address && owner) leases.push({ address, ...owner });
      }
      return leases;
    },
    isTaken: (address) => readOwner(pathOf(address)) !== undefined,
    reserve(lease) {
      attempt(`Cannot write the lease of ${formatAddress(lease.address)}`, () =>
        writeFileSync(pathOf(lease.address), `${lease.containerId}\r\n${lease.ifName}`, { mode: 0o600 }),
      );
    },
    release(lease) {
      attempt(`Cannot remove the lease of ${formatAddress(lease.address)}`, () =>
        rmSync(pathOf(lease.address), { force: true }),
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

function readOwner(path: string): { containerId: string; ifName: string } | undefined {
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
