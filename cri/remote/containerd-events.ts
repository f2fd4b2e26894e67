// Container events out of containerd's own event service, for releases whose CRI plugin has none (1.6).

import type { Call } from "../../plugins/kit/base/call.ts";
import { isFault } from "../../plugins/kit/base/fault.ts";
import type { RuntimeService } from "../api/contract.ts";
import {
  type Container,
  ContainerEventResponse,
  ContainerEventType,
  ContainerState,
  ListContainersRequest,
  PodSandboxStatusRequest,
} from "../api/gen/runtime.js";
import type { Channel } from "./channel.ts";
import { type Envelope, EventsDefinition, SubscribeRequest, TaskEvent } from "./gen/events.js";

const typesByTopic: Readonly<Record<string, ContainerEventType>> = {
  "/containers/create": ContainerEventType.CONTAINER_CREATED_EVENT,
  "/tasks/start": ContainerEventType.CONTAINER_STARTED_EVENT,
  "/tasks/exit": ContainerEventType.CONTAINER_STOPPED_EVENT,
  "/containers/delete": ContainerEventType.CONTAINER_DELETED_EVENT,
};

// containerd's CRI plugin learns of an exit from its own wait, not from this event: it may be a little behind.
const settleDelaysMs = [0, 2, 5, 10, 20, 50, 100, 200, 500, 1000];

type Reader = Pick<RuntimeService, "listContainers" | "podSandboxStatus">;

export interface Waiting {
  sleep(delayMs: number, call: Call): Promise<void>;
}

/** Events of Kubernetes' containers and sandboxes; those of execs and of other namespaces are left out. */
export async function* containerdEvents(
  channel: Channel,
  reader: Reader,
  clock: Waiting,
  call: Call,
): AsyncIterable<ContainerEventResponse> {
  const filters = Object.keys(typesByTopic).map((topic) => `namespace=="k8s.io",topic=="${topic}"`);
  const message = SubscribeRequest.create({ filters });
  const headers = { "containerd-namespace": "k8s.io" };
  const { subscribe } = EventsDefinition.methods;
  for await (const envelope of channel.stream(EventsDefinition, subscribe, { message, headers }, call)) {
    const event = translate(envelope as Envelope);
    if (event) yield await complete(event, reader, clock, call);
  }
}

/** Undefined for what is no step in a container's life. */
export function translate(envelope: Envelope): ContainerEventResponse | undefined {
  const type = typesByTopic[envelope.topic];
  if (type === undefined || !envelope.event) return undefined;
  const { containerId, id } = TaskEvent.decode(envelope.event.value);
  if (envelope.topic === "/tasks/exit" && id !== containerId) return undefined;
  const { seconds = 0n, nanos = 0 } = envelope.timestamp ?? {};
  return ContainerEventResponse.create({
    containerId,
    containerEventType: type,
    createdAt: seconds * 1_000_000_000n + BigInt(nanos),
  });
}

/** Adds the sandbox's status where it is still known, once the CRI view shows the step. */
async function complete(
  event: ContainerEventResponse,
  reader: Reader,
  clock: Waiting,
  call: Call,
): Promise<ContainerEventResponse> {
  try {
    if (event.containerEventType === ContainerEventType.CONTAINER_DELETED_EVENT) return event;
    const container = await settled(event, reader, clock, call);
    const podSandboxId = container?.podSandboxId ?? event.containerId;
    const { status } = await reader.podSandboxStatus(PodSandboxStatusRequest.create({ podSandboxId }), call);
    return status ? { ...event, podSandboxStatus: status } : event;
  } catch (error) {
    // The event alone still says where to look; only a stop or a lost runtime ends the stream.
    if (isFault(error, "unavailable")) throw error;
    return event;
  }
}

async function settled(
  event: ContainerEventResponse,
  reader: Reader,
  clock: Waiting,
  call: Call,
): Promise<Container | undefined> {
  const stopped = event.containerEventType === ContainerEventType.CONTAINER_STOPPED_EVENT;
  const started = event.containerEventType === ContainerEventType.CONTAINER_STARTED_EVENT;
  let container: Container | undefined;
  for (const delayMs of settleDelaysMs) {
    if (delayMs > 0) await clock.sleep(delayMs, call);
    const request = ListContainersRequest.create({ filter: { id: event.containerId } });
    const { containers } = await reader.listContainers(request, call);
    container = containers[0];
    const behind =
      (stopped && container?.state === ContainerState.CONTAINER_RUNNING) ||
      (started && container?.state === ContainerState.CONTAINER_CREATED);
    if (!behind) return container;
  }
  return container;
}
