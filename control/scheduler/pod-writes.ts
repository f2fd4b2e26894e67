// What the scheduler writes to pods besides bindings: why one waits and where it was promised room, and that victims have to go.

import type { Call } from "../../plugins/kit/base/call.ts";
import { isFault } from "../../plugins/kit/base/fault.ts";
import { resources } from "../../plugins/kit/kube/objects/resources.ts";
import type { Pod } from "../../plugins/kit/kube/objects/types.ts";
import { timestamp } from "../manager/conditions.ts";
import type { ControllerContext } from "../manager/contract.ts";
import type { Preemption } from "./preemption.ts";

/** No node would do, or finding one broke. */
type WaitReason = "Unschedulable" | "SchedulerError";

export class PodWrites {
  readonly #context: ControllerContext;

  constructor(context: ControllerContext) {
    this.#context = context;
  }

  /** `nominated` is the node that the pod is promised room on; null takes a promise back, undefined leaves it as it is. */
  async waits(
    pod: Pod,
    { reason, message, nominated }: { reason: WaitReason; message: string; nominated?: string | null | undefined },
    call: Call,
  ): Promise<void> {
    const known = pod.status?.conditions?.find((condition) => condition.type === "PodScheduled");
    const isKnown = known?.status === "False" && known.reason === reason && known.message === message;
    const promised = pod.status?.nominatedNodeName ?? null;
    if (isKnown && (nominated === undefined || nominated === promised)) return;
    const condition = {
      type: "PodScheduled",
      status: "False",
      reason,
      message,
      lastTransitionTime: known?.status === "False" ? known.lastTransitionTime : this.#now(),
    };
    await this.#patchStatus(
      pod,
      { conditions: [condition], ...(nominated === undefined ? {} : { nominatedNodeName: nominated }) },
      call,
    );
  }

  async takeBackPromise(pod: Pod, call: Call): Promise<void> {
    try {
      await this.#patchStatus(pod, { nominatedNodeName: null }, call);
    } catch (error) {
      if (!isFault(error, "not-found", "conflict")) throw error;
    }
  }

  async evict(pod: Pod, { nodeName, victims }: Preemption, call: Call): Promise<void> {
    const { client, events } = this.#context;
    for (const victim of victims) {
      const { namespace = "", name = "", uid = "" } = victim.metadata;
      const condition = {
        type: "DisruptionTarget",
        status: "True",
        reason: "PreemptionByScheduler",
        message: `${pod.spec?.schedulerName}: preempting to accommodate a higher priority pod`,
        lastTransitionTime: this.#now(),
      };
      try {
        await this.#patchStatus(victim, { conditions: [condition] }, call);
        await client.delete(resources.pods, { namespace, name }, call, { preconditions: { uid } });
        events.event(victim, "Normal", "Preempted", `Preempted by pod ${pod.metadata.uid} on node ${nodeName}`);
      } catch (error) {
        if (!isFault(error, "not-found", "conflict")) throw error;
      }
    }
  }

  async #patchStatus({ metadata }: Pod, status: object, call: Call): Promise<void> {
    const { namespace = "", name = "", uid } = metadata;
    const at = { namespace, name, subresource: "status" };
    await this.#context.client.patch(
      resources.pods,
      at,
      { type: "strategic", body: { metadata: { uid }, status } },
      call,
    );
  }

  #now(): string {
    return timestamp(this.#context.clock.now());
  }
}
