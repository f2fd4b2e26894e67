// A pod that asks for other resources than it has: what stays in force until the node grants them. Pure.

import type { Container, PodStatus } from "../../plugins/kit/kube/objects/types.ts";
import type { AgentPod } from "./agent-pod.ts";

/** Why they are not granted, as upstream names it: there will never be room, or there is none now. */
export type ResizeRefusal = "Infeasible" | "Deferred";

/** The same with what its event says. */
export interface RefusedResize {
  readonly resize: ResizeRefusal;
  readonly message: string;
}

type Resources = Container["resources"];

/** The pod as declared with the resources that its containers have; the declared pod itself where these are the same. */
export function withGrantedResources(declared: AgentPod, granted: ReadonlyMap<string, Resources>): AgentPod {
  let isSame = true;
  const keep = (container: Container): Container => {
    if (!granted.has(container.name)) return container;
    const resources = granted.get(container.name);
    if (text(resources) === text(container.resources)) return container;
    isSame = false;
    return { ...container, ...(resources ? { resources } : {}) };
  };
  const containers = declared.spec.containers.map(keep);
  const initContainers = declared.spec.initContainers?.map(keep);
  if (isSame) return declared;
  return { ...declared, spec: { ...declared.spec, containers, ...(initContainers ? { initContainers } : {}) } };
}

/** Of a pod that was granted all that it says. */
export function grantedOf({ spec }: AgentPod): Map<string, Resources> {
  return new Map([...spec.containers, ...(spec.initContainers ?? [])].map(({ name, resources }) => [name, resources]));
}

/** What an agent granted before it was restarted: it told of that for each container that ran. */
export function grantedBefore(status: PodStatus | undefined): Map<string, Resources> {
  const statuses = [...(status?.containerStatuses ?? []), ...(status?.initContainerStatuses ?? [])];
  return new Map(statuses.flatMap(({ name, resources }) => (resources ? [[name, resources]] : [])));
}

/** Names of containers that have other resources than before. */
export function resizedBetween(before: AgentPod, after: AgentPod): string[] {
  const had = grantedOf(before);
  return [...grantedOf(after)]
    .filter(([name, resources]) => text(had.get(name)) !== text(resources))
    .map(([name]) => name);
}

function text(resources: Resources): string {
  const sorted = (list: Readonly<Record<string, string | number>> = {}) =>
    Object.entries(list).sort(([a], [b]) => (a < b ? -1 : 1));
  return JSON.stringify([sorted(resources?.requests), sorted(resources?.limits)]);
}
