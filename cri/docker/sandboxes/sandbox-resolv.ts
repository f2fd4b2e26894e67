// The resolver settings of a pod.

import type { DNSConfig } from "../../api/gen/runtime.js";

/** The text of resolv.conf, or undefined where the pod has no settings and the daemon's copy of the host's stands. */
export function resolvConf(dns: DNSConfig | undefined): string | undefined {
  if (!dns || (dns.servers.length === 0 && dns.searches.length === 0 && dns.options.length === 0)) return undefined;
  const lines = [
    ...(dns.searches.length > 0 ? [`search ${dns.searches.join(" ")}`] : []),
    ...dns.servers.map((server) => `nameserver ${server}`),
    ...(dns.options.length > 0 ? [`options ${dns.options.join(" ")}`] : []),
  ];
  return `${lines.join("\n")}\n`;
}
