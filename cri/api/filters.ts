// CRI's list filters, for runtimes that hold their state themselves. An empty field of a filter matches everything.

import type {
  Container,
  ContainerFilter,
  ContainerStatsFilter,
  PodSandbox,
  PodSandboxFilter,
  PodSandboxStatsFilter,
} from "./gen/runtime.js";

/** Ids may be cut short, as crictl prints them. */
const hasId = (id: string, wanted: string | undefined) => !wanted || id.startsWith(wanted);

function hasLabels(labels: Readonly<Record<string, string>>, wanted: Readonly<Record<string, string>> = {}): boolean {
  return Object.entries(wanted).every(([key, value]) => labels[key] === value);
}

export function matchesSandbox(
  sandbox: Pick<PodSandbox, "id" | "state" | "labels">,
  filter: PodSandboxFilter | undefined,
): boolean {
  if (filter?.state && filter.state.state !== sandbox.state) return false;
  return hasId(sandbox.id, filter?.id) && hasLabels(sandbox.labels, filter?.labelSelector);
}

export function matchesContainer(
  container: Pick<Container, "id" | "podSandboxId" | "state" | "labels">,
  filter: ContainerFilter | undefined,
): boolean {
  if (filter?.state && filter.state.state !== container.state) return false;
  if (!hasId(container.podSandboxId, filter?.podSandboxId)) return false;
  return hasId(container.id, filter?.id) && hasLabels(container.labels, filter?.labelSelector);
}

export function matchesContainerStats(
  container: Pick<Container, "id" | "podSandboxId" | "labels">,
  filter: ContainerStatsFilter | undefined,
): boolean {
  if (!hasId(container.podSandboxId, filter?.podSandboxId)) return false;
  return hasId(container.id, filter?.id) && hasLabels(container.labels, filter?.labelSelector);
}

export function matchesSandboxStats(
  sandbox: Pick<PodSandbox, "id" | "labels">,
  filter: PodSandboxStatsFilter | undefined,
): boolean {
  return hasId(sandbox.id, filter?.id) && hasLabels(sandbox.labels, filter?.labelSelector);
}
