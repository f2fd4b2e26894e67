// The host's half of the bridge plugin: the bridge device, its gateway addresses, and forwarding.

import { setTimeout as wait } from "node:timers/promises";
import type { Call } from "../../plugins/kit/base/call.ts";
import { contains, formatPrefix, isSameAddress, type Prefix } from "../../plugins/kit/os/net/address.ts";
import { isFault } from "../../plugins/kit/base/fault.ts";
import { randomMac } from "../../plugins/kit/os/net/links.ts";
import type { Link, Space } from "../net/kernel.ts";
import { CniFault, cniCode } from "../spec/error.ts";
import type { BridgeSettings, VlanRange } from "./settings.ts";

/** The bridge, made if need be, up, with the modes that the configuration asks for. Safe when several ADDs do it at once. */
export async function ensureBridge(host: Space, settings: BridgeSettings): Promise<Link> {
  let bridge = await host.findLink(settings.bridge);
  const isTagged = Boolean(settings.vlan ?? settings.trunk);
  if (!bridge) {
    try {
      // A fixed MAC: otherwise the bridge takes the lowest of its ports and changes it as pods come and go.
      await host.createBridge({
        name: settings.bridge,
        mac: randomMac(),
        ...(settings.mtu ? { mtu: settings.mtu } : {}),
        ...(isTagged ? { vlanFiltering: true } : {}),
      });
    } catch (error) {
      if (!isFault(error, "already-exists"))
        throw isTagged ? withoutVlans(error, settings.vlan, settings.trunk) : error;
    }
    bridge = await host.getLink(settings.bridge);
    host.setSetting(`ipv6/conf/${settings.bridge}/accept_ra`, "0");
    // While its link-local address is being probed, the bridge resolves no neighbour: forwarded IPv6 would stall for seconds.
    host.setSetting(`ipv6/conf/${settings.bridge}/accept_dad`, "0");
  }
  if (bridge.kind !== "bridge")
    throw new CniFault(
      cniCode.invalidConfig,
      `Cannot use link "${settings.bridge}" as a bridge: it is a ${bridge.kind || "device"}`,
    );
  const promiscuous = settings.promiscuous && !bridge.isPromiscuous ? { promiscuous: true } : {};
  if (!bridge.isUp || "promiscuous" in promiscuous) {
    await host.setLink(bridge.index, { up: true, ...promiscuous });
    bridge = await host.getLink(settings.bridge);
  }
  return bridge;
}

/** Puts a new port of the bridge into the VLANs that the configuration names, and out of those that it has by itself. */
export async function joinVlans(
  host: Space,
  port: Link,
  { vlan, trunk = [], keepsDefaultVlan }: Pick<BridgeSettings, "vlan" | "trunk" | "keepsDefaultVlan">,
): Promise<void> {
  if (!vlan && trunk.length === 0) return;
  try {
    if (!keepsDefaultVlan)
      for (const { id } of await host.listBridgeVlans(port.index)) await host.deleteBridgeVlan(port.index, id);
    for (const { first, last } of trunk) await host.addBridgeVlan(port.index, { id: first, last, access: false });
    // A trunk on which nobody says what untagged frames are of: they are of VLAN 1.
    await host.addBridgeVlan(port.index, { id: vlan ?? 1, access: true });
  } catch (error) {
    throw withoutVlans(error, vlan, trunk);
  }
}

/** What a kernel that filters no VLANs answers, in words that say what to do. */
function withoutVlans(error: unknown, vlan: number | undefined, trunk: readonly VlanRange[] = []): unknown {
  if (!isFault(error, "unsupported")) return error;
  const field = vlan
    ? `"vlan": ${vlan}`
    : `"vlanTrunk": ${trunk.map(({ first, last }) => (first === last ? first : `${first}-${last}`)).join(", ")}`;
  return new CniFault(
    cniCode.unsupportedField,
    `Cannot use ${field}: this kernel was built without VLAN filtering of bridges (CONFIG_BRIDGE_VLAN_FILTERING)`,
    { cause: error },
  );
}

/** With a VLAN, the gateway's addresses stand on a VLAN device of the bridge; otherwise on the bridge itself. */
export async function gatewayLink(host: Space, bridge: Link, vlan: number | undefined): Promise<Link> {
  if (!vlan) return bridge;
  const name = `${bridge.name.slice(0, 10)}.${vlan}`;
  try {
    await host.addBridgeVlan(bridge.index, { id: vlan, access: false, self: true });
  } catch (error) {
    throw withoutVlans(error, vlan);
  }
  try {
    if (!(await host.findLink(name))) await host.createVlan({ name, parent: bridge.index, vlan });
  } catch (error) {
    if (!isFault(error, "already-exists")) throw error;
  }
  const link = await host.getLink(name);
  if (!link.isUp) await host.setLink(link.index, { up: true });
  return link;
}

/** Puts a gateway's address on the link. Another address of an overlapping subnet is refused, or replaced with forceAddress. */
export async function ensureGateway(host: Space, link: Link, gateway: Prefix, force: boolean): Promise<void> {
  for (const { prefix, isLinkLocal } of await host.listAddresses(link.index)) {
    if (prefix.address.family !== gateway.address.family || isLinkLocal) continue;
    if (isSameAddress(prefix.address, gateway.address) && prefix.length === gateway.length) return;
    if (!contains(prefix, gateway.address) && !contains(gateway, prefix.address)) continue;
    if (!force)
      throw new CniFault(
        cniCode.invalidConfig,
        `Cannot give "${link.name}" the gateway ${formatPrefix(gateway)}: it has ${formatPrefix(prefix)} (set forceAddress to replace it)`,
      );
    await host.deleteAddress(link.index, prefix);
  }
  await host.addAddress(link.index, gateway, { skipDad: true });
}

/** Waits until the bridge takes packets from its new port: the kernel notes a carrier a moment after the far end is up. */
export async function untilForwarding(host: Space, port: string, call: Call): Promise<void> {
  for (let left = 100; left > 0 && !(await host.getLink(port)).isRunning; left--)
    await wait(10, undefined, { signal: call.signal });
}

export function forwardFamilies(host: Space, families: ReadonlySet<4 | 6>): void {
  for (const family of families)
    if (!host.enableForwarding(family))
      throw new CniFault(cniCode.ioFailure, `Cannot turn on IPv${family} forwarding: /proc/sys/net cannot be written`);
}
