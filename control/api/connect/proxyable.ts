// Which addresses the proxies may reach: never this machine's own loopback, nor what only a link or a group knows.

import { BlockList, isIP } from "node:net";

const closed = new BlockList();
for (const [address, bits] of [
  ["0.0.0.0", 8],
  ["127.0.0.0", 8],
  ["169.254.0.0", 16],
  ["224.0.0.0", 4],
  ["255.255.255.255", 32],
] as const)
  closed.addSubnet(address, bits, "ipv4");
for (const [address, bits] of [
  ["::", 128],
  ["::1", 128],
  ["fe80::", 10],
  ["ff00::", 8],
] as const)
  closed.addSubnet(address, bits, "ipv6");

/** A host of a URL: only addresses, since a name could lead anywhere. */
export function isProxyable(host: string): boolean {
  const address = host.replace(/^\[(.*)\]$/, "$1");
  const family = isIP(address);
  return family !== 0 && !closed.check(address, family === 6 ? "ipv6" : "ipv4");
}
