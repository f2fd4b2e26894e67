import { execFileSync } from "node:child_process";
import t from "tap";
import { noLegacyFirewallReason, noNetworkReason, playHost } from "../../../../test/harness/network.ts";
import { uninterrupted } from "../../base/call.ts";
import { Fault } from "../../base/fault.ts";
import { networkProblems } from "./preflight.ts";
import type { NetworkProbe } from "./preflight-probe.ts";

/** A kernel that has everything. */
const healthy: NetworkProbe = {
  makeLink: async () => {},
  runRules: async () => {},
  canForward: () => true,
  hasBridgeFilter: () => true,
  isLegacyOutOfReach: async () => false,
  close: () => {},
};

const lacking = (kind: string) => async (asked: string) => {
  if (asked.includes(kind)) throw new Fault("unsupported", "Operation not supported");
};

t.test("networkProblems() names what is missing and its fix", { skip: noNetworkReason() }, async (t) => {
  t.same(await networkProblems(uninterrupted, () => healthy), [], "nothing is missing");
  const cases: { name: string; probe: Partial<NetworkProbe>; severity: string; problem: RegExp; fix: RegExp }[] = [
    {
      name: "vxlan",
      probe: { makeLink: lacking("vxlan") },
      severity: "warning",
      problem: /no vxlan links: pods of nodes on other links/,
      fix: /^modprobe vxlan$/,
    },
    {
      name: "bridge",
      probe: { makeLink: lacking("bridge") },
      severity: "fatal",
      problem: /no bridge links/,
      fix: /^modprobe bridge$/,
    },
    {
      name: "nf_tables",
      probe: { runRules: lacking("add table") },
      severity: "fatal",
      problem: /^nf_tables cannot be used, so there are no services/,
      fix: /^modprobe nf_tables$/,
    },
    {
      name: "NAT",
      probe: { runRules: lacking("masquerade") },
      severity: "fatal",
      problem: /^NAT by nf_tables cannot be used/,
      fix: /nft_chain_nat/,
    },
    {
      name: "the nft program and library",
      probe: { runRules: () => Promise.reject(new Fault("unavailable", "nft is not installed")) },
      severity: "fatal",
      problem: /not installed/,
      fix: /apt-get install nftables/,
    },
    {
      name: "br_netfilter",
      probe: { hasBridgeFilter: () => false },
      severity: "warning",
      problem: /^br_netfilter is not loaded: pods cannot reach/,
      fix: /^modprobe br_netfilter/,
    },
    {
      name: "forwarding",
      probe: { canForward: () => false },
      severity: "fatal",
      problem: /^forwarding cannot be turned on/,
      fix: /net\.ipv4\.ip_forward=1/,
    },
    {
      name: "a legacy iptables without its program",
      probe: { isLegacyOutOfReach: async () => true },
      severity: "warning",
      problem: /legacy iptables is in use and its program is not there/,
      fix: /apt-get install iptables/,
    },
  ];
  for (const { name, probe, ...expected } of cases) {
    let closed = 0;
    const found = await networkProblems(uninterrupted, () => ({ ...healthy, ...probe, close: () => closed++ }));
    t.match(found, [expected], name);
    t.equal(found.length, 1, `${name} and nothing else`);
    t.equal(closed, 1);
  }
  const [found] = await networkProblems(uninterrupted, () => {
    throw new Error("EPERM");
  });
  t.match(found, { severity: "fatal", problem: /namespaces cannot be made: EPERM/, fix: /CONFIG_NET_NS/ });
});

t.test("on a host of its own", { skip: noNetworkReason() }, async (t) => {
  await playHost();
  const name = "networkProblems() names a legacy iptables only where its program is missing";
  await t.test(name, { skip: noLegacyFirewallReason() }, async (t) => {
    const named = async () =>
      (await networkProblems(uninterrupted)).filter(({ problem }) => problem.includes("legacy iptables")).length;
    execFileSync("iptables-legacy", ["-P", "FORWARD", "DROP"]);
    t.equal(await named(), 0, "what the program can mend is no problem");
    const path = process.env.PATH;
    process.env.PATH = "/nowhere";
    try {
      t.equal(await named(), 1);
    } finally {
      process.env.PATH = path;
    }
  });
});
