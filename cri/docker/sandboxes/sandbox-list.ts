// ListPodSandbox and PodSandboxStatus.

import {
  ListPodSandboxResponse,
  type ListPodSandboxRequest,
  type PodSandboxStatusRequest,
  PodSandboxStatusResponse,
} from "../../api/gen/runtime.js";
import { matchesSandbox } from "../../api/filters.ts";
import type { Call } from "../../../plugins/kit/base/call.ts";
import { containersStatuses } from "../containers/container-status.ts";
import { type Docker, nowNs } from "../docker.ts";
import { listedSandbox, sandboxStatus } from "./sandbox-view.ts";

export async function listSandboxes(
  docker: Docker,
  { filter }: ListPodSandboxRequest,
  call: Call,
): Promise<ListPodSandboxResponse> {
  const found = await docker.inventory.list("sandbox", call);
  const items = found
    .filter(({ Id, State }) => !docker.unfinished.has(Id) && State !== "created")
    .map(listedSandbox)
    .filter((sandbox) => matchesSandbox(sandbox, filter));
  return ListPodSandboxResponse.create({ items });
}

export async function statusOfSandbox(
  docker: Docker,
  { podSandboxId, verbose }: PodSandboxStatusRequest,
  call: Call,
): Promise<PodSandboxStatusResponse> {
  const seen = await docker.inventory.inspect("sandbox", podSandboxId, call);
  const info: Record<string, string> = verbose
    ? { info: JSON.stringify({ pid: seen.State.Pid, image: seen.Image }) }
    : {};
  return PodSandboxStatusResponse.create({
    status: sandboxStatus(docker, seen),
    info,
    containersStatuses: await containersStatuses(docker, seen.Id, call),
    timestamp: nowNs(docker.clock),
  });
}
