// Gives every node its block of pod addresses (`spec.podCIDR`). What nodes hold already is read back from them, so nothing is
// given twice, also after a restart.

import { resources } from "../../../plugins/kit/kube/objects/resources.ts";
import type { Node } from "../../../plugins/kit/kube/objects/types.ts";
import type { ControllerFactory } from "../../manager/contract.ts";
import { CidrPool } from "./cidr-pool.ts";

export function nodeIpamController(clusterCidrs: readonly string[]): ControllerFactory {
  return ({ client, informers, events }) => {
    const pools = clusterCidrs.map((cidr) => new CidrPool(cidr));
    const nodes = informers.for<Node>(resources.nodes);
    const blocksOf = (node: Node) => node.spec?.podCIDRs ?? (node.spec?.podCIDR ? [node.spec.podCIDR] : []);
    nodes.onEvent(({ type, object }) => {
      for (const cidr of blocksOf(object)) {
        for (const pool of pools) {
          if (type === "delete") pool.release(cidr);
          else pool.occupy(cidr);
        }
      }
    });
    return {
      name: "node-ipam",
      wakes: [{ resource: resources.nodes, keys: (node: Node) => [node.metadata.name ?? ""] }],
      async reconcile(name, call) {
        const node = nodes.get("", name);
        if (!node || blocksOf(node).length > 0) return undefined;
        const taken = pools.map((pool) => pool.take());
        const podCIDRs = taken.filter((cidr) => cidr !== undefined);
        const giveBack = () => {
          for (const [index, cidr] of taken.entries()) if (cidr) pools[index]?.release(cidr);
        };
        if (podCIDRs.length < pools.length) {
          giveBack();
          events.event(node, "Warning", "CIDRNotAvailable", `Node ${name} status is now: CIDRNotAvailable`);
          throw new Error(`no block of pod addresses is left for node "${name}" in ${clusterCidrs.join(", ")}`);
        }
        try {
          const body = { metadata: { uid: node.metadata.uid }, spec: { podCIDR: podCIDRs[0], podCIDRs } };
          await client.patch(resources.nodes, { name }, { type: "strategic", body }, call);
        } catch (error) {
          giveBack();
          throw error;
        }
        return undefined;
      },
    };
  };
}
