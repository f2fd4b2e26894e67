// Takes away what a network left on the host once its pods are gone: the bridge, its masquerading, its host ports and what was
// accepted for it. For uninstall; knows nothing but the network's name and bridge.

import type { Call } from "../../plugins/kit/base/call.ts";
import { isFault } from "../../plugins/kit/base/fault.ts";
import { withdrawForwarding } from "../../plugins/kit/os/net/forward-accept.ts";
import { unguardMacs } from "../bridge/mac-guard.ts";
import { masqueradeTable } from "../bridge/masquerade.ts";
import { type Kernel, openKernel } from "../net/kernel.ts";
import { elementsOf } from "../net/owner.ts";
import { portmapPlugin } from "../portmap/plugin.ts";
import { hostPortTable } from "../portmap/rules.ts";

export interface RemovableNetwork {
  readonly name: string;
  readonly bridge: string;
  readonly kernel?: Kernel;
}

export async function removeNetwork(network: RemovableNetwork, call: Call): Promise<void> {
  const kernel = network.kernel ?? openKernel();
  try {
    await kernel.host.deleteLink(network.bridge);
    const table = `inet ${masqueradeTable(network.name)}`;
    await kernel.nft.run(`add table ${table}\ndelete table ${table}`, call);
    await unguardMacs(kernel.nft, network.name, () => true, call);
    await portmapPlugin(kernel).gc?.({ cniVersion: "1.1.0", name: network.name, type: "portmap" }, [], call);
    await removeEmptyHostPorts(kernel, call);
    await withdrawForwarding(kernel.nft, network.bridge, call);
  } finally {
    if (!network.kernel) kernel.close();
  }
}

/** The table of host ports serves all networks: it goes with the last. */
async function removeEmptyHostPorts(kernel: Kernel, call: Call): Promise<void> {
  try {
    const listed = await kernel.nft.list(`list table ${hostPortTable}`, call);
    if (listed.every((entry) => elementsOf(entry).length === 0))
      await kernel.nft.run(`delete table ${hostPortTable}`, call);
  } catch (error) {
    // There never was one.
    if (!isFault(error, "not-found")) throw error;
  }
}
