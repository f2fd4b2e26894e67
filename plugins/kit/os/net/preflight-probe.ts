// What the look at the network tries on the real kernel: each thing in a namespace made for it, so that nothing of the host is touched.

import { existsSync, readdirSync } from "node:fs";
import type { Call } from "../../base/call.ts";
import { isFault } from "../../base/fault.ts";
import { parseAddress } from "./address.ts";
import { createBridge, createVeth, createVxlan, openRoutes } from "./links.ts";
import { readLegacyForward } from "./legacy-forward.ts";
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
  /** Whether the host uses the legacy iptables and has no program to look at it with. */
  isLegacyOutOfReach(call: Call): Promise<boolean>;
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
    isLegacyOutOfReach,
    close() {
      nft.close();
      routes.close();
      closeNetns(fd);
      deleteNetns(path);
    },
  };
}

async function isLegacyOutOfReach(call: Call): Promise<boolean> {
  try {
    await readLegacyForward("ip", call);
    return false;
  } catch (error) {
    return isFault(error, "not-found");
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
