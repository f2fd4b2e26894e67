// The dns daemon: keeps the zone in step with services and endpoint slices and serves it on the cluster DNS addresses of this node.

import { setMaxListeners } from "node:events";
import type { Call } from "../../kit/base/call.ts";
import type { Clock } from "../../kit/base/clock.ts";
import type { Daemon } from "../../kit/contracts/daemon.ts";
import type { Log } from "../../kit/base/log.ts";
import type { NodeContext } from "../../kit/contracts/node-context.ts";
import { resources } from "../../kit/kube/objects/resources.ts";
import type { EndpointSlice, Service } from "../../kit/kube/objects/types.ts";
import { Forwarder, type Upstream } from "./forward.ts";
import { LoopbackAddresses } from "./loopback-addresses.ts";
import { LoopGuard } from "./loop-guard.ts";
import { entryOf, ServiceRecords } from "./records.ts";
import { upstreamsOf } from "./resolv-conf.ts";
import { type RunningDns, serveDns } from "./server.ts";
import { Zone } from "./zone.ts";

export interface DnsSettings {
  /** Upstream servers instead of the node's own. */
  readonly upstreams?: readonly string[];
  readonly resolvConf?: string;
  /** Answers `.local` names by asking the link (mDNS). */
  readonly multicast?: boolean;
  readonly port?: number;
}

export interface DnsDaemonOptions {
  readonly node: NodeContext;
  readonly settings: DnsSettings;
  readonly clock: Clock;
  readonly log: Log;
  /** Where it remembers the addresses that it added. */
  readonly stateDir: string;
}

export function dnsDaemon(options: DnsDaemonOptions): Daemon {
  const addresses = new LoopbackAddresses(options.stateDir);
  return {
    name: "dns",
    run: (call) => run(options, addresses, call),
    remove: () => addresses.set([]),
  };
}

async function run(
  { node, settings, clock, log }: DnsDaemonOptions,
  addresses: LoopbackAddresses,
  call: Call,
): Promise<void> {
  // Each question under way listens for the end.
  setMaxListeners(0, call.signal);
  await addresses.set(node.clusterDns);
  const records = new ServiceRecords();
  const follow = followServices(node, records);
  const servers: RunningDns[] = [];
  try {
    const ours = new Set(node.clusterDns);
    const configured = settings.upstreams?.map((address): Upstream => ({ address, port: 53 }));
    const listed = configured
      ? () => configured
      : upstreamsOf(settings.resolvConf ?? "/etc/resolv.conf", (address) => ours.has(address));
    // Only whether a probe comes back matters, not what the answer is.
    const loopGuard: LoopGuard = new LoopGuard({
      listed,
      ask: (question, query) => void forwarder.ask(question, query, call).catch(() => {}),
      log,
    });
    const forwarder = new Forwarder({ clock, upstreams: () => loopGuard.upstreams() });
    const zone = new Zone(node.clusterDomain, records);
    const serving = { zone, forwarder, log, loopGuard, isMulticastEnabled: settings.multicast ?? false };
    for (const address of node.clusterDns)
      servers.push(await serveDns(serving, { address, port: settings.port ?? 53 }, call));
    // From the start, not with the first question only.
    loopGuard.upstreams();
    await new Promise<void>((resolve) => {
      if (call.signal.aborted) resolve();
      call.signal.addEventListener("abort", () => resolve(), { once: true });
    });
  } finally {
    follow();
    for (const server of servers) await server.close();
  }
}

/** Keeps the records right; returns what ends it. Before the informers are synced, what is known already is answered. */
export function followServices(node: Pick<NodeContext, "informer">, records: ServiceRecords): () => void {
  const services = node.informer<Service>(resources.services);
  const slices = node.informer<EndpointSlice>(resources.endpointslices);
  const slicesByService = new Map<string, Map<string, EndpointSlice>>();
  const update = (key: string) => {
    const [namespace = "", name = ""] = key.split("/");
    const service = services.get(namespace, name);
    records.set(key, service && entryOf(service, [...(slicesByService.get(key)?.values() ?? [])]));
  };
  const ends = [
    slices.onEvent(({ type, object }) => {
      const name = object.metadata.labels?.["kubernetes.io/service-name"];
      if (!name) return;
      const key = `${object.metadata.namespace}/${name}`;
      const own = slicesByService.get(key) ?? new Map<string, EndpointSlice>();
      if (type === "delete") own.delete(object.metadata.name ?? "");
      else own.set(object.metadata.name ?? "", object);
      if (own.size > 0) slicesByService.set(key, own);
      else slicesByService.delete(key);
      update(key);
    }),
    services.onEvent(({ object }) => update(`${object.metadata.namespace}/${object.metadata.name}`)),
  ];
  return () => {
    for (const end of ends) end();
  };
}
