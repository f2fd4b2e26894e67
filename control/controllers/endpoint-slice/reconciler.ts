// EndpointSlice: keeps the slices of every service with a selector in step with its pods.

import type { Call } from "../../../plugins/kit/base/call.ts";
import { isFault } from "../../../plugins/kit/base/fault.ts";
import { resources } from "../../../plugins/kit/kube/objects/resources.ts";
import type { KubeObject, Node, Pod, Service } from "../../../plugins/kit/kube/objects/types.ts";
import { labelSelectorOf } from "../../../plugins/kit/kube/selector.ts";
import type { ControllerFactory } from "../../manager/contract.ts";
import { controllerReference, isControlledBy, keyOf, splitKey } from "../../manager/owners.ts";
import { deepEqual } from "../../machinery/equal.ts";
import { type AddressType, addressTypesOf, desiredGroups, type Endpoint, type EndpointGroup } from "./desired.ts";
import { hintsFor, isSharedByZone, zoneFacts } from "./hints.ts";
import { isManagedSlice, labelsFor, serviceKeyOf } from "./labels.ts";
import { type EndpointSlice, planSlices } from "./slices.ts";
import { TriggerTimes, withTrigger } from "./trigger-times.ts";

const sliceType = { apiVersion: "discovery.k8s.io/v1", kind: "EndpointSlice" };
const serviceType = { apiVersion: "v1", kind: "Service" };

