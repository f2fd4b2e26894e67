// ContainerStatus and ListContainers.

import {
  type Container,
  type ContainerStatus,
  type ContainerStatusRequest,
  type ContainerStatusResponse,
  type ListContainersRequest,
  ListContainersResponse,
} from "../../api/gen/runtime.js";
import { matchesContainer } from "../../api/filters.ts";
import type { Call } from "../../../plugins/kit/base/call.ts";
import type { Docker } from "../docker.ts";
import type { ContainerSummary } from "../engine/types.ts";
import { containerStatus, inspectedContainer, listedContainer } from "./container-view.ts";

export async function statusOfContainer(
  docker: Docker,
  { containerId, verbose }: ContainerStatusRequest,
  call: Call,
): Promise<ContainerStatusResponse> {
  const seen = await docker.inventory.inspect("container", containerId, call);
  // Whoever learns that it has ended may read its log next.
  if (!seen.State.Running) await docker.logs.drained(seen.Id, call);
  const info: Record<string, string> = verbose
    ? { info: JSON.stringify({ pid: seen.State.Pid, writable: seen.GraphDriver.Data?.UpperDir ?? "" }) }
    : {};
  return { status: containerStatus(seen), info };
}

export async function listContainers(
  docker: Docker,
  { filter }: ListContainersRequest,
  call: Call,
): Promise<ListContainersResponse> {
  const label = filter?.podSandboxId?.length === 64 ? filter.podSandboxId : undefined;
  const found = await docker.inventory.list("container", call, label);
  const containers = await Promise.all(found.map((summary) => shown(docker, summary, call)));
  return ListContainersResponse.create({
    containers: containers.filter((found) => found !== undefined).filter((found) => matchesContainer(found, filter)),
  });
}

/** The list alone cannot tell a container that waits to be started from one that could not be. */
async function shown(docker: Docker, summary: ContainerSummary, call: Call): Promise<Container | undefined> {
  if (summary.State !== "created") return listedContainer(summary);
  const seen = await docker.inventory.find("container", summary.Id, call);
  return seen && inspectedContainer(seen);
}

/** Of every container in a sandbox. */
export async function containersStatuses(docker: Docker, sandboxId: string, call: Call): Promise<ContainerStatus[]> {
  const own = await docker.inventory.list("container", call, sandboxId);
  const seen = await Promise.all(own.map(({ Id }) => docker.inventory.find("container", Id, call)));
  return seen.filter((one) => one !== undefined).map(containerStatus);
}
