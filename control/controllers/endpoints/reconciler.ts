// Endpoints, the older form of endpoint slices: one object for each service with a selector.

import { isFault } from "../../../plugins/kit/base/fault.ts";
import { resources } from "../../../plugins/kit/kube/objects/resources.ts";
import type { Endpoints, KubeObject, Node, Pod, Service } from "../../../plugins/kit/kube/objects/types.ts";
import { labelSelectorOf } from "../../../plugins/kit/kube/selector.ts";
import type { ControllerFactory } from "../../manager/contract.ts";
import { keyOf, splitKey } from "../../manager/owners.ts";
import { deepEqual } from "../../machinery/equal.ts";
import { addressTypesOf, desiredGroups } from "../endpoint-slice/desired.ts";
import { TriggerTimes, withTrigger } from "../endpoint-slice/trigger-times.ts";
import { subsetsOf } from "./subsets.ts";

const headlessLabel = "service.kubernetes.io/headless";
const capacityAnnotation = "endpoints.kubernetes.io/over-capacity";
const truncated = "truncated";

export const endpointsController: ControllerFactory = ({ client, informers }) => {
  const services = informers.for<Service>(resources.services);
  const pods = informers.for<Pod>(resources.pods);
  const nodes = informers.for<Node>(resources.nodes);
  const stored = informers.for<Endpoints>(resources.endpoints);
  const selects = (service: Service, pod: Pod) =>
    labelSelectorOf({ matchLabels: service.spec?.selector as Record<string, string> }).matches(pod.metadata.labels);
  const hasSelector = ({ spec }: Service) =>
    Object.keys(spec?.selector ?? {}).length > 0 && spec?.type !== "ExternalName";
  const servicesOf = (pod: Pod) =>
    services
      .list(pod.metadata.namespace)
      .filter((service) => hasSelector(service) && selects(service, pod))
      .map(keyOf);
  /** Services that an event told of since they were last looked at: when they are gone by then, what bears their name goes too. */
  const touched = new Set<string>();
  const triggers = new TriggerTimes();
  /** Only we point at pods: what people write by hand is theirs. */
  const isOurs = (endpoints: Endpoints) =>
    endpoints.subsets?.some(({ addresses, notReadyAddresses }) =>
      [...(addresses ?? []), ...(notReadyAddresses ?? [])].some(({ targetRef }) => targetRef?.kind === "Pod"),
    ) ?? false;

  return {
    name: "endpoints",
    workers: 5,
    wakes: [
      {
        resource: resources.services,
        keys: (service: Service) => {
          touched.add(keyOf(service));
          return [keyOf(service)];
        },
      },
      {
        resource: resources.pods,
        keys: (pod: Pod, previous: Pod | undefined) => [...servicesOf(pod), ...(previous ? servicesOf(previous) : [])],
      },
      { resource: resources.endpoints, keys: (endpoints: Endpoints) => [keyOf(endpoints)] },
    ],
    async reconcile(key, call) {
      const { namespace, name } = splitKey(key);
      const service = services.get(namespace, name);
      const known = stored.get(namespace, name);
      try {
        if (!service) {
          if (known && (touched.has(key) || isOurs(known)))
            await client.delete(resources.endpoints, { namespace, name }, call);
          touched.delete(key);
          triggers.forget(key);
          return undefined;
        }
        touched.delete(key);
        if (!hasSelector(service)) return undefined;
        const selected = pods.list(namespace).filter((pod) => selects(service, pod));
        const [family = "IPv4"] = addressTypesOf(service);
        const { subsets, isTruncated } = subsetsOf(
          desiredGroups(service, selected, family, (node) => nodes.get("", node)),
        );
        const { [capacityAnnotation]: capacity, ...annotations } = known?.metadata.annotations ?? {};
        const trigger = triggers.next(service, selected);
        const metadata = {
          ...known?.metadata,
          namespace,
          name,
          labels: unlessEmpty({
            ...service.metadata.labels,
            ...(service.spec?.clusterIP === "None" ? { [headlessLabel]: "" } : {}),
          }),
          annotations: withTrigger(
            { ...annotations, ...(isTruncated ? { [capacityAnnotation]: truncated } : {}) },
            trigger,
          ),
        };
        const object = { apiVersion: "v1", kind: "Endpoints", metadata, ...(subsets.length > 0 ? { subsets } : {}) };
        if (!known) await client.create(resources.endpoints, object as KubeObject, call, { namespace });
        else if (
          !deepEqual(known.subsets ?? [], subsets) ||
          !deepEqual(known.metadata.labels ?? {}, metadata.labels ?? {}) ||
          capacity !== (isTruncated ? truncated : undefined)
        )
          await client.update(resources.endpoints, object as KubeObject, call);
      } catch (error) {
        // The namespace is going, or somebody else wrote: the next event brings us back.
        if (!isFault(error, "forbidden", "not-found", "already-exists")) throw error;
      }
      return undefined;
    },
  };
};

/** A map that holds nothing is not shown. */
function unlessEmpty(map: Record<string, string>): Record<string, string> | undefined {
  return Object.keys(map).length > 0 ? map : undefined;
}
