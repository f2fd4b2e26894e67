// The nftables plan of a service. Most are served by pools; those that need more have chains of their own. Pure.
//
//   in_*   traffic to the cluster IP,          ex_*  traffic from outside (node port, external and load balancer addresses),
//   fw_*   source ranges before it,            ep_*  picks any endpoint,    lo_*  picks one of this node.

import { createHash } from "node:crypto";
import { addElement, emptyPlan, type Plan } from "../ruleset/plan.ts";
import type { Endpoint } from "./endpoints.ts";
import { markMasquerade, poolFor } from "./pools.ts";
import type { PortView } from "./service-view.ts";

export function planService(views: readonly PortView[]): Plan {
  const plan = emptyPlan();
  for (const view of views) {
    addElement(plan, `clusterips${view.family}`, view.clusterIp);
    for (const endpoint of [...view.endpoints, ...view.localEndpoints])
      if (endpoint.isLocal) addElement(plan, `hairpin${view.family}`, `${endpoint.ip} . ${endpoint.ip}`);
    const own = new OwnChains(plan, view);
    planInside(plan, view, own);
    planOutside(plan, view, own);
  }
  return plan;
}

function key(view: PortView, address: string): string {
  return `${address} . ${view.protocol} . ${view.port}`;
}

function planInside(plan: Plan, view: PortView, own: OwnChains): void {
  const isPlain = !view.isInternalLocal && !view.affinitySeconds;
  const endpoints = view.isInternalLocal ? view.localEndpoints : view.endpoints;
  if (endpoints.length > 0) {
    const chain = isPlain ? poolFor(plan, view, "cluster", `${view.clusterIp} . ${view.port}`) : own.inside();
    addElement(plan, `services${view.family}`, key(view, view.clusterIp), `goto ${chain}`);
  } else if (view.isInternalLocal && view.hasAnyEndpoint)
    addElement(plan, `dropped${view.family}`, key(view, view.clusterIp));
}

function planOutside(plan: Plan, view: PortView, own: OwnChains): void {
  const { family } = view;
  const addresses = [...new Set([...view.externalIps, ...view.loadBalancerIps])];
  const isServed = view.endpoints.length > 0 || (view.isExternalLocal && view.localEndpoints.length > 0);
  if (!isServed) {
    const verdict = view.hasAnyEndpoint ? "dropped" : "refused";
    for (const address of addresses) addElement(plan, `${verdict}${family}`, key(view, address));
    if (view.nodePort) addElement(plan, `${verdict}ports${family}`, `${view.protocol} . ${view.nodePort}`);
    return;
  }
  const isPlain = !view.isExternalLocal && !view.affinitySeconds;
  for (const address of addresses) {
    const chain = isPlain ? poolFor(plan, view, "external", `${address} . ${view.port}`) : own.outside();
    const isGuarded = view.sourceRanges.length > 0 && view.loadBalancerIps.includes(address);
    addElement(plan, `services${family}`, key(view, address), `goto ${isGuarded ? own.guard(chain) : chain}`);
  }
  if (!view.nodePort) return;
  const chain = isPlain ? poolFor(plan, view, "nodeport", String(view.nodePort)) : own.outside();
  addElement(plan, `nodeports${family}`, `${view.protocol} . ${view.nodePort}`, `goto ${chain}`);
}

/** The chains of a service that no pool fits, each made when it is first asked for. */
class OwnChains {
  readonly #plan: Plan;
  readonly #view: PortView;
  readonly #hash: string;
  readonly #ip: "ip" | "ip6";

  constructor(plan: Plan, view: PortView) {
    this.#plan = plan;
    this.#view = view;
    this.#hash = createHash("sha256").update(view.id).digest("hex").slice(0, 16);
    this.#ip = view.family === 4 ? "ip" : "ip6";
  }

  #chain(prefix: string, rules: () => string[]): string {
    const name = `${prefix}_${this.#hash}`;
    if (!this.#plan.chains.has(name)) this.#plan.chains.set(name, rules());
    return name;
  }

  inside(): string {
    const { family, isInternalLocal } = this.#view;
    return this.#chain("in", () => [
      `${this.#ip} saddr != @pods${family} ${markMasquerade}`,
      `goto ${isInternalLocal ? this.#local() : this.#any()}`,
    ]);
  }

  outside(): string {
    const { isExternalLocal, endpoints, localEndpoints, family } = this.#view;
    return this.#chain("ex", () => {
      if (!isExternalLocal) return [markMasquerade, `goto ${this.#any()}`];
      // Pods and the node itself are inside: for them the policy Local does not hold.
      const inside =
        endpoints.length > 0
          ? [
              `${this.#ip} saddr @pods${family} goto ${this.#any()}`,
              `fib saddr type local ${markMasquerade}`,
              `fib saddr type local goto ${this.#any()}`,
            ]
          : [];
      return [...inside, localEndpoints.length > 0 ? `goto ${this.#local()}` : "drop"];
    });
  }

  guard(next: string): string {
    const ranges = [...new Set(this.#view.sourceRanges)].join(", ");
    return this.#chain("fw", () => [`${this.#ip} saddr { ${ranges} } goto ${next}`, "drop"]);
  }

  #any(): string {
    return this.#chain("ep", () => this.#pick("ep", this.#view.endpoints));
  }

  #local(): string {
    return this.#chain("lo", () => this.#pick("lo", this.#view.localEndpoints));
  }

  #pick(prefix: string, endpoints: readonly Endpoint[]): string[] {
    const { protocol, affinitySeconds } = this.#view;
    if (affinitySeconds) return this.#sticky(prefix, endpoints, affinitySeconds);
    if (endpoints.length === 1) return [this.#dnat(endpoints[0] as Endpoint)];
    const choices = endpoints.map((endpoint, index) => `${index} : ${endpoint.ip} . ${endpoint.port}`).join(", ");
    return [`meta l4proto ${protocol} dnat ${this.#ip} to numgen random mod ${endpoints.length} map { ${choices} }`];
  }

  #dnat({ ip, port }: Endpoint): string {
    return `meta l4proto ${this.#view.protocol} dnat ${this.#ip} to ${ip.includes(":") ? `[${ip}]:${port}` : `${ip}:${port}`}`;
  }

  /** A set per endpoint remembers which clients it has. */
  #sticky(prefix: string, endpoints: readonly Endpoint[], seconds: number): string[] {
    const { family } = this.#view;
    const own = endpoints.map((endpoint) => {
      const hash = createHash("sha256").update(`${endpoint.ip} ${endpoint.port} ${seconds}`).digest("hex").slice(0, 8);
      const set = `af_${prefix}_${this.#hash}_${hash}`;
      const chain = `st_${prefix}_${this.#hash}_${hash}`;
      this.#plan.sets.set(
        set,
        `set { type ipv${family}_addr; flags dynamic, timeout; timeout ${seconds}s; size 65535; }`,
      );
      this.#plan.chains.set(chain, [`update @${set} { ${this.#ip} saddr }`, this.#dnat(endpoint)]);
      return { set, chain };
    });
    const draws = own.map(({ chain }, index) => `${index} : goto ${chain}`).join(", ");
    return [
      ...own.map(({ set, chain }) => `${this.#ip} saddr @${set} goto ${chain}`),
      own.length === 1 ? `goto ${own[0]?.chain}` : `numgen random mod ${own.length} vmap { ${draws} }`,
    ];
  }
}
