// Which tracked UDP flows a change of a service makes wrong: those to endpoints that left, and those that were answered before
// there was any. Pure but for the last step.

import { formatAddress } from "../../kit/os/net/address.ts";
import { dropConnections } from "../../kit/os/net/conntrack.ts";
import type { PortView } from "./service-view.ts";

const udp = 17;

export interface StaleFlows {
  /** `ip:port` as clients see it, and the endpoints that must not be used any more; undefined is every flow there. */
  readonly frontends: ReadonlyMap<string, ReadonlySet<string> | undefined>;
  readonly nodePorts: ReadonlyMap<number, ReadonlySet<string> | undefined>;
}

export function staleFlows(before: readonly PortView[], after: readonly PortView[]): StaleFlows {
  const frontends = new Map<string, ReadonlySet<string> | undefined>();
  const nodePorts = new Map<number, ReadonlySet<string> | undefined>();
  for (const old of before) {
    if (old.protocol !== "udp") continue;
    const now = after.find((view) => view.id === old.id);
    const [used, kept] = [usedIps(old), usedIps(now)];
    const gone = new Set([...used].filter((ip) => !kept.has(ip)));
    // Flows from before the first endpoint went nowhere and would go on doing so.
    const isFirst = used.size === 0 && kept.size > 0;
    if (gone.size === 0 && !isFirst) continue;
    const which = isFirst ? undefined : gone;
    for (const ip of [old.clusterIp, ...old.externalIps, ...old.loadBalancerIps])
      frontends.set(`${ip}:${old.port}`, which);
    if (old.nodePort) nodePorts.set(old.nodePort, which);
  }
  for (const fresh of after) {
    if (fresh.protocol !== "udp" || usedIps(fresh).size === 0 || before.some(({ id }) => id === fresh.id)) continue;
    for (const ip of [fresh.clusterIp, ...fresh.externalIps, ...fresh.loadBalancerIps])
      frontends.set(`${ip}:${fresh.port}`, undefined);
    if (fresh.nodePort) nodePorts.set(fresh.nodePort, undefined);
  }
  return { frontends, nodePorts };
}

/** Whom flows may lead to: under a policy Local also to what terminates here, while others are ready elsewhere. */
function usedIps(view: PortView | undefined): Set<string> {
  if (!view) return new Set();
  const isLocal = view.isInternalLocal || view.isExternalLocal;
  return new Set([...view.endpoints, ...(isLocal ? view.localEndpoints : [])].map(({ ip }) => ip));
}

export async function dropStaleFlows(flows: StaleFlows): Promise<number> {
  if (flows.frontends.size === 0 && flows.nodePorts.size === 0) return 0;
  let dropped = 0;
  for (const family of [4, 6] as const) {
    dropped += await dropConnections(family, ({ original, reply }) => {
      if (original.protocol !== udp) return false;
      const key = `${formatAddress(original.destination)}:${original.destinationPort}`;
      for (const [found, which] of [
        [flows.frontends.has(key), flows.frontends.get(key)],
        [flows.nodePorts.has(original.destinationPort), flows.nodePorts.get(original.destinationPort)],
      ] as const)
        if (found && (!which || which.has(formatAddress(reply.source)))) return true;
      return false;
    });
  }
  return dropped;
}
