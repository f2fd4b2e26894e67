// Keeps new pods away from nodes whose conditions say so, by taints.

import { resources } from "../../../plugins/kit/kube/objects/resources.ts";
import type { Node } from "../../../plugins/kit/kube/objects/types.ts";
import type { ControllerFactory } from "../../manager/contract.ts";
import { taintsByCondition } from "./taints.ts";

export const nodeTaintsController: ControllerFactory = ({ client, informers }) => {
  const nodes = informers.for<Node>(resources.nodes);
  return {
    name: "node-taints",
    wakes: [{ resource: resources.nodes, keys: (node: Node) => [node.metadata.name ?? ""] }],
    async reconcile(name, call) {
      const node = nodes.get("", name);
      const taints = node && taintsByCondition(node);
      if (!node || !taints) return undefined;
      const { uid, resourceVersion } = node.metadata;
      const body = { metadata: { uid, resourceVersion }, spec: { taints: taints.length > 0 ? taints : null } };
      await client.patch(resources.nodes, { name }, { type: "merge", body }, call);
      return undefined;
    },
  };
};
