// Settings of the kernel that services need. Where one cannot be written, the node's preflight says so or nothing is lost.

import { availableParallelism } from "node:os";
import type { Call } from "../../kit/base/call.ts";
import { enableForwarding } from "../../kit/os/net/forwarding.ts";
import { readNetSetting, writeNetSetting } from "../../kit/os/net/sysctl.ts";
import { run } from "../../kit/os/platform/process.ts";

const leastFlows = 131_072;
const flowsPerCore = 32_768;

/** The figures are those of kube-proxy. */
const timeouts = {
  /** A connection that nobody speaks on for a day is forgotten; the kernel's own five days fill the table. */
  "netfilter/nf_conntrack_tcp_timeout_established": 86_400,
  /** A client that closed its half may be sent data for an hour. */
  "netfilter/nf_conntrack_tcp_timeout_close_wait": 3600,
};

export async function allowServices(call: Call): Promise<void> {
  // Without it, answers between pods of one bridge bypass the address translation.
  if (readNetSetting("bridge/bridge-nf-call-iptables") === undefined)
    await run("modprobe", ["br_netfilter"], { timeoutMs: 10_000 }, call).catch(() => undefined);
  enableForwarding(4);
  writeNetSetting("ipv4/conf/all/route_localnet", "1");
  writeNetSetting("bridge/bridge-nf-call-iptables", "1");
  writeNetSetting("bridge/bridge-nf-call-ip6tables", "1");
  for (const [name, seconds] of Object.entries(timeouts)) writeNetSetting(name, String(seconds));
  raiseFlows();
}

/** Room for so many flows at once; never less than somebody else asked for. */
function raiseFlows(): void {
  const most = Math.max(leastFlows, flowsPerCore * availableParallelism());
  const now = Number(readNetSetting("netfilter/nf_conntrack_max") ?? most);
  if (now < most) writeNetSetting("netfilter/nf_conntrack_max", String(most));
}
