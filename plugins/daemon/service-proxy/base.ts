// The fixed parts of the service table: the maps every packet is looked up in, and the hooks. Pure.

/** The table of an agent; the main one's has no suffix. */
export function serviceTable(instance: string): string {
  return `inet skiff_services${instance === "" ? "" : `_${instance}`}`;
}

/** Lines that make the empty machine; `podCidrs` are the pods of all nodes. */
export function baseLines(t: string, podCidrs: readonly string[]): string[] {
  const lines: string[] = [];
  for (const f of [4, 6] as const) {
    const address = `ipv${f}_addr`;
    const cidrs = podCidrs.filter((cidr) => cidr.includes(":") === (f === 6));
    lines.push(
      `add map ${t} services${f} { type ${address} . inet_proto . inet_service : verdict; }`,
      `add map ${t} nodeports${f} { type inet_proto . inet_service : verdict; }`,
      `add set ${t} clusterips${f} { type ${address}; }`,
      `add set ${t} dropped${f} { type ${address} . inet_proto . inet_service; }`,
      `add set ${t} refused${f} { type ${address} . inet_proto . inet_service; }`,
      `add set ${t} droppedports${f} { type inet_proto . inet_service; }`,
      `add set ${t} refusedports${f} { type inet_proto . inet_service; }`,
      `add set ${t} hairpin${f} { type ${address} . ${address}; }`,
      `add set ${t} pods${f} { type ${address}; flags interval; ${cidrs.length > 0 ? `elements = { ${cidrs.join(", ")} };` : ""} }`,
    );
  }
  lines.push(
    `add chain ${t} services`,
    `add chain ${t} refusals`,
    `add chain ${t} prerouting { type nat hook prerouting priority dstnat; }`,
    `add chain ${t} output { type nat hook output priority -100; }`,
    `add chain ${t} postrouting { type nat hook postrouting priority srcnat; }`,
    // Before the filter chains of others, after our own DNAT.
    ...["input", "forward", "output"].map(
      (hook) => `add chain ${t} filter_${hook} { type filter hook ${hook} priority -10; }`,
    ),
    `add chain ${t} martians { type filter hook prerouting priority raw; }`,
    `add rule ${t} prerouting jump services`,
    `add rule ${t} output jump services`,
    ...["input", "output"].map((hook) => `add rule ${t} filter_${hook} ct state new jump refusals`),
    `add chain ${t} strays`,
    `add rule ${t} filter_forward ct state vmap { new : jump refusals, invalid : jump strays }`,
    // Node ports answer on 127.0.0.1 too, which needs route_localnet; nobody outside may use that.
    `add rule ${t} martians ip daddr 127.0.0.0/8 iifname != "lo" drop`,
  );
  for (const f of [4, 6] as const) {
    const ip = f === 4 ? "ip" : "ip6";
    // What conntrack cannot place is not translated: under the pod's own address it would make the client reset its connection.
    lines.push(`add rule ${t} strays ${ip} saddr @pods${f} drop`, `add rule ${t} strays ${ip} daddr @pods${f} drop`);
    const reject = f === 4 ? "reject with icmp port-unreachable" : "reject with icmpv6 port-unreachable";
    const port = "meta l4proto . th dport";
    lines.push(
      `add rule ${t} services ${ip} daddr . ${port} vmap @services${f}`,
      `add rule ${t} services ${f === 6 ? "ip6 daddr != ::1 " : ""}meta nfproto ipv${f} fib daddr type local ${port} vmap @nodeports${f}`,
      `add rule ${t} refusals ${ip} daddr . ${port} @dropped${f} drop`,
      `add rule ${t} refusals ${ip} daddr . ${port} @refused${f} ${reject}`,
      `add rule ${t} refusals meta nfproto ipv${f} fib daddr type local ${port} @droppedports${f} drop`,
      `add rule ${t} refusals meta nfproto ipv${f} fib daddr type local ${port} @refusedports${f} ${reject}`,
      // What still bears a cluster IP here found no port or no endpoint.
      `add rule ${t} refusals ${ip} daddr @clusterips${f} ${reject}`,
    );
  }
  lines.push(
    `add rule ${t} postrouting meta mark & 0x4000 == 0x4000 meta mark set meta mark & 0xffffbfff masquerade fully-random`,
    `add rule ${t} postrouting ct status dnat ip saddr 127.0.0.0/8 oifname != "lo" masquerade`,
    `add rule ${t} postrouting ct status dnat ip saddr . ip daddr @hairpin4 masquerade`,
    `add rule ${t} postrouting ct status dnat ip6 saddr . ip6 daddr @hairpin6 masquerade`,
  );
  return lines;
}
