// Which links lead to other machines, by what they are and not by their names. Pods' bridges, the host's ends of their links and tunnels
// between nodes do not, whoever made them: an address of those is of no use to others, and they come and go with containers.

import type { Link } from "./links.ts";

type LinkFacts = Pick<Link, "index" | "name" | "kind" | "master" | "isLoopback">;

/** Tunnels between nodes, and links that hold addresses of the host's own. */
const inward = new Set(
  "vxlan geneve ipip ip6tnl sit gre gretap ip6gre ip6gretap erspan ip6erspan dummy ifb netkit nlmon".split(" "),
);
/** To other machines, but seldom the way that a node is known by. */
const vpn = new Set(["tun", "wireguard", "xfrm", "vti", "vti6"]);

/** Hardware, and what is made of it: bonds, VLANs, bridges that have a port of those. */
function isHardware(link: LinkFacts, links: readonly LinkFacts[]): boolean {
  if (link.isLoopback || link.kind === "veth" || inward.has(link.kind) || vpn.has(link.kind)) return false;
  if (link.kind !== "bridge") return true;
  return links.some((port) => port.master === link.index && port.kind !== "bridge" && isHardware(port, links));
}

/** A namespace or container has no hardware: the links that are not ports of a bridge lead out of it. */
function isOutOfNamespace(link: LinkFacts): boolean {
  return link.kind === "veth" && link.master === 0;
}

/** Names of the links that the node may be known by when no default route says which. */
export function uplinkNames(links: readonly LinkFacts[]): string[] {
  const hardware = links.filter((link) => isHardware(link, links));
  return (hardware.length > 0 ? hardware : links.filter(isOutOfNamespace)).map(({ name }) => name);
}

/** Names of all links that clients may come in by: also those of VPNs. */
export function clientLinkNames(links: readonly LinkFacts[]): string[] {
  return [...uplinkNames(links), ...links.filter(({ kind }) => vpn.has(kind)).map(({ name }) => name)];
}
