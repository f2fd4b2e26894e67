// Publishes the addresses of nodes as the ingress of LoadBalancer Services. Nodes have no part in it: whoever writes the status of a
// Service decides which addresses all nodes accept its traffic for.

import { isFault } from "../../../plugins/kit/base/fault.ts";
import { resources } from "../../../plugins/kit/kube/objects/resources.ts";
import type { EndpointSlice, Node, Service } from "../../../plugins/kit/kube/objects/types.ts";
import type { ControllerFactory } from "../../manager/contract.ts";
import { keyOf, splitKey } from "../../manager/owners.ts";
import { ingressFacts, type IsForeign, isLocalBalancer, isSameIngress, serviceOf, wantedIngress } from "./ingress.ts";

export function nodeLoadBalancerController(isForeign: IsForeign): ControllerFactory {
  return ({ client, informers }) => {
    const services = informers.for<Service>(resources.services);
    const nodes = informers.for<Node>(resources.nodes);
    const slices = informers.for<EndpointSlice>(resources.endpointslices);
    const isKnown = ({ metadata }: Node) => nodes.get("", metadata.name ?? "") !== undefined;
    return {
      name: "node-load-balancer",
      wakes: [
        { resource: resources.services, keys: (service: Service) => [keyOf(service)] },
        {
          resource: resources.nodes,
          keys: (node: Node, previous: Node | undefined) =>
            previous && isKnown(node) && ingressFacts(node) === ingressFacts(previous)
              ? []
              : services
                  .list()
                  .filter(({ spec }) => spec?.type === "LoadBalancer")
                  .map(keyOf),
        },
        {
          resource: resources.endpointslices,
          keys(slice: EndpointSlice) {
            const key = serviceOf(slice);
            const { namespace, name } = splitKey(key);
            const service = services.get(namespace, name);
            return service && isLocalBalancer(service) ? [key] : [];
          },
        },
      ],
      async reconcile(key, call) {
        const { namespace, name } = splitKey(key);
        const service = services.get(namespace, name);
        const ingress =
          service && wantedIngress(service, { nodes: nodes.list(), slices: slices.list(namespace), isForeign });
        if (!ingress || isSameIngress(service, ingress)) return undefined;
        const body = { status: { loadBalancer: { ingress } } };
        const at = { namespace, name, subresource: "status" };
        try {
          await client.patch(resources.services, at, { type: "merge", body }, call);
        } catch (error) {
          if (!isFault(error, "not-found")) throw error;
        }
        return undefined;
      },
    };
  };
}
