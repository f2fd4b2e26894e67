// `macspoofchk`: what leaves a pod must bear the MAC that it was given. One table of the bridge family per network, with the host's ends
// that are guarded and the MAC of each.

import type { Call } from "../../plugins/kit/base/call.ts";
import type { Nft } from "../../plugins/kit/os/net/nft.ts";
import { networkHash, ownerComment } from "../net/owner.ts";
import { inOwnedTables, listOwned, type OwnedSets, removeOwned } from "./owned-table.ts";

interface Guarded {
  readonly containerId: string;
  readonly ifName: string;
  /** The host's end. */
  readonly port: string;
  readonly mac: string;
}

function macGuardTable(network: string): string {
  return `bridge skiff_mac_${networkHash(network)}`;
}

function guardedIn(network: string): OwnedSets {
  return { table: macGuardTable(network), sets: ["guarded", "allowed"] };
}

export async function guardMac(nft: Nft, network: string, pod: Guarded, call: Call): Promise<void> {
  const table = macGuardTable(network);
  const comment = ownerComment(pod.containerId, pod.ifName);
  const script = [
    `add table ${table} { comment "network ${network}"; }`,
    `add set ${table} guarded { type ifname; }`,
    `add set ${table} allowed { typeof iifname . ether saddr; }`,
    `add chain ${table} entering { type filter hook prerouting priority -300; }`,
    `flush chain ${table} entering`,
    `add rule ${table} entering iifname @guarded iifname . ether saddr != @allowed drop`,
    `add element ${table} allowed { ${pod.port} . ${pod.mac} comment "${comment}" }`,
    `add element ${table} guarded { ${pod.port} comment "${comment}" }`,
  ];
  await inOwnedTables(() => nft.run(script.join("\n"), call), call);
}

export function unguardMacs(
  nft: Nft,
  network: string,
  isGone: (comment: string) => boolean,
  call: Call,
): Promise<void> {
  return removeOwned(nft, guardedIn(network), isGone, call);
}

export async function isMacGuarded(nft: Nft, network: string, comment: string, call: Call): Promise<boolean> {
  const found = await listOwned(nft, guardedIn(network), call);
  return ["guarded", "allowed"].every((set) => found.some((entry) => entry.set === set && entry.comment === comment));
}
