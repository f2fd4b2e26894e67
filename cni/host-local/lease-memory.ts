// What this process knows of a lease folder, so that a thousand attachments need not read a thousand files each. Only ever asked while
// the folder's lock is held. It holds as long as the folder's time of change is what we left, and the lock file still names us: every
// other process of ours that changes leases writes its own name there, and a foreign program's change shows in the time.

import { randomUUID } from "node:crypto";
import { readFileSync, statSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";

export interface LeaseOwner {
  readonly containerId: string;
  readonly ifName: string;
}

interface Known {
  readonly changedNs: bigint;
  readonly ownersByAddress: Map<string, LeaseOwner>;
}

const self = randomUUID();
const knownByFolder = new Map<string, Known>();

const changedNs = (dir: string) => statSync(dir, { bigint: true }).mtimeNs;

/** The owners by the text of their address, or undefined when the folder has to be read. */
export function recall(dir: string): Map<string, LeaseOwner> | undefined {
  const known = knownByFolder.get(dir);
  if (!known || known.changedNs !== changedNs(dir) || lastWriter(dir) !== self) return undefined;
  return known.ownersByAddress;
}

/** Takes what was read of the folder, or changed in it, for what it holds now. */
export function remember(dir: string, ownersByAddress: Map<string, LeaseOwner>): void {
  sign(dir);
  // A time of our own, which the kernel will not give again: what a foreign program changes within the same tick of its clock shows, too.
  const earlier = Number(changedNs(dir) / 1_000_000n) / 1000 - 1;
  utimesSync(dir, earlier, earlier);
  knownByFolder.set(dir, { changedNs: changedNs(dir), ownersByAddress });
}

/** To be called before a change, so that one that is killed in the middle is seen by others too. */
export function forget(dir: string): void {
  knownByFolder.delete(dir);
  sign(dir);
}

function sign(dir: string): void {
  if (lastWriter(dir) !== self) writeFileSync(join(dir, "lock"), self);
}

function lastWriter(dir: string): string {
  return readFileSync(join(dir, "lock"), "utf8");
}
