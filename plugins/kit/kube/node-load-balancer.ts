// Load balancers without a cloud: nodes accept the traffic of a Service of type LoadBalancer on their own addresses.

import type { Node } from "./objects/types.ts";

/** The class of these load balancers; Services without a class are theirs too. */
export const nodeLoadBalancerClass = "skiff.dev/node";

/** Where a node is reached from outside of the cluster, as it reports. */
export function nodeAddresses(node: Node): string[] {
  const addresses = node.status?.addresses ?? [];
  const external = addresses.filter(({ type }) => type === "ExternalIP");
  return (external.length > 0 ? external : addresses.filter(({ type }) => type === "InternalIP")).map(
    ({ address }) => address,
  );
}
