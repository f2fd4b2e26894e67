// The pods of this instance as the runtime knows them. A daemon may serve other masters, too: ours are those that have a folder here.

import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import {
  ContainerState,
  ListContainersRequest,
  ListPodSandboxRequest,
  type PodSandbox,
} from "../../cri/api/gen/runtime.js";
import type { Runtime } from "../../cri/api/contract.ts";
import { type Call, within } from "../../plugins/kit/base/call.ts";

export async function ownSandboxes(
  runtime: Pick<Runtime, "runtime">,
  { dataDir, runtimeName }: { dataDir: string; runtimeName: string },
  call: Call,
): Promise<PodSandbox[]> {
  const folder = join(dataDir, "pods");
  const { items } = await runtime.runtime.listPodSandbox(ListPodSandboxRequest.create(), within(10_000, call));
  const uids = new Set(existsSync(folder) ? readdirSync(folder) : []);
  return items.filter(({ metadata }) => runtimeName === "native" || uids.has(metadata?.uid ?? ""));
}

/**
 * Ends the containers of these sandboxes, all at once, and leaves everything else as it is: the machine goes down, and after
 * it came back each pod is brought up anew by its own restart policy.
 */
export async function endContainers(
  runtime: Pick<Runtime, "runtime">,
  sandboxes: readonly PodSandbox[],
  graceSeconds: number,
  call: Call,
): Promise<void> {
  const own = new Set(sandboxes.map(({ id }) => id));
  const { containers } = await runtime.runtime.listContainers(ListContainersRequest.create(), within(10_000, call));
  const running = containers.filter(
    ({ podSandboxId, state }) => own.has(podSandboxId) && state === ContainerState.CONTAINER_RUNNING,
  );
  const timeout = BigInt(graceSeconds);
  await Promise.allSettled(running.map(({ id }) => runtime.runtime.stopContainer({ containerId: id, timeout }, call)));
}
