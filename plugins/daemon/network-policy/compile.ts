// Network policies as an nftables plan for the pods of this node. Pure.
//
// A pod that some policy selects is sent by its address to a chain for exactly its set of policies (pods with the same set share it),
// which jumps to each policy's chain and drops what none accepted.

import { createHash } from "node:crypto";
import type { Namespace, NetworkPolicy, Pod } from "../../kit/kube/objects/types.ts";
import { labelSelectorOf } from "../../kit/kube/selector.ts";
import { addElement, emptyPlan, type Plan } from "../ruleset/plan.ts";
import { type Peers, type PolicyPeer, resolvePeers } from "./peers.ts";
import { type PolicyPort, portMatches } from "./ports.ts";

export interface PolicyWorld {
  readonly policies: readonly NetworkPolicy[];
  readonly pods: readonly Pod[];
  readonly namespaces: readonly Namespace[];
  readonly nodeName: string;
}

type Direction = "ingress" | "egress";
interface PolicyRule {
  readonly peers: readonly PolicyPeer[];
  readonly ports: readonly PolicyPort[];
}

/** Addresses of a pod that can be told from others': pods on the host's network have none of their own. */
function podIps(pod: Pod): string[] {
  const { phase, podIPs, podIP } = pod.status ?? {};
  if (pod.spec?.hostNetwork || phase === "Succeeded" || phase === "Failed") return [];
  const listed = (podIPs ?? []).map(({ ip }) => ip ?? "").filter((ip) => ip !== "");
  return listed.length > 0 ? listed : podIP ? [podIP] : [];
}

export function compilePolicies(world: PolicyWorld): Plan {
  const plan = emptyPlan();
  const local = world.pods.filter((pod) => pod.spec?.nodeName === world.nodeName && podIps(pod).length > 0);
  for (const direction of ["ingress", "egress"] as const) {
    const policies = world.policies
      .filter((policy) => hasDirection(policy, direction))
      .map((policy) => ({ policy, selector: labelSelectorOf(policy.spec?.podSelector ?? {}) }));
    const used = new Map<string, Pod[]>();
    for (const pod of local) {
      const selecting = policies.filter(
        ({ policy, selector }) =>
          policy.metadata.namespace === pod.metadata.namespace && selector.matches(pod.metadata.labels),
      );
      if (selecting.length === 0) continue;
      const names = selecting.map(({ policy }) => chainOf(policy, direction)).sort();
      const chain = `${direction === "ingress" ? "in" : "out"}_${hash(names.join())}`;
      plan.chains.set(chain, [...names.map((name) => `jump ${name}`), "drop"]);
      for (const ip of podIps(pod)) {
        addElement(plan, `${direction}${familyOf(ip)}`, ip, `goto ${chain}`);
        addElement(plan, `selves${familyOf(ip)}`, `${ip} . ${ip}`);
      }
      for (const name of names) used.set(name, [...(used.get(name) ?? []), pod]);
    }
    for (const { policy } of policies) {
      const name = chainOf(policy, direction);
      const selected = used.get(name);
      if (selected) compilePolicy(plan, policy, direction, { ...world, selected, name });
    }
  }
  return plan;
}

function hasDirection(policy: NetworkPolicy, direction: Direction): boolean {
  const { policyTypes, egress } = policy.spec ?? {};
  if (policyTypes?.length) return policyTypes.includes(direction === "ingress" ? "Ingress" : "Egress");
  return direction === "ingress" || (egress?.length ?? 0) > 0;
}

function chainOf(policy: NetworkPolicy, direction: Direction): string {
  return `${direction === "ingress" ? "pi" : "pe"}_${hash(`${policy.metadata.namespace}/${policy.metadata.name}`)}`;
}

function hash(text: string): string {
  return createHash("sha256").update(text).digest("hex").slice(0, 16);
}

function familyOf(ip: string): 4 | 6 {
  return ip.includes(":") ? 6 : 4;
}

function rulesOf(policy: NetworkPolicy, direction: Direction): PolicyRule[] {
  if (direction === "ingress")
    return (policy.spec?.ingress ?? []).map(({ from, ports }) => ({
      peers: (from ?? []) as PolicyPeer[],
      ports: (ports ?? []) as PolicyPort[],
    }));
  return (policy.spec?.egress ?? []).map(({ to, ports }) => ({
    peers: (to ?? []) as PolicyPeer[],
    ports: (ports ?? []) as PolicyPort[],
  }));
}

function compilePolicy(
  plan: Plan,
  policy: NetworkPolicy,
  direction: Direction,
  world: PolicyWorld & { selected: readonly Pod[]; name: string },
): void {
  const lines: string[] = [];
  for (const [index, rule] of rulesOf(policy, direction).entries()) {
    const peers =
      rule.peers.length === 0 ? undefined : resolvePeers(rule.peers, policy.metadata.namespace ?? "", world);
    // A named port is one of the pod that is talked to.
    const targets = direction === "ingress" ? world.selected : (peers?.pods ?? world.pods);
    for (const family of [4, 6] as const) {
      const sources = peerMatches(plan, peers, { family, direction, set: `${world.name}_${index}_${family}` });
      const ports = portMatches(rule.ports, { family, targets });
      for (const source of sources)
        for (const port of ports) lines.push([source, port, "accept"].filter((part) => part !== "").join(" "));
    }
  }
  plan.chains.set(world.name, [...new Set(lines)]);
}

/** Matches for the peers of one family; one that matches everything for no peers at all, none when there is none of the family. */
function peerMatches(
  plan: Plan,
  peers: Peers | undefined,
  { family, direction, set }: { family: 4 | 6; direction: Direction; set: string },
): string[] {
  const ip = `${family === 4 ? "ip" : "ip6"} ${direction === "ingress" ? "saddr" : "daddr"}`;
  if (!peers) return [`meta nfproto ipv${family}`];
  const matches: string[] = [];
  const addresses = peers.pods.flatMap(podIps).filter((address) => familyOf(address) === family);
  if (addresses.length > 0) {
    plan.sets.set(set, `set { type ipv${family}_addr; }`);
    for (const address of addresses) addElement(plan, set, address);
    matches.push(`${ip} @${set}`);
  }
  for (const { cidr, except } of peers.blocks) {
    if (familyOf(cidr) !== family) continue;
    matches.push(except.length > 0 ? `${ip} ${cidr} ${ip} != { ${except.join(", ")} }` : `${ip} ${cidr}`);
  }
  return matches;
}
