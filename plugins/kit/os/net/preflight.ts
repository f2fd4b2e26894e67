// Looks whether this kernel has what the network needs. Each problem is named with its fix.

import type { Call } from "../../base/call.ts";
import { isFault } from "../../base/fault.ts";
import { type LinkKind, type NetworkProbe, openNetworkProbe } from "./preflight-probe.ts";

export interface NetworkProblem {
  /** `fatal` keeps pods from having a network; the others cost what they say. */
  readonly severity: "fatal" | "warning";
  readonly problem: string;
  readonly fix: string;
}

export async function networkProblems(
  call: Call,
  openProbe: () => NetworkProbe = openNetworkProbe,
): Promise<NetworkProblem[]> {
  if (process.getuid?.() !== 0) return [{ severity: "fatal", problem: "the network needs root", fix: "run as root" }];
  let probe: NetworkProbe;
  try {
    probe = openProbe();
  } catch (error) {
    return [
      {
        severity: "fatal",
        problem: `network namespaces cannot be made: ${(error as Error).message}`,
        fix: "use a kernel with CONFIG_NET_NS, outside of a restricted container",
      },
    ];
  }
  try {
    return [
      ...(await linkProblems(probe)),
      ...(await ruleProblems(probe, call)),
      ...settingProblems(probe),
      ...(await firewallProblems(probe, call)),
    ];
  } finally {
    probe.close();
  }
}

const links: readonly { kind: LinkKind; severity: NetworkProblem["severity"]; costs: string }[] = [
  { kind: "bridge", severity: "fatal", costs: "pods cannot be joined" },
  { kind: "veth", severity: "fatal", costs: "pods cannot be joined" },
  { kind: "vxlan", severity: "warning", costs: "pods of nodes on other links cannot be reached" },
];

async function linkProblems(probe: NetworkProbe): Promise<NetworkProblem[]> {
  const problems: NetworkProblem[] = [];
  for (const { kind, severity, costs } of links) {
    try {
      await probe.makeLink(kind);
    } catch (error) {
      if (!isFault(error, "unsupported")) throw error;
      problems.push({ severity, problem: `the kernel has no ${kind} links: ${costs}`, fix: `modprobe ${kind}` });
    }
  }
  return problems;
}

const rules = [
  ["nf_tables", "modprobe nf_tables", "add table inet p; add set inet p s { type ipv4_addr; }"],
  [
    "NAT by nf_tables",
    "modprobe nft_chain_nat nft_masq",
    "add chain inet p n { type nat hook postrouting priority srcnat; }; add rule inet p n masquerade",
  ],
  [
    "nft fib and ct expressions",
    "modprobe nft_fib_inet nft_ct",
    "add chain inet p f; add rule inet p f fib daddr type local ct state new accept",
  ],
  [
    "nft numgen expressions",
    "modprobe nft_numgen",
    "add chain inet p g; add rule inet p g numgen random mod 2 vmap { 0 : accept, 1 : accept }",
  ],
] as const;

async function ruleProblems(probe: NetworkProbe, call: Call): Promise<NetworkProblem[]> {
  for (const [what, fix, script] of rules) {
    try {
      await probe.runRules(script.replaceAll("; add ", "\nadd "), call);
    } catch (error) {
      const problem = `${what} cannot be used, so there are no services and no host ports: ${(error as Error).message}`;
      const isMissing = isFault(error, "unavailable");
      // The later ones stand on the earlier: the first is the one to mend.
      return [{ severity: "fatal", problem, fix: isMissing ? "apt-get install nftables" : fix }];
    }
  }
  return [];
}

function settingProblems(probe: NetworkProbe): NetworkProblem[] {
  const problems: NetworkProblem[] = [];
  if (!probe.canForward())
    problems.push({
      severity: "fatal",
      problem: "forwarding cannot be turned on: /proc/sys/net is read-only",
      fix: "sysctl -w net.ipv4.ip_forward=1 on the host, before this starts",
    });
  if (!probe.hasBridgeFilter())
    problems.push({
      severity: "warning",
      problem:
        "br_netfilter is not loaded: pods cannot reach a pod of the same node through its service, and policies do not hold between them",
      fix: "modprobe br_netfilter (and echo br_netfilter > /etc/modules-load.d/skiff.conf)",
    });
  return problems;
}

// A chain of iptables that drops is lifted where pods are joined; the legacy one only by its own program.
async function firewallProblems(probe: NetworkProbe, call: Call): Promise<NetworkProblem[]> {
  if (!(await probe.isLegacyOutOfReach(call))) return [];
  return [
    {
      severity: "warning",
      problem:
        "the legacy iptables is in use and its program is not there: if its FORWARD chain drops, pods reach neither the outside nor pods of other nodes",
      fix: "apt-get install iptables, or take the legacy rules away",
    },
  ];
}
