// Mirrors hand-written Endpoints of services without a selector into slices, so that whoever reads only slices sees them too.

import type { Call } from "../../../plugins/kit/base/call.ts";
import { isFault } from "../../../plugins/kit/base/fault.ts";
import { resources } from "../../../plugins/kit/kube/objects/resources.ts";
import type { Endpoints, Service } from "../../../plugins/kit/kube/objects/types.ts";
import type { ControllerFactory } from "../../manager/contract.ts";
import { controllerReference, keyOf, splitKey } from "../../manager/owners.ts";
import { deepEqual } from "../../machinery/equal.ts";
import { type EndpointSlice, planSlices } from "../endpoint-slice/slices.ts";
import { isMirrored, mirroredGroups } from "./mirror.ts";

const serviceNameLabel = "kubernetes.io/service-name";
const managedByLabel = "endpointslice.kubernetes.io/managed-by";
const manager = "endpointslicemirroring-controller.k8s.io";
const type = { apiVersion: "discovery.k8s.io/v1", kind: "EndpointSlice" };

export const endpointSliceMirroringController: ControllerFactory = ({ client, informers }) => {
  const services = informers.for<Service>(resources.services);
  const stored = informers.for<Endpoints>(resources.endpoints);
  const slices = informers.for<EndpointSlice>(resources.endpointslices);

  async function remove(unwanted: readonly EndpointSlice[], call: Call): Promise<void> {
    for (const { metadata } of unwanted) {
      try {
        const at = { namespace: metadata.namespace ?? "", name: metadata.name ?? "" };
        await client.delete(resources.endpointslices, at, call);
      } catch (error) {
        if (!isFault(error, "not-found")) throw error;
      }
    }
  }

  return {
    name: "endpointslice-mirroring",
    workers: 2,
    wakes: [
      { resource: resources.services, keys: (service: Service) => [keyOf(service)] },
      { resource: resources.endpoints, keys: (endpoints: Endpoints) => [keyOf(endpoints)] },
      {
        resource: resources.endpointslices,
        keys: ({ metadata }: EndpointSlice) =>
          metadata.labels?.[managedByLabel] === manager
            ? [`${metadata.namespace}/${metadata.labels[serviceNameLabel]}`]
            : [],
      },
    ],
    async reconcile(key, call) {
      const { namespace, name } = splitKey(key);
      const endpoints = stored.get(namespace, name);
      const service = services.get(namespace, name);
      const mine = slices
        .list(namespace)
        .filter(
          ({ metadata: { labels } }) => labels?.[serviceNameLabel] === name && labels[managedByLabel] === manager,
        );
      const isWanted = service && Object.keys(service.spec?.selector ?? {}).length === 0;
      if (!endpoints || !isWanted || !isMirrored(endpoints)) {
        await remove(mine, call);
        return undefined;
      }
      const labels = { ...endpoints.metadata.labels, [serviceNameLabel]: name, [managedByLabel]: manager };
      try {
        for (const family of ["IPv4", "IPv6"] as const) {
          const known = mine.filter((slice) => slice.addressType === family);
          const writes = planSlices(mirroredGroups(endpoints, family), known);
          const isWritten = (slice: EndpointSlice) =>
            writes.remove.includes(slice) || writes.update.some((update) => update.slice === slice);
          const relabelled = known
            .filter((slice) => !deepEqual(labels, slice.metadata.labels) && !isWritten(slice))
            .map((slice) => ({ slice, endpoints: slice.endpoints, ports: slice.ports }));
          for (const { slice, ...content } of [...writes.update, ...relabelled]) {
            const metadata = { ...slice.metadata, labels };
            await client.update(resources.endpointslices, { ...type, ...slice, ...content, metadata }, call);
          }
          for (const content of writes.create) {
            const ownerReferences = [controllerReference(endpoints, { apiVersion: "v1", kind: "Endpoints" })];
            const metadata = { namespace, generateName: `${name}-`, labels, ownerReferences };
            const object = { ...type, metadata, addressType: family, ...content };
            await client.create(resources.endpointslices, object, call, { namespace });
          }
          await remove(writes.remove, call);
        }
      } catch (error) {
        if (!isFault(error, "forbidden", "not-found")) throw error;
      }
      return undefined;
    },
  };
};
