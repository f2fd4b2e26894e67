// The FORWARD chain of the legacy iptables, which no rule of nf_tables can lift where it drops. It is read and mended by its own
// program, and only where the kernel says that the table is in use: elsewhere no process is started.

import { readFileSync } from "node:fs";
import type { Call } from "../../base/call.ts";

type Family = "ip" | "ip6";

export interface LegacyChain {
  readonly isDropping: boolean;
  /** As the program prints them: `-A FORWARD …`. */
  readonly rules: readonly string[];
}

const programs: Record<Family, string> = { ip: "iptables-legacy", ip6: "ip6tables-legacy" };

/** Whether somebody on this host uses the filter table of the legacy iptables. A file is read, no more. */
export function isLegacyInUse(): boolean {
  return isTableInUse("ip") || isTableInUse("ip6");
}

function isTableInUse(family: Family): boolean {
  try {
    return /^filter$/m.test(readFileSync(`/proc/thread-self/net/${family}_tables_names`, "utf8"));
  } catch {
    // A kernel without it.
    return false;
  }
}

/** The chain as it is; undefined where it is not in use. Fault `not-found` where it is and there is no program to look with. */
export async function readLegacyForward(family: Family, call: Call): Promise<LegacyChain | undefined> {
  if (!isTableInUse(family)) return undefined;
  const printed = await runLegacy(family, ["-S", "FORWARD"], call);
  return {
    isDropping: /^-P FORWARD DROP/m.test(printed),
    rules: printed.split("\n").filter((line) => line.startsWith("-A FORWARD ")),
  };
}

/** Puts a rule first that accepts what matches; the mark tells it from rules of others. */
export async function insertLegacyAccept(
  family: Family,
  rule: { match: readonly string[]; mark: string },
  call: Call,
): Promise<void> {
  const args = ["-I", "FORWARD", ...rule.match, "-m", "comment", "--comment", rule.mark, "-j", "ACCEPT"];
  await runLegacy(family, args, call);
}

/** Removes a rule that `readLegacyForward` told of. */
export async function deleteLegacyRule(family: Family, rule: string, call: Call): Promise<void> {
  await runLegacy(family, ["-D", ...rule.replaceAll('"', "").split(" ").slice(1)], call);
}

async function runLegacy(family: Family, args: readonly string[], call: Call): Promise<string> {
  // Loaded on first use, as few boxes need it and the CNI program starts often.
  const { runChecked } = await import("../platform/process.ts");
  // It waits for others that change the table at the same moment.
  return runChecked(programs[family], ["-w", "5", ...args], { timeoutMs: 10_000 }, call);
}
