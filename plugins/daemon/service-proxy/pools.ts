// Pools: what most services need, shared by all of them. For each protocol and number of endpoints there is one chain with one rule
// and one map from frontend and random number to endpoint. A service is then a few elements, and neither the kernel's work per packet
// nor that per change grows with their number: a chain or map of its own for each costs the square of it. Pure.

import { addElement, type Plan } from "../ruleset/plan.ts";
import type { Endpoint } from "./endpoints.ts";
import type { PortView } from "./service-view.ts";

export const markMasquerade = "meta mark set meta mark or 0x4000";

/** How traffic comes to a pool: to a cluster IP, to another address of the service, or to a node port. */
type Door = "cluster" | "external" | "nodeport";

const prefixes: Record<Door, string> = { cluster: "pool", external: "xpool", nodeport: "npool" };

/** Adds the endpoints under the frontend and returns the chain that serves it. */
export function poolFor(plan: Plan, view: PortView, door: Door, frontend: string): string {
  const { family, protocol, endpoints } = view;
  const ip = family === 4 ? "ip" : "ip6";
  const count = endpoints.length;
  const port = `${protocol} dport`;
  const key = door === "nodeport" ? port : `${ip} daddr . ${port}`;
  const choice = count > 1 ? " . numgen random mod 2" : "";
  const map = `${door === "nodeport" ? "byport" : "byaddr"}${family}_${protocol}_${count}`;
  const chain = `${prefixes[door]}${family}_${protocol}_${count}`;
  plan.sets.set(map, `map { typeof ${key}${choice} : ${ip} daddr . ${port}; }`);
  const draw = count > 1 ? ` . numgen random mod ${count}` : "";
  const first = door === "cluster" ? `${ip} saddr != @pods${family} ${markMasquerade}` : markMasquerade;
  plan.chains.set(chain, [first, `meta l4proto ${protocol} dnat ${ip} to ${key}${draw} map @${map}`]);
  for (const [index, endpoint] of endpoints.entries())
    addElement(plan, map, count > 1 ? `${frontend} . ${index}` : frontend, target(endpoint));
  return chain;
}

function target(endpoint: Endpoint): string {
  return `${endpoint.ip} . ${endpoint.port}`;
}
