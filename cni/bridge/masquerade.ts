// Masquerading for a network: one nftables table each, with the sources that leave under the host's address and the prefixes they
// reach under their own. Deleting the table is deleting every trace.

import type { Call } from "../../plugins/kit/base/call.ts";
import { formatAddress, formatPrefix, networkOf, type Prefix } from "../../plugins/kit/os/net/address.ts";
import type { Nft } from "../../plugins/kit/os/net/nft.ts";
import { networkHash, ownerComment } from "../net/owner.ts";
import { inOwnedTables, listOwned, removeOwned } from "./owned-table.ts";

export function masqueradeTable(network: string): string {
  return `skiff_masq_${networkHash(network)}`;
}

interface Owner {
  readonly containerId: string;
  readonly ifName: string;
}

/** The whole script that makes the network's table right and adds the addresses of one attachment. Pure. */
export function masqueradeScript(
  network: string,
  owner: Owner,
  ips: readonly Prefix[],
  near: readonly Prefix[],
): string {
  const table = `inet ${masqueradeTable(network)}`;
  const comment = ownerComment(owner.containerId, owner.ifName);
  const lines = [`add table ${table} { comment "network ${network}"; }`];
  for (const family of [4, 6] as const) {
    lines.push(`add set ${table} from${family} { type ipv${family}_addr; }`);
    lines.push(`add set ${table} near${family} { type ipv${family}_addr; flags interval; auto-merge; }`);
  }
  lines.push(
    `add chain ${table} leaving { type nat hook postrouting priority srcnat; }`,
    `flush chain ${table} leaving`,
  );
  for (const family of [4, 6] as const) {
    const ip = family === 4 ? "ip" : "ip6";
    const multicast = family === 4 ? "224.0.0.0/4" : "ff00::/8";
    lines.push(
      `add rule ${table} leaving ${ip} saddr @from${family} ${ip} daddr != @near${family} ${ip} daddr != ${multicast} masquerade`,
    );
    const networks = [...ips.map(networkOf), ...near]
      .filter((prefix) => prefix.address.family === family)
      .map(formatPrefix);
    if (networks.length > 0) lines.push(`add element ${table} near${family} { ${[...new Set(networks)].join(", ")} }`);
  }
  for (const { address } of ips) {
    const set = `${table} from${address.family}`;
    // Added, removed, added: whatever comment an older owner left is replaced, and nothing fails.
    lines.push(
      `add element ${set} { ${formatAddress(address)} }`,
      `delete element ${set} { ${formatAddress(address)} }`,
      `add element ${set} { ${formatAddress(address)} comment "${comment}" }`,
    );
  }
  return lines.join("\n");
}

/** Masquerades the addresses of an attachment from now on. */
export async function addSources(nft: Nft, script: string, call: Call): Promise<void> {
  await inOwnedTables(() => nft.run(script, call), call);
}

const sourcesOf = (network: string) => ({ table: `inet ${masqueradeTable(network)}`, sets: ["from4", "from6"] });

/** Removes the addresses of owners that `isGone` names. Others' addresses stay, also when they are the same as a former owner's. */
export async function removeSources(
  nft: Nft,
  network: string,
  isGone: (comment: string) => boolean,
  call: Call,
): Promise<void> {
  await removeOwned(nft, sourcesOf(network), isGone, call);
}

export async function hasSources(
  nft: Nft,
  network: string,
  comment: string,
  ips: readonly Prefix[],
  call: Call,
): Promise<boolean> {
  const found = await listOwned(nft, sourcesOf(network), call);
  return ips.every(({ address }) =>
    found.some((source) => source.value === formatAddress(address) && source.comment === comment),
  );
}
