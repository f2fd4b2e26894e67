// nftables tables that attachments of a network share: each element names its owner in its comment, and the last one takes the
// table with it.

import { mkdirSync } from "node:fs";
import { join } from "node:path";
import type { Call } from "../../plugins/kit/base/call.ts";
import { isFault } from "../../plugins/kit/base/fault.ts";
import { withFileLock } from "../../plugins/kit/os/net/file-lock.ts";
import type { Nft } from "../../plugins/kit/os/net/nft.ts";
import { elementsOf, printElement } from "../net/owner.ts";

export interface OwnedSets {
  /** With its family. */
  readonly table: string;
  readonly sets: readonly string[];
}

interface OwnedElement {
  readonly set: string;
  readonly value: string;
  readonly comment: string;
}

// Two steps that must not come between each other: the last element takes the table with it, while another may be coming.
const lockDir = "/run/skiff";

export function inOwnedTables<T>(work: () => Promise<T>, call: Call): Promise<T> {
  mkdirSync(lockDir, { recursive: true, mode: 0o755 });
  return withFileLock(join(lockDir, "masquerade.lock"), work, call);
}

export async function listOwned(nft: Nft, { table, sets }: OwnedSets, call: Call): Promise<OwnedElement[]> {
  const found: OwnedElement[] = [];
  for (const set of sets) {
    try {
      const listed = await nft.list(`list set ${table} ${set}`, call);
      for (const entry of listed)
        for (const { value, comment } of elementsOf(entry)) found.push({ set, value: printElement(value), comment });
    } catch (error) {
      // A kernel without this family of tables has none of ours either.
      if (!isFault(error, "not-found", "unsupported")) throw error;
    }
  }
  return found;
}

export async function removeOwned(
  nft: Nft,
  owned: OwnedSets,
  isGone: (comment: string) => boolean,
  call: Call,
): Promise<void> {
  await inOwnedTables(async () => {
    const present = await listOwned(nft, owned, call);
    const stale = present.filter(({ comment }) => isGone(comment));
    if (stale.length === 0) return;
    const script =
      stale.length === present.length
        ? `delete table ${owned.table}`
        : stale.map(({ set, value }) => `delete element ${owned.table} ${set} { ${value} }`).join("\n");
    await nft.run(script, call);
  }, call);
}
