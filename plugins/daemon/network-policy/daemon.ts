// The network-policy daemon: keeps the policy table in step with policies, pods and namespaces. Watches pods only once there is a
// policy: on most small clusters there is none.

import type { Call } from "../../kit/base/call.ts";
import type { Clock } from "../../kit/base/clock.ts";
import type { Daemon } from "../../kit/contracts/daemon.ts";
import type { Log } from "../../kit/base/log.ts";
import { openNft } from "../../kit/os/net/nft.ts";
import { writeNetSetting } from "../../kit/os/net/sysctl.ts";
import type { NodeContext, PodConnected } from "../../kit/contracts/node-context.ts";
import { resources } from "../../kit/kube/objects/resources.ts";
import type { Namespace, NetworkPolicy, Pod } from "../../kit/kube/objects/types.ts";
import { RuleGeneration } from "../ruleset/generation.ts";
import { OwnedTable } from "../ruleset/table.ts";
import { Arrivals } from "./arrivals.ts";
import { policyBase, policyTable } from "./base.ts";
import { Wake } from "../wake.ts";
import { compilePolicies } from "./compile.ts";

export interface NetworkPolicyOptions {
  readonly node: NodeContext;
  readonly clock: Clock;
  readonly log: Log;
}

const gatherMs = 50;
const lookMs = 5_000;
const mostWaitMs = 5_000;

export function networkPolicyDaemon(options: NetworkPolicyOptions): Daemon {
  const table = policyTable(options.node.instance);
  const tableOf = (nft: ReturnType<typeof openNft>) =>
    new OwnedTable({ nft, table, base: policyBase(table, options.node.clusterDns), log: options.log });
  return {
    name: "network-policy",
    async run(call) {
      const nft = openNft();
      const generation = new RuleGeneration();
      try {
        await run(options, tableOf(nft), generation, call);
      } finally {
        generation.close();
        nft.close();
      }
    },
    async remove(call) {
      const nft = openNft();
      try {
        await tableOf(nft).remove(call);
      } finally {
        nft.close();
      }
    },
  };
}

async function run(
  { node, clock }: NetworkPolicyOptions,
  table: OwnedTable,
  generation: RuleGeneration,
  call: Call,
): Promise<void> {
  const wake = new Wake(clock, call);
  const arrivals = new Arrivals();
  const ends: (() => void)[] = [() => wake.close(), () => arrivals.close()];
  try {
    const policies = node.informer<NetworkPolicy>(resources.networkpolicies);
    await wake.for(policies.synced);
    const connected: PodConnected = async (pod, ips, { signal }) => {
      if (policies.list().length === 0 || ips.length === 0) return;
      const admitted = arrivals.add(pod, ips);
      wake.ring();
      // An API server that does not tell of pods just now must not keep them from starting.
      const over = new AbortController();
      const patience = clock.sleep(mostWaitMs, { signal: AbortSignal.any([signal, over.signal]) });
      await Promise.race([admitted, patience.catch(() => {})]);
      over.abort();
    };
    node.podConnected.add(connected);
    ends.push(() => node.podConnected.delete(connected));
    ends.push(policies.onEvent(() => wake.ring()));
    while (policies.list().length === 0 && !call.signal.aborted) await wake.next(lookMs * 12);
    if (call.signal.aborted) return;
    // Pods on one bridge pass the filter only when the bridge hands their frames to it.
    for (const name of ["bridge/bridge-nf-call-iptables", "bridge/bridge-nf-call-ip6tables"])
      writeNetSetting(name, "1");
    const pods = node.informer<Pod>(resources.pods);
    const namespaces = node.informer<Namespace>(resources.namespaces);
    await wake.for(Promise.all([pods.synced, namespaces.synced]));
    ends.push(namespaces.onEvent(() => wake.ring()));
    ends.push(
      pods.onEvent(({ type, object }) => {
        if (type === "delete") arrivals.forget(object);
        wake.ring();
      }),
    );
    let seen = -1;
    while (!call.signal.aborted) {
      const { nodeName } = node;
      const { pods: present, admit } = arrivals.merge(pods.list(), nodeName);
      const world = { policies: policies.list(), pods: present, namespaces: namespaces.list() };
      table.update("policies", compilePolicies({ ...world, nodeName }));
      await table.commit(call);
      admit();
      if (seen !== -1 && (await generation.read()) !== seen) await table.verify(call);
      seen = await generation.read();
      if ((await wake.next(lookMs)) && !arrivals.isNew) await clock.sleep(gatherMs, call).catch(() => {});
    }
  } finally {
    for (const end of ends) end();
  }
}
