// Writes the network list of a node once its pod CIDRs are known: bridge, host-local and portmap, for our runtimes and for
// containerd alike.

import { mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { formatAddress, formatPrefix, networkOf, offset, parsePrefix } from "../../plugins/kit/os/net/address.ts";

export interface NodeNetwork {
  /** Where the list goes, such as /etc/cni/net.d. */
  readonly dir: string;
  /** The node's own pod CIDRs, one per family. */
  readonly podCidrs: readonly string[];
  /** Reached without masquerading: the pods of all nodes. */
  readonly clusterCidrs?: readonly string[];
  readonly name?: string;
  readonly bridge?: string;
  readonly mtu?: number;
  /** Where leases are kept; host-local's own default when absent. */
  readonly leaseDir?: string;
  readonly fileName?: string;
  /** Put before our plugins' types: "skiff-" where programs of others may lie in the same folder. */
  readonly typePrefix?: string;
}

const defaultFileName = "10-skiff.conflist";

/** The list as an object. Pure. */
export function nodeNetworkList(network: NodeNetwork): Record<string, unknown> {
  const prefix = network.typePrefix ?? "";
  const cidrs = network.podCidrs.map((cidr) => networkOf(parsePrefix(cidr)));
  return {
    cniVersion: "1.0.0",
    name: network.name ?? "skiff",
    plugins: [
      {
        type: `${prefix}bridge`,
        bridge: network.bridge ?? "cni0",
        isDefaultGateway: true,
        forceAddress: true,
        ipMasq: true,
        hairpinMode: true,
        ...(network.clusterCidrs?.length ? { nonMasqueradeCIDRs: network.clusterCidrs } : {}),
        ...(network.mtu ? { mtu: network.mtu } : {}),
        ipam: {
          type: `${prefix}host-local`,
          ranges: cidrs.map((cidr) => [
            { subnet: formatPrefix(cidr), gateway: formatAddress(offset(cidr.address, 1)) },
          ]),
          ...(network.leaseDir ? { dataDir: network.leaseDir } : {}),
        },
      },
      { type: `${prefix}portmap`, capabilities: { portMappings: true }, snat: true },
    ],
  };
}

/** Writes the list; true when it is new or changed. A reader never sees half of it. */
export function writeNetworkList(network: NodeNetwork): boolean {
  const path = join(network.dir, network.fileName ?? defaultFileName);
  const text = `${JSON.stringify(nodeNetworkList(network), undefined, 2)}\n`;
  if (readOrNothing(path) === text) return false;
  mkdirSync(network.dir, { recursive: true });
  writeFileSync(`${path}.new`, text, { mode: 0o644 });
  renameSync(`${path}.new`, path);
  return true;
}

export function removeNetworkList(network: Pick<NodeNetwork, "dir" | "fileName">): void {
  rmSync(join(network.dir, network.fileName ?? defaultFileName), { force: true });
}

function readOrNothing(path: string): string | undefined {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return undefined;
  }
}
