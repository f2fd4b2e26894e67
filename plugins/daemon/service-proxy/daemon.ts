// The service-proxy daemon: watches services, endpoint slices and nodes, and runs the proxy on them.

import type { Call } from "../../kit/base/call.ts";
import type { Clock } from "../../kit/base/clock.ts";
import type { Daemon } from "../../kit/contracts/daemon.ts";
import type { Log } from "../../kit/base/log.ts";
import { acceptForwarding, withdrawForwarding } from "../../kit/os/net/forward-accept.ts";
import { contains, parsePrefix } from "../../kit/os/net/address.ts";
import { isLegacyInUse } from "../../kit/os/net/legacy-forward.ts";
import { listLinks, openRoutes } from "../../kit/os/net/links.ts";
import { listAddresses } from "../../kit/os/net/routes.ts";
import { type Nft, openNft } from "../../kit/os/net/nft.ts";
import type { NodeContext } from "../../kit/contracts/node-context.ts";
import { nodeAddresses } from "../../kit/kube/node-load-balancer.ts";
import { resources } from "../../kit/kube/objects/resources.ts";
import type { EndpointSlice, Node, Service } from "../../kit/kube/objects/types.ts";
import { RuleGeneration } from "../ruleset/generation.ts";
import { Wake } from "../wake.ts";
import { allowServices } from "./kernel-settings.ts";
import { ServiceProxy } from "./proxy.ts";
import { ProxyHealth } from "./proxy-health.ts";
import { ProxyMeters } from "./proxy-meters.ts";
import { type ProxyPorts, ProxyServers } from "./proxy-servers.ts";
import type { ViewContext } from "./service-view.ts";

export interface ServiceProxyDaemonOptions {
  readonly node: NodeContext;
  readonly ports: ProxyPorts;
  readonly clock: Clock;
  readonly log: Log;
}

/** When the endpoints of a slice began to change, by whoever wrote it. */
const triggerAnnotation = "endpoints.kubernetes.io/last-change-trigger-time";
/** How soon what the kernel refused is tried again; twice as long each time. */
const [leastRetryMs, mostRetryMs] = [1000, 30_000];
/** Changes within this time become one transaction. */
const gatherMs = 20;
const lookMs = 2_000;
const leastVerifyMs = 10_000;
/** The legacy iptables tells nobody of its changes, so that a firewall that came later is found by looking. */
const acceptMs = 60_000;

export function serviceProxyDaemon(options: ServiceProxyDaemonOptions): Daemon {
  return {
    name: "service-proxy",
    run: (call) => new Run(options).work(call),
    async remove(call) {
      const nft = openNft();
      try {
        const proxy = new ServiceProxy({
          instance: options.node.instance,
          nft,
          log: options.log,
          podCidrs: [],
          context: contextOf(options.node, undefined),
        });
        await proxy.remove(call);
        for (const what of await forwarded(options.node.clusterCidrs)) await withdrawForwarding(nft, what, call);
      } finally {
        nft.close();
      }
    },
  };
}

function contextOf(node: NodeContext, self: Node | undefined): ViewContext {
  return {
    nodeName: node.nodeName,
    zone: self?.metadata.labels?.["topology.kubernetes.io/zone"],
    nodeIps: self ? nodeAddresses(self) : [],
    skippedIps: new Set(node.clusterDns),
  };
}

class Run {
  readonly #options: ServiceProxyDaemonOptions;
  readonly #nft: Nft = openNft();
  readonly #generation = new RuleGeneration();
  readonly #proxy: ServiceProxy;
  #seenGeneration = 0;
  #verifyFrom = 0;
  #acceptFrom = 0;
  #retryMs = leastRetryMs;
  #triggers: number[] = [];
  readonly #startedAt: number;
  readonly #health: ProxyHealth;
  readonly #meters: ProxyMeters;
  readonly #servers: ProxyServers;

