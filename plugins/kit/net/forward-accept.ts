// Docker (and some firewalls) set the policy of the iptables FORWARD chain to drop, which no accept elsewhere lifts. Where that
// chain is seen with that policy, the traffic of our links is accepted in it; only rules with our comment are ever touched.

import type { Call } from "../call.ts";
import { isFault } from "../fault.ts";
import type { Nft, NftObject } from "./nft.ts";

const families = ["ip", "ip6"] as const;
const mark = "skiff-forward:";

interface ForwardChain {
  readonly isDropping: boolean;
  readonly rules: readonly { handle: number; comment: string }[];
}

async function readChain(nft: Nft, family: string, call: Call): Promise<ForwardChain | undefined> {
  let listed: NftObject[];
  try {
    listed = await nft.list(`list chain ${family} filter FORWARD`, call);
  } catch (error) {
    if (isFault(error, "not-found", "invalid", "unsupported")) return undefined;
    throw error;
  }
  const chain = listed.find((entry) => "chain" in entry)?.chain as { policy?: string; hook?: string } | undefined;
  if (!chain?.hook) return undefined;
  const rules = listed.flatMap((entry) => {
    const rule = entry.rule as { handle: number; comment?: string } | undefined;
    return rule?.comment?.startsWith(mark) ? [{ handle: rule.handle, comment: rule.comment }] : [];
  });
  return { isDropping: chain.policy === "drop", rules };
}

/** Accepts what comes from or goes to the link. Cheap when there is nothing to do; may be called as often as one likes. */
export async function acceptForwarding(nft: Nft, link: string, call: Call): Promise<void> {
  for (const family of families) {
    const chain = await readChain(nft, family, call);
    if (!chain?.isDropping || chain.rules.some((rule) => rule.comment === mark + link)) continue;
    const rule = (side: string) =>
      `insert rule ${family} filter FORWARD ${side} "${link}" counter accept comment "${mark}${link}"`;
    await nft.run(`${rule("iifname")}\n${rule("oifname")}`, call);
  }
}

/** Takes back what `acceptForwarding` did, for one link or for all. */
export async function withdrawForwarding(nft: Nft, link: string | undefined, call: Call): Promise<void> {
  for (const family of families) {
    const chain = await readChain(nft, family, call);
    const ours = (chain?.rules ?? []).filter((rule) => link === undefined || rule.comment === mark + link);
    if (ours.length === 0) continue;
    await nft.run(ours.map((rule) => `delete rule ${family} filter FORWARD handle ${rule.handle}`).join("\n"), call);
  }
}
