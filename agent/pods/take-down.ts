// Takes every pod of the node down for good, for a trial that leaves nothing: in good order while there is time, and then by force.
// Whatever the runtime has at the end is removed, whether a worker knew of it or not.

import { ListPodSandboxRequest } from "../../cri/api/gen/runtime.js";
import type { RuntimeService } from "../../cri/api/contract.ts";
import { type Call, within } from "../../plugins/kit/base/call.ts";
import type { Clock } from "../../plugins/kit/base/clock.ts";
import type { Log } from "../../plugins/kit/base/log.ts";
import { labels } from "../model/identity.ts";
import type { AgentResources } from "../resources/node-resources.ts";
import type { VolumeManager } from "../volumes/contract.ts";
import type { PodWorkers } from "./pod-workers.ts";

export interface TakeDownParts {
  readonly workers: PodWorkers;
  readonly runtime: RuntimeService;
  readonly volumes: VolumeManager;
  readonly nodeResources: AgentResources;
  readonly clock: Clock;
  readonly log: Log;
  /** Ends every part of the agent that could still start something. */
  stopWorking(): Promise<void>;
}

const settleMs = [1000, 10_000];
const forceMs = 30_000;

/** The call bounds the good order only. */
export async function takeDownPods(parts: TakeDownParts, call: Call): Promise<void> {
  const { workers, nodeResources, clock, log } = parts;
  try {
    await nodeResources.shutDown(call);
    while (!workers.areAllReleased) await clock.sleep(10, call);
  } catch (error) {
    if (!call.signal.aborted) throw error;
    log.warn({}, "not every pod ended in time: the rest is killed");
  }
  const stopped = parts.stopWorking();
  // Twice: a step may wait for a container to end, and another may still make one.
  for (const patienceMs of settleMs) {
    await settled(stopped, patienceMs, clock);
    await removeAll(parts, within(forceMs));
  }
  await nodeResources.removeCgroups(within(forceMs));
}

/** A runtime that hangs in a call must not hang this. */
async function settled(work: Promise<void>, patienceMs: number, clock: Clock): Promise<void> {
  const patience = new AbortController();
  await Promise.race([work, clock.sleep(patienceMs, patience).catch(() => {})]);
  patience.abort();
}

/** The runtime is asked anew: a sandbox that was being made when the end came may be in nobody's picture. */
async function removeAll({ runtime, volumes, nodeResources, log }: TakeDownParts, call: Call): Promise<void> {
  const { items } = await runtime.listPodSandbox(ListPodSandboxRequest.create(), call);
  const ours = items.filter((sandbox) => sandbox.labels[labels.podUid] !== undefined);
  // Their logs go with the containers: nobody will ask for them through a node that is gone.
  for (const { id } of ours) {
    await runtime
      .removePodSandbox({ podSandboxId: id }, call)
      .catch((error: unknown) => log.error({ err: error, sandbox: id }, "cannot remove a sandbox: it is left behind"));
  }
  const uids = new Set([...(await volumes.podsWithVolumes(call)), ...nodeResources.podsWithCgroups()]);
  for (const uid of uids) {
    try {
      await volumes.unmountAll(uid, call);
      await nodeResources.releasePod(uid, call);
    } catch (error) {
      log.error({ err: error, uid }, "cannot free what a pod held: it is left behind");
    }
  }
}