  constructor(options: ServiceProxyDaemonOptions) {
    this.#options = options;
    const { node, ports, clock, log } = options;
    this.#startedAt = clock.now();
    this.#health = new ProxyHealth(clock);
    this.#meters = new ProxyMeters(clock);
    this.#servers = new ProxyServers({ ...ports, health: this.#health, meters: this.#meters, clock, log });
    this.#proxy = new ServiceProxy({
      instance: node.instance,
      nft: this.#nft,
      log,
      podCidrs: node.clusterCidrs,
      context: contextOf(node, undefined),
      isHealthy: () => this.#health.isHealthy,
    });
  }

  async work(call: Call): Promise<void> {
    const { node, clock } = this.#options;
    await allowServices(call);
    const services = node.informer<Service>(resources.services);
    const slices = node.informer<EndpointSlice>(resources.endpointslices);
    const nodes = node.informer<Node>(resources.nodes);
    const wake = new Wake(clock, call);
    const changed = (what: "service" | "endpoint") => {
      this.#health.queued();
      this.#meters.changed(what);
      wake.ring();
    };
    const syncNode = () => {
      const self = nodes.get("", node.nodeName);
      this.#health.setNode(self);
      this.#proxy.setContext(contextOf(node, self));
    };
    await this.#servers.open();
    await wake.for(Promise.all([services.synced, slices.synced, nodes.synced]));
    const ends = [
      services.onEvent(({ type, object }) => {
        this.#proxy.setService(
          `${object.metadata.namespace}/${object.metadata.name}`,
          type === "delete" ? undefined : object,
        );
        changed("service");
      }),
      slices.onEvent(({ type, object }) => {
        this.#proxy.setSlice(object, type === "delete");
        if (type !== "delete") this.#noteTrigger(object);
        changed("endpoint");
      }),
      nodes.onEvent(() => {
        syncNode();
        wake.ring();
      }),
    ];
    try {
      syncNode();
      await this.#acceptForwarded(call);
      await this.#commit(call);
      while (!call.signal.aborted) {
        if (!this.#proxy.isDirty) await wake.next(lookMs);
        if (this.#proxy.isDirty) {
          await clock.sleep(gatherMs, call);
          await this.#commit(call);
        }
        await this.#servers.open();
        await this.#verifyWhenChanged(call);
        if (clock.monotonic() >= this.#acceptFrom && isLegacyInUse()) await this.#acceptForwarded(call);
      }
    } finally {
      for (const end of ends) end();
      wake.close();
      await this.#servers.close();
      this.#proxy.close();
      this.#generation.close();
      this.#nft.close();
    }
  }

  /** A kernel that refuses now may take it in a while: what waits is written then, and the health check tells meanwhile. */
  async #commit(call: Call): Promise<void> {
    const { clock, log } = this.#options;
    try {
      await this.#write(call);
      this.#retryMs = leastRetryMs;
    } catch (error) {
      if (call.signal.aborted) throw error;
      this.#meters.failed();
      this.#health.queued();
      log.error({ err: error, retryMs: this.#retryMs }, "cannot write the rules of services; will try again");
      await clock.sleep(this.#retryMs, call);
      this.#retryMs = Math.min(this.#retryMs * 2, mostRetryMs);
    }
  }

  async #write(call: Call): Promise<void> {
    const { clock } = this.#options;
    const isForeign = (await this.#generation.read()) !== this.#seenGeneration;
    const [startedAt, isFull, triggers] = [clock.monotonic(), this.#proxy.isUnwritten, this.#triggers];
    this.#triggers = [];
    await this.#proxy.commit(call);
    const seconds = (clock.monotonic() - startedAt) / 1000;
    this.#meters.synced({ isFull, seconds, triggers }, this.#proxy.withoutLocal());
    if (!this.#proxy.isDirty) this.#health.updated();
    // A change by somebody else before ours stays to be looked at.
    if (!isForeign || this.#seenGeneration === 0) this.#seenGeneration = await this.#generation.read();
  }

  #noteTrigger({ metadata }: EndpointSlice): void {
    const at = Date.parse(metadata.annotations?.[triggerAnnotation] ?? "");
    // What changed before we watched says nothing of us.
    if (at > this.#startedAt) this.#triggers.push(at);
  }

  async #verifyWhenChanged(call: Call): Promise<void> {
    const generation = await this.#generation.read();
    const { clock } = this.#options;
    if (generation === this.#seenGeneration || clock.monotonic() < this.#verifyFrom) return;
    const startedAt = clock.monotonic();
    await this.#proxy.verify(call);
    // With very many services a look takes long; it never takes more than a twentieth of the time.
    this.#verifyFrom = clock.monotonic() + Math.max(leastVerifyMs, 20 * (clock.monotonic() - startedAt));
    await this.#acceptForwarded(call);
    this.#seenGeneration = await this.#generation.read();
  }

  /** The pods' networks too, not just their bridges: a node port leads to pods of other nodes past any bridge. */
  async #acceptForwarded(call: Call): Promise<void> {
    this.#acceptFrom = this.#options.clock.monotonic() + acceptMs;
    for (const what of await forwarded(this.#options.node.clusterCidrs)) await acceptForwarding(this.#nft, what, call);
  }
}

/** The pods' networks, and the bridges that hold an address of them: the ones that CNI made for pods. */
async function forwarded(podCidrs: readonly string[]): Promise<string[]> {
  const prefixes = podCidrs.map(parsePrefix);
  const routes = openRoutes();
  try {
    const addresses = await listAddresses(routes);
    const isPod = (index: number) =>
      addresses.some(
        (found) => found.index === index && prefixes.some((prefix) => contains(prefix, found.prefix.address)),
      );
    const bridges = (await listLinks(routes)).filter((link) => link.kind === "bridge" && isPod(link.index));
    return [...podCidrs, ...bridges.map(({ name }) => name)];
  } finally {
    routes.close();
  }
}
