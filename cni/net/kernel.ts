// The one seam between the CNI programs and the kernel: a host, the namespaces of pods, and nftables. Everything that a program
// does to the network goes through these interfaces.

import type { Family, Prefix } from "../../plugins/kit/os/net/address.ts";
import * as vlans from "./bridge-vlans.ts";
import { enableForwarding } from "../../plugins/kit/os/net/forwarding.ts";
import * as links from "../../plugins/kit/os/net/links.ts";
import type { NetlinkSocket } from "../../plugins/kit/os/net/netlink.ts";
import { closeNetns, inNetns, openNetns } from "../../plugins/kit/os/net/netns.ts";
import { type Nft, openNft } from "../../plugins/kit/os/net/nft.ts";
import * as routes from "../../plugins/kit/os/net/routes.ts";
import { readNetSetting, writeNetSetting } from "../../plugins/kit/os/net/sysctl.ts";

export type { Link } from "../../plugins/kit/os/net/links.ts";
export type { Route } from "../../plugins/kit/os/net/routes.ts";

/** One network namespace, held open. */
export interface Space {
  findLink(name: string): Promise<links.Link | undefined>;
  getLink(name: string): Promise<links.Link>;
  listLinks(): Promise<links.Link[]>;
  setLink(index: number, change: links.LinkChange): Promise<void>;
  deleteLink(name: string): Promise<void>;
  createBridge(options: Parameters<typeof links.createBridge>[1]): Promise<void>;
  createVlan(options: Parameters<typeof links.createVlan>[1]): Promise<void>;
  setBridgePort(index: number, flags: { hairpin?: boolean; isolated?: boolean }): Promise<void>;
  addBridgeVlan(index: number, vlan: vlans.BridgeVlan): Promise<void>;
  deleteBridgeVlan(index: number, id: number): Promise<void>;
  listBridgeVlans(index: number): Promise<vlans.BridgeVlan[]>;
  addAddress(index: number, prefix: Prefix, options?: { skipDad?: boolean }): Promise<void>;
  deleteAddress(index: number, prefix: Prefix): Promise<void>;
  listAddresses(index?: number): Promise<routes.InterfaceAddress[]>;
  addRoute(route: routes.Route, options?: { replace?: boolean }): Promise<void>;
  listRoutes(family: Family): Promise<routes.Route[]>;
  setting(name: string): string | undefined;
  /** False where the kernel has no such setting or it cannot be written. */
  setSetting(name: string, value: string): boolean;
  /** Also keeps the host's own IPv6 route; false where it cannot be turned on. */
  enableForwarding(family: Family): boolean;
  /** Tells the neighbours of the link that its addresses live here now. */
  announce(link: links.Link): Promise<void>;
  /** A veth pair: one end here, the other inside the other space from the first moment. */
  createVeth(options: {
    name: string;
    master?: number;
    mtu?: number;
    peer: { name: string; space: Space; mac?: string };
  }): Promise<void>;
  close(): void;
}

export interface Kernel {
  readonly host: Space;
  readonly nft: Nft;
  /** The namespace at the path; Fault `not-found` when it is gone. The caller closes it. */
  enter(netnsPath: string): Space;
  close(): void;
}

class NetnsSpace implements Space {
  readonly #socket: NetlinkSocket;
  readonly fd: number;

  constructor(path: string) {
    this.fd = openNetns(path);
    try {
      this.#socket = inNetns(this.fd, links.openRoutes);
    } catch (error) {
      closeNetns(this.fd);
      throw error;
    }
  }

  findLink = (name: string) => links.findLink(this.#socket, name);
  getLink = (name: string) => links.getLink(this.#socket, name);
  listLinks = () => links.listLinks(this.#socket);
  setLink = (index: number, change: links.LinkChange) => links.setLink(this.#socket, index, change);
  deleteLink = (name: string) => links.deleteLink(this.#socket, name);
  createBridge: Space["createBridge"] = (options) => links.createBridge(this.#socket, options);
  createVlan: Space["createVlan"] = (options) => links.createVlan(this.#socket, options);
  setBridgePort: Space["setBridgePort"] = (index, flags) => links.setBridgePort(this.#socket, index, flags);
  addBridgeVlan: Space["addBridgeVlan"] = (index, vlan) => vlans.addBridgeVlan(this.#socket, index, vlan);
  deleteBridgeVlan: Space["deleteBridgeVlan"] = (index, id) => vlans.deleteBridgeVlan(this.#socket, index, id);
  listBridgeVlans: Space["listBridgeVlans"] = (index) => vlans.listBridgeVlans(this.#socket, index);
  addAddress: Space["addAddress"] = (index, prefix, options) => routes.addAddress(this.#socket, index, prefix, options);
  deleteAddress: Space["deleteAddress"] = (index, prefix) => routes.deleteAddress(this.#socket, index, prefix);
  listAddresses: Space["listAddresses"] = (index) => routes.listAddresses(this.#socket, index);
  addRoute: Space["addRoute"] = (route, options) => routes.addRoute(this.#socket, route, options);
  listRoutes: Space["listRoutes"] = (family) => routes.listRoutes(this.#socket, family);
  setting = (name: string) => inNetns(this.fd, () => readNetSetting(name));
  setSetting = (name: string, value: string) => inNetns(this.fd, () => writeNetSetting(name, value));
  enableForwarding = (family: Family) => inNetns(this.fd, () => enableForwarding(family));

  // Without it a neighbour that knew an address's former owner keeps sending to the wrong MAC until its entry ages out. A link that
  // gets a MAC, be it the one it had, makes the kernel tell; a packet socket of our own would take 10 ms or more to close.
  announce: Space["announce"] = async ({ name, index, mac }) => {
    this.setSetting(`ipv4/conf/${name}/arp_notify`, "1");
    this.setSetting(`ipv6/conf/${name}/ndisc_notify`, "1");
    await this.setLink(index, { mac });
  };

  createVeth: Space["createVeth"] = ({ peer, ...near }) => {
    const { space, ...far } = peer;
    return links.createVeth(this.#socket, { ...near, peer: { ...far, netnsFd: (space as NetnsSpace).fd } });
  };

  close(): void {
    this.#socket.close();
    closeNetns(this.fd);
  }
}

/** The kernel as seen from the namespace that this thread is in now. Opens nothing before it is used. */
export function openKernel(): Kernel {
  let host: Space | undefined;
  let nft: Nft | undefined;
  return {
    get host() {
      host ??= new NetnsSpace("/proc/thread-self/ns/net");
      return host;
    },
    get nft() {
      nft ??= openNft();
      return nft;
    },
    enter: (path) => new NetnsSpace(path),
    close() {
      host?.close();
      nft?.close();
      host = undefined;
      nft = undefined;
    },
  };
}
