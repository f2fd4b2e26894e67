// Container events: the daemon's own, translated once CRI's status shows the step. A sandbox's first two are told when its network is
// there, by whoever made it.

import { ContainerEventType } from "../api/gen/runtime.js";
import { type Call, uninterrupted } from "../../plugins/kit/base/call.ts";
import { type Docker, nowNs } from "./docker.ts";
import type { EngineEvent } from "./engine/types.ts";
import { containersStatuses } from "./containers/container-status.ts";
import { labelNames } from "./labels.ts";
import { sandboxStatus } from "./sandboxes/sandbox-view.ts";

interface Step {
  readonly id: string;
  readonly sandboxId: string;
  readonly type: ContainerEventType;
}

const types: Readonly<Record<string, ContainerEventType>> = {
  create: ContainerEventType.CONTAINER_CREATED_EVENT,
  start: ContainerEventType.CONTAINER_STARTED_EVENT,
  die: ContainerEventType.CONTAINER_STOPPED_EVENT,
  destroy: ContainerEventType.CONTAINER_DELETED_EVENT,
};

const retryMs = 250;
const longestRetryMs = 10_000;

export async function emitEvent(docker: Docker, { id, sandboxId, type }: Step): Promise<void> {
  // Nobody's call: an event is owed to listeners whoever caused it.
  const sandbox = await docker.inventory.find("sandbox", sandboxId, uninterrupted);
  docker.events.emit({
    containerId: id,
    containerEventType: type,
    createdAt: nowNs(docker.clock),
    podSandboxStatus: sandbox && sandboxStatus(docker, sandbox),
    containersStatuses: sandbox ? await containersStatuses(docker, sandbox.Id, uninterrupted) : [],
  });
}

/** Until stopped; connects again by itself. Whoever listened while the daemon was lost is told so, and must relist. */
export async function followEvents(docker: Docker, call: Call): Promise<void> {
  for (let delayMs = retryMs; !call.signal.aborted; delayMs = Math.min(delayMs * 2, longestRetryMs)) {
    try {
      const filters = {
        type: ["container"],
        event: Object.keys(types),
        label: [`${labelNames.instance}=${docker.instance}`],
      };
      for await (const event of docker.engine.values<EngineEvent>("GET", "/events", { query: { filters } }, call)) {
        delayMs = retryMs;
        await tell(docker, event, call).catch((error: unknown) =>
          docker.log.debug({ err: error, container: event.Actor.ID }, "a container event could not be told"),
        );
      }
    } catch (error) {
      if (call.signal.aborted) return;
      docker.log.warn({ err: error }, "Docker's events were lost; connecting again");
    }
    docker.events.close();
    await docker.clock.sleep(delayMs, call).catch(() => {});
  }
}

async function tell(docker: Docker, { Action, Actor }: EngineEvent, call: Call): Promise<void> {
  const type = types[Action];
  if (type === undefined) return;
  const id = Actor.ID;
  const isSandbox = Actor.Attributes[labelNames.kind] === "sandbox";
  const isMaking = Action === "create" || Action === "start";
  if (isSandbox && (isMaking || docker.unfinished.has(id))) return;
  if (Action === "die") {
    docker.inventory.forget(id);
    await docker.logs.drained(id, call);
  }
  await emitEvent(docker, { id, sandboxId: isSandbox ? id : (Actor.Attributes[labelNames.sandboxId] ?? ""), type });
}
