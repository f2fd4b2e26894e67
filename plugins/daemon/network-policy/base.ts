// The fixed parts of the policy table. Egress and ingress are hooks of their own, so that a packet between two restricted pods has to
// pass both. Pure.

/** The table of an agent; the main one's has no suffix. */
export function policyTable(instance: string): string {
  return `inet skiff_policy${instance === "" ? "" : `_${instance}`}`;
}

export function policyBase(t: string, clusterDns: readonly string[]): string[] {
  const lines: string[] = [];
  for (const f of [4, 6] as const)
    lines.push(
      `add map ${t} egress${f} { type ipv${f}_addr : verdict; }`,
      `add map ${t} ingress${f} { type ipv${f}_addr : verdict; }`,
      `add set ${t} selves${f} { type ipv${f}_addr . ipv${f}_addr; }`,
    );
  lines.push(
    // After services have chosen the pod, before the filter chains of others.
    `add chain ${t} egress_forward { type filter hook forward priority -6; }`,
    `add chain ${t} egress_input { type filter hook input priority -6; }`,
    `add chain ${t} ingress_forward { type filter hook forward priority -5; }`,
  );
  for (const chain of ["egress_forward", "egress_input", "ingress_forward"])
    lines.push(`add rule ${t} ${chain} ct state established,related accept`);
  // Names are resolved on the node itself: no policy can mean a pod by it.
  for (const address of clusterDns) {
    const ip = address.includes(":") ? "ip6" : "ip";
    lines.push(`add rule ${t} egress_input ${ip} daddr ${address} meta l4proto { tcp, udp } th dport 53 accept`);
  }
  lines.push(
    `add rule ${t} egress_input icmpv6 type { nd-neighbor-solicit, nd-neighbor-advert, nd-router-solicit } accept`,
  );
  for (const f of [4, 6] as const) {
    const ip = f === 4 ? "ip" : "ip6";
    // A pod that was chosen for its own request to a service: no policy can keep a pod from itself.
    for (const chain of ["egress_forward", "ingress_forward"])
      lines.push(`add rule ${t} ${chain} ${ip} saddr . ${ip} daddr @selves${f} accept`);
    lines.push(
      `add rule ${t} egress_forward ${ip} saddr vmap @egress${f}`,
      `add rule ${t} egress_input ${ip} saddr vmap @egress${f}`,
      `add rule ${t} ingress_forward ${ip} daddr vmap @ingress${f}`,
    );
  }
  return lines;
}