export const endpointSliceController: ControllerFactory = ({ client, informers, events }) => {
  const services = informers.for<Service>(resources.services);
  const pods = informers.for<Pod>(resources.pods);
  const nodes = informers.for<Node>(resources.nodes);
  const slices = informers.for<EndpointSlice>(resources.endpointslices);
  const triggers = new TriggerTimes();

  const servicesOf = (pod: Pod): string[] =>
    services
      .list(pod.metadata.namespace)
      .filter((service) => matches(service, pod))
      .map(keyOf);

  /** Nodes tell the zone of their endpoints; heartbeats wake nobody. */
  function servicesOfNode(node: Node, previous: Node | undefined): string[] {
    if (previous && deepEqual(zoneFacts(node), zoneFacts(previous)) && zoneOf(node) === zoneOf(previous)) return [];
    const on = pods.list().filter(({ spec }) => spec?.nodeName === node.metadata.name);
    const shared = services.list().filter(isSharedByZone).map(keyOf);
    return [...new Set([...shared, ...on.flatMap(servicesOf)])];
  }

  /** Pods of a node that is gone serve nobody, unless the service shows whatever it has. */
  function selectedPods(service: Service): Pod[] {
    const showsAll = service.spec?.publishNotReadyAddresses ?? false;
    return pods
      .list(service.metadata.namespace)
      .filter((pod) => matches(service, pod) && (showsAll || nodes.get("", pod.spec?.nodeName ?? "")));
  }

  /** Puts a zone on each endpoint where the service asks for that, and tells when that begins and ends. */
  function addHints(
    service: Service,
    groups: ReadonlyMap<string, EndpointGroup>,
    mine: readonly EndpointSlice[],
  ): void {
    const before = new Map(
      mine.flatMap(({ endpoints }) =>
        (endpoints ?? []).flatMap(({ hints, targetRef }) =>
          hints?.forZones[0] ? [[targetRef?.uid ?? "", hints.forZones[0].name] as const] : [],
        ),
      ),
    );
    const all = new Map<string, Endpoint>([...groups.values()].flatMap(({ endpoints }) => [...endpoints]));
    const { zones, why } = hintsFor(service, all, before, () => nodes.list());
    for (const [id, zone] of zones) {
      const endpoint = all.get(id);
      if (endpoint) endpoint.hints = { forZones: [{ name: zone }] };
    }
    const [family] = mine.map(({ addressType }) => addressType);
    const say = (type: "Normal" | "Warning", reason: string, message: string) =>
      events.event(
        { ...serviceType, ...service },
        type,
        reason,
        family ? `${message}, addressType: ${family}` : message,
      );
    if (why && (before.size > 0 || mine.length === 0)) say("Warning", "TopologyAwareHintsDisabled", why);
    else if (before.size === 0 && zones.size > 0 && isSharedByZone(service))
      say("Normal", "TopologyAwareHintsEnabled", "Topology Aware Hints has been enabled");
  }

  async function write(
    { service, selected, trigger }: Looked,
    family: AddressType,
    mine: readonly EndpointSlice[],
    call: Call,
  ) {
    const { namespace = "" } = service.metadata;
    const groups = desiredGroups(service, selected, family, (name) => nodes.get("", name));
    addHints(service, groups, mine);
    const writes = planSlices(groups, mine, { keepsOne: true });
    const labels = labelsFor(service);
    const isWritten = (slice: EndpointSlice) =>
      writes.remove.includes(slice) || writes.update.some((update) => update.slice === slice);
    const relabelled = mine
      .filter((slice) => !deepEqual(labels, slice.metadata.labels) && !isWritten(slice))
      .map((slice) => ({ slice, endpoints: slice.endpoints, ports: slice.ports }));
    for (const { slice, ...content } of [...writes.update, ...relabelled]) {
      const { annotations: old, ...rest } = slice.metadata;
      const annotations = withTrigger(old, trigger);
      const metadata = { ...rest, labels, ...(annotations ? { annotations } : {}) };
      await client.update(
        resources.endpointslices,
        { ...sliceType, ...slice, ...content, metadata } as KubeObject,
        call,
      );
    }
    for (const content of writes.create) {
      const ownerReferences = [controllerReference(service, serviceType)];
      const annotations = withTrigger(undefined, trigger);
      const named = { namespace, generateName: `${service.metadata.name}-` };
      const metadata = { ...named, labels, ...(annotations ? { annotations } : {}), ownerReferences };
      const object = { ...sliceType, metadata, addressType: family, ...content } as unknown as KubeObject;
      await client.create(resources.endpointslices, object, call, { namespace });
    }
    await remove(writes.remove, call);
  }

  async function remove(unwanted: readonly EndpointSlice[], call: Call): Promise<void> {
    for (const { metadata } of unwanted) {
      const at = { namespace: metadata.namespace ?? "", name: metadata.name ?? "" };
      try {
        await client.delete(resources.endpointslices, at, call);
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
      { resource: resources.nodes, keys: servicesOfNode },
      {
        resource: resources.endpointslices,
        keys: (slice: EndpointSlice) => (isManagedSlice(slice) ? [serviceKeyOf(slice)] : []),
      },
    ],
    async reconcile(key, call) {
      const { namespace, name } = splitKey(key);
      const service = services.get(namespace, name);
      if (!service) triggers.forget(key);
      if (!service || service.metadata.deletionTimestamp) return undefined;
      const found = slices.list(namespace).filter((slice) => isManagedSlice(slice) && serviceKeyOf(slice) === key);
      if (!hasSelector(service) || service.spec?.type === "ExternalName") {
        await remove(found, call);
        return undefined;
      }
      const families = addressTypesOf(service);
      const selected = selectedPods(service);
      const looked = { service, selected, trigger: triggers.next(service, selected) };
      // A service of the same name that is no more may have left some; so may a family that it does not have any more.
      const isMine = (slice: EndpointSlice) =>
        isControlledBy(slice, service) && families.includes(slice.addressType as AddressType);
      try {
        for (const family of families) {
          const mine = found.filter((slice) => isMine(slice) && slice.addressType === family);
          await write(looked, family, mine, call);
        }
        await remove(
          found.filter((slice) => !isMine(slice)),
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

/** A service as it was looked at. */
interface Looked {
  readonly service: Service;
  readonly selected: readonly Pod[];
  readonly trigger: string | undefined;
}

const zoneOf = (node: Node) => node.metadata.labels?.["topology.kubernetes.io/zone"];

function hasSelector(service: Service): boolean {
  return Object.keys(service.spec?.selector ?? {}).length > 0;
}

function matches(service: Service, pod: Pod): boolean {
  return (
    hasSelector(service) &&
    labelSelectorOf({ matchLabels: service.spec?.selector as Record<string, string> }).matches(pod.metadata.labels)
  );
}
