// What the look at the network tries on the real kernel: each thing in a namespace made for it, so that nothing of the host is touched.

import { existsSync, readdirSync, readFileSync } from "node:fs";
import type { Call } from "../call.ts";
import { run } from "../platform/process.ts";
import { parseAddress } from "./address.ts";
import { createBridge, createVeth, createVxlan, openRoutes } from "./links.ts";
import { closeNetns, createNetns, deleteNetns, inNetns, openNetns } from "./netns.ts";
import { openNft } from "./nft.ts";
import { readNetSetting, writeNetSetting } from "./sysctl.ts";

export type LinkKind = "bridge" | "veth" | "vxlan";

export interface NetworkProbe {
  /** Fault `unsupported` where the kernel has no such links. */
  makeLink(kind: LinkKind): Promise<void>;
  /** Fault `unavailable` where there is no nftables at all. */
  runRules(script: string, call: Call): Promise<void>;
  canForward(): boolean;
  hasBridgeFilter(): boolean;
  /** The policy of the host's FORWARD chain in the legacy iptables; undefined where that is not in use. */
  legacyForwardPolicy(call: Call): Promise<"ACCEPT" | "DROP" | undefined>;
  close(): void;
}

const namespacesFolder = "/run/netns";
const namespacePrefix = "skiff-preflight-";

/** Where the process with this id tries things. The id is in the name so that what a killed process left is recognised. */
export const preflightNamespace = (pid: number): string => `${namespacesFolder}/${namespacePrefix}${pid}`;

/** Throws when there can be no namespace. */
export function openNetworkProbe(): NetworkProbe {
  removeAbandoned();
  const path = preflightNamespace(process.pid);
  createNetns(path);
  const routes = inNetns(path, openRoutes);
  const fd = openNetns(path);
  const nft = inNetns(path, () => openNft());
  const makers: Record<LinkKind, () => Promise<void>> = {
    bridge: () => createBridge(routes, { name: "b0" }),
    veth: () => createVeth(routes, { name: "v0", peer: { name: "v1", netnsFd: fd } }),
    vxlan: () => createVxlan(routes, { name: "x0", id: 1, port: 8472, local: parseAddress("127.0.0.1") }),
  };
  return {
    makeLink: (kind) => makers[kind](),
    runRules: (script, call) => nft.run(script, call),
    canForward: () => inNetns(path, () => writeNetSetting("ipv4/ip_forward", "1")),
    hasBridgeFilter: () => readNetSetting("bridge/bridge-nf-call-iptables") !== undefined,
    legacyForwardPolicy,
    close() {
      nft.close();
      routes.close();
      closeNetns(fd);
      deleteNetns(path);
    },
  };
}

/** The kernel lists the tables of the legacy iptables that are in use here; only the program can read them. */
async function legacyForwardPolicy(call: Call): Promise<"ACCEPT" | "DROP" | undefined> {
  try {
    if (!/^filter$/m.test(readFileSync("/proc/thread-self/net/ip_tables_names", "utf8"))) return undefined;
    const { stdout } = await run("iptables-legacy", ["-S", "FORWARD"], { timeoutMs: 10_000 }, call);
    return /^-P FORWARD DROP/m.test(stdout) ? "DROP" : "ACCEPT";
  } catch {
    // No legacy iptables in this kernel, or no program to look with: then nobody on this box is likely to have used it.
    return undefined;
  }
}

/** What a process left that was killed in the middle of its looking. */
function removeAbandoned(): void {
  if (!existsSync(namespacesFolder)) return;
  for (const name of readdirSync(namespacesFolder)) {
    const pid = name.startsWith(namespacePrefix) ? Number(name.slice(namespacePrefix.length)) : Number.NaN;
    if (Number.isInteger(pid) && (pid === process.pid || !existsSync(`/proc/${pid}`)))
      deleteNetns(preflightNamespace(pid));
  }
}
