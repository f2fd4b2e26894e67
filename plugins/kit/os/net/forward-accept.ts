// Docker (and some firewalls) set the policy of the iptables FORWARD chain to drop, which no accept elsewhere lifts. Where that
// chain is seen with that policy (on nf_tables or the legacy one), the traffic of our links and pod networks is accepted in it;
// only rules with our comment are ever touched.

import type { Call } from "../../base/call.ts";
import { isFault } from "../../base/fault.ts";
import { deleteLegacyRule, insertLegacyAccept, type LegacyChain, readLegacyForward } from "./legacy-forward.ts";
import type { Nft, NftObject } from "./nft.ts";

const families = ["ip", "ip6"] as const;
type Family = (typeof families)[number];
const mark = "skiff-forward:";

interface ForwardChain {
  readonly isDropping: boolean;
  readonly rules: readonly { handle: number; comment: string }[];
}

async function readChain(nft: Nft, family: Family, call: Call): Promise<ForwardChain | undefined> {
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

async function readLegacy(family: Family, call: Call): Promise<LegacyChain | undefined> {
  try {
    return await readLegacyForward(family, call);
  } catch (error) {
    // Without its program nothing can be mended there; the node's preflight says so.
    if (isFault(error, "not-found")) return undefined;
    throw error;
  }
}

const isPrefix = (what: string) => what.includes("/");
const familyOf = (prefix: string): Family => (prefix.includes(":") ? "ip6" : "ip");
const isMarked = (rule: string, what: string | undefined) =>
  rule
    .replaceAll('"', "")
    .split(" ")
    .some((word) => (what === undefined ? word.startsWith(mark) : word === mark + what));

/**
 * Accepts what comes from or goes to `what`: a link by its name, or the addresses of a prefix. Cheap when there is nothing to do; may be
 * called as often as one likes.
 */
export async function acceptForwarding(nft: Nft, what: string, call: Call): Promise<void> {
  for (const family of families) {
    if (isPrefix(what) && familyOf(what) !== family) continue;
    const chain = await readChain(nft, family, call);
    if (chain?.isDropping && !chain.rules.some((rule) => rule.comment === mark + what)) {
      const sides = isPrefix(what) ? [`${family} saddr`, `${family} daddr`] : ["iifname", "oifname"];
      const value = isPrefix(what) ? what : `"${what}"`;
      const rules = sides.map(
        (side) => `insert rule ${family} filter FORWARD ${side} ${value} counter accept comment "${mark}${what}"`,
      );
      await nft.run(rules.join("\n"), call);
    }
    const legacy = await readLegacy(family, call);
    if (legacy?.isDropping && !legacy.rules.some((rule) => isMarked(rule, what)))
      for (const side of isPrefix(what) ? ["-s", "-d"] : ["-i", "-o"])
        await insertLegacyAccept(family, { match: [side, what], mark: mark + what }, call);
  }
}

/** Takes back what `acceptForwarding` did, for one link or prefix, or for all. */
export async function withdrawForwarding(nft: Nft, what: string | undefined, call: Call): Promise<void> {
  for (const family of families) {
    const chain = await readChain(nft, family, call);
    const ours = (chain?.rules ?? []).filter((rule) => what === undefined || rule.comment === mark + what);
    if (ours.length > 0)
      await nft.run(ours.map((rule) => `delete rule ${family} filter FORWARD handle ${rule.handle}`).join("\n"), call);
    const legacy = await readLegacy(family, call);
    for (const rule of legacy?.rules ?? []) if (isMarked(rule, what)) await deleteLegacyRule(family, rule, call);
  }
}
