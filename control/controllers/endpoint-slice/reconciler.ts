// EndpointSlice: keeps the slices of every service with a selector in step with its pods.

import type { Call } from "../../../plugins/kit/call.ts";
import { isFault } from "../../../plugins/kit/fault.ts";
import { resources } from "../../../plugins/kit/objects/resources.ts";
import type { KubeObject, Node, Pod, Service } from "../../../plugins/kit/objects/types.ts";
import { labelSelectorOf } from "../../../plugins/kit/selector.ts";
import type { ControllerFactory } from "../../manager/contract.ts";
import { controllerReference, keyOf, splitKey } from "../../manager/owners.ts";
import { addressTypesOf, desiredGroups } from "./desired.ts";
import { type EndpointSlice, planSlices } from "./slices.ts";

const serviceNameLabel = "kubernetes.io/service-name";
const managedByLabel = "endpointslice.kubernetes.io/managed-by";
const manager = "endpointslice-controller.k8s.io";
const headlessLabel = "service.kubernetes.io/headless";

export const endpointSliceController: ControllerFactory = ({ client, informers }) => {
  const services = informers.for<Service>(resources.services);
  const pods = informers.for<Pod>(resources.pods);
  const nodes = informers.for<Node>(resources.nodes);
  const slices = informers.for<EndpointSlice>(resources.endpointslices);

  const servicesOf = (pod: Pod): string[] =>
    services
      .list(pod.metadata.namespace)
      .filter((service) => matches(service, pod))
      .map(keyOf);

  function labelsFor(service: Service): Record<string, string> {
    return {
      ...service.metadata.labels,
      [serviceNameLabel]: service.metadata.name ?? "",
      [managedByLabel]: manager,
      ...(service.spec?.clusterIP === "None" ? { [headlessLabel]: "" } : {}),
    };
  }

  async function write(
    service: Service,
    family: "IPv4" | "IPv6",
    mine: readonly EndpointSlice[],
    call: Call,
  ): Promise<void> {
    const { namespace = "" } = service.metadata;
    const selected = pods.list(namespace).filter((pod) => matches(service, pod));
    const groups = desiredGroups(service, selected, family, (name) => nodes.get("", name));
    const writes = planSlices(groups, mine);
    const labels = labelsFor(service);
    const type = { apiVersion: "discovery.k8s.io/v1", kind: "EndpointSlice" };
    const relabelled = mine.filter(
      (slice) => !isSubset(labels, slice.metadata.labels) && !writes.remove.includes(slice),
    );
    for (const { slice, endpoints } of [
      ...writes.update,
      ...relabelled
        .filter((slice) => !writes.update.some((update) => update.slice === slice))
        .map((slice) => ({ slice, endpoints: slice.endpoints })),
    ]) {
      const object = { ...type, ...slice, metadata: { ...slice.metadata, labels }, endpoints } as unknown as KubeObject;
      await client.update(resources.endpointslices, object, call);
    }
    for (const { ports, endpoints } of writes.create) {
      const object = {
        ...type,
        metadata: {
          namespace,
          generateName: `${service.metadata.name}-`,
          labels,
          ownerReferences: [controllerReference(service, { apiVersion: "v1", kind: "Service" })],
        },
        addressType: family,
        endpoints,
        ports,
      } as unknown as KubeObject;
      await client.create(resources.endpointslices, object, call, { namespace });
    }
    await remove(writes.remove, call);
  }

  async function remove(unwanted: readonly EndpointSlice[], call: Call): Promise<void> {
    for (const { metadata } of unwanted) {
      try {
        await client.delete(
          resources.endpointslices,
          { namespace: metadata.namespace ?? "", name: metadata.name ?? "" },
          call,
        );
      } catch (error) {
        if (!isFault(error, "not-found")) throw error;
      }
    }
  }

  return {
    name: "endpointslice",
    workers: 5,
    wakes: [
      { resource: resources.services, keys: (service: Service) => [keyOf(service)] },
      {
        resource: resources.pods,
        keys: (pod: Pod, previous: Pod | undefined) => [...servicesOf(pod), ...(previous ? servicesOf(previous) : [])],
      },
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
      const service = services.get(namespace, name);
      if (!service || service.metadata.deletionTimestamp) return undefined;
      const mine = slices
        .list(namespace)
        .filter(
          ({ metadata }) => metadata.labels?.[serviceNameLabel] === name && metadata.labels[managedByLabel] === manager,
        );
      if (!hasSelector(service) || service.spec?.type === "ExternalName") {
        await remove(mine, call);
        return undefined;
      }
      const families = addressTypesOf(service);
      try {
        for (const family of families) {
          await write(
            service,
            family,
            mine.filter((slice) => slice.addressType === family),
            call,
          );
        }
        await remove(
          mine.filter((slice) => !families.includes(slice.addressType as "IPv4")),
          call,
        );
      } catch (error) {
        // The namespace is going, or somebody else wrote: the next event brings us back.
        if (!isFault(error, "forbidden", "not-found")) throw error;
      }
      return undefined;
    },
  };
};

function hasSelector(service: Service): boolean {
  return Object.keys(service.spec?.selector ?? {}).length > 0;
}

function matches(service: Service, pod: Pod): boolean {
  return (
    hasSelector(service) &&
    labelSelectorOf({ matchLabels: service.spec?.selector as Record<string, string> }).matches(pod.metadata.labels)
  );
}

function isSubset(wanted: Record<string, string>, labels: Record<string, string> | undefined): boolean {
  return (
    Object.entries(wanted).every(([key, value]) => labels?.[key] === value) &&
    Object.keys(labels ?? {}).length === Object.keys(wanted).length
  );
}
