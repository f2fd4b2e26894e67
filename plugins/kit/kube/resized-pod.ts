// What a pod holds while its containers' resources are being changed in place: the spec asks, the node allocates, the kernel enforces,
// and the three differ until the resize is actuated.

import type { Container, Pod, PodSpec } from "./objects/types.ts";
import { type Amounts, podQuantities, raise } from "./pod-quantities.ts";

type Requests = Readonly<Record<string, string | number>>;

interface ContainerHoldings {
  readonly allocated?: Requests;
  readonly actual?: Requests;
}

/** The largest of what the pod asks for, was allocated and still has; without what it asks for where the node can never give it. */
export function heldQuantities(
  pod: Pod & { readonly spec: PodSpec },
  usual?: Readonly<Record<string, string>>,
): Amounts {
  const { spec } = pod;
  const held = holdingsOf(pod);
  const asked = () => podQuantities(spec, "requests", usual);
  if (!held) return asked();
  const isInfeasible = isResizeInfeasible(pod);
  const total: Amounts = isInfeasible ? new Map() : asked();
  const specs = [
    withRequests(spec, (container) => held.get(container.name)?.allocated, isInfeasible),
    withRequests(
      spec,
      (container) => held.get(container.name)?.actual ?? held.get(container.name)?.allocated,
      isInfeasible,
    ),
  ];
  for (const each of specs) raise(total, podQuantities(each, "requests", usual));
  return total;
}

/** Undefined where every container holds what the spec says: then nothing has to be compared. */
export function holdingsOf({ spec, status }: Pod): ReadonlyMap<string, ContainerHoldings> | undefined {
  let isResized = false;
  const held = new Map<string, ContainerHoldings>();
  const containers = [...(spec?.containers ?? []), ...(spec?.initContainers ?? [])];
  for (const each of [...(status?.containerStatuses ?? []), ...(status?.initContainerStatuses ?? [])]) {
    const allocated = each.allocatedResources as Requests | undefined;
    const actual = each.resources?.requests as Requests | undefined;
    if (!allocated && !actual) continue;
    held.set(each.name, { ...(allocated ? { allocated } : {}), ...(actual ? { actual } : {}) });
    const asked = containers.find(({ name }) => name === each.name)?.resources?.requests as Requests | undefined;
    isResized ||= [allocated, actual].some((requests) => requests !== undefined && !isSame(requests, asked ?? {}));
  }
  return isResized ? held : undefined;
}

/** By the condition of today, or by the field that came before it. */
function isResizeInfeasible({ status }: Pod): boolean {
  const pending = status?.conditions?.find(({ type }) => type === "PodResizePending");
  return pending ? pending.reason === "Infeasible" : status?.resize === "Infeasible";
}

function withRequests(
  spec: PodSpec,
  requestsOf: (container: Container) => Requests | undefined,
  isInfeasible: boolean,
): PodSpec {
  const replaced = (container: Container): Container => {
    const requests = requestsOf(container) ?? (isInfeasible ? {} : undefined);
    if (!requests) return container;
    return { ...container, resources: { ...container.resources, requests } as NonNullable<Container["resources"]> };
  };
  const { initContainers } = spec;
  return {
    ...spec,
    containers: spec.containers.map(replaced),
    ...(initContainers ? { initContainers: initContainers.map(replaced) } : {}),
  };
}

function isSame(a: Requests, b: Requests): boolean {
  const names = Object.keys(a);
  return names.length === Object.keys(b).length && names.every((name) => String(a[name]) === String(b[name]));
}
