// A runtime behind a CRI socket: containerd, CRI-O, or another Skiff's `cri/serve`.

import { type Clock, systemClock } from "../../plugins/kit/clock.ts";
import type { Call } from "../../plugins/kit/call.ts";
import { isFault } from "../../plugins/kit/fault.ts";
import type { ImageService, Runtime, RuntimeService } from "../api/contract.ts";
import {
  type ContainerEventResponse,
  type GetEventsRequest,
  ImageServiceDefinition,
  type ListImagesRequest,
  type ListImagesResponse,
  RuntimeServiceDefinition,
} from "../api/gen/runtime.js";
import type { ServiceTable } from "../api/grpc-service.ts";
import { Channel } from "./channel.ts";
import { containerdEvents } from "./containerd-events.ts";
import { endTask, isLostTask } from "./containerd-tasks.ts";
import { remoteSessions, type UrlMethods } from "./sessions.ts";

export interface RemoteOptions {
  /** `unix:///run/containerd/containerd.sock`, or the bare path. */
  readonly socket: string;
  readonly clock?: Clock;
}

/** Connects with the first call and again by itself; while the socket is missing every call fails as `unavailable`. */
export function openRemote({ socket, clock = systemClock }: RemoteOptions): Runtime {
  const channel = new Channel(socket.replace(/^unix:(\/\/)?/, ""));
  const unary = unaryMethods<UnaryMethods>(channel, RuntimeServiceDefinition);
  const image = unaryMethods<ImageService>(channel, ImageServiceDefinition);
  const runtime: RuntimeService = {
    ...unary,
    // Some releases fail on what is gone already; CRI says that these calls are idempotent.
    stopPodSandbox: (request, call) => goneIsFine(unary.stopPodSandbox(request, call)),
    removePodSandbox: (request, call) => goneIsFine(unary.removePodSandbox(request, call)),
    stopContainer: (request, call) => goneIsFine(unary.stopContainer(request, call)),
    removeContainer: (request, call) =>
      goneIsFine(
        unary.removeContainer(request, call).catch(async (error: unknown) => {
          if (!isLostTask(error)) throw error;
          await endTask(channel, request.containerId, clock, call);
          return unary.removeContainer(request, call);
        }),
      ),
    getContainerEvents: (request, call) => containerEvents(channel, unary, clock, request, call),
  };
  return {
    runtime,
    image: { ...image, listImages: (request, call) => listImages(image, request, call) },
    sessions: remoteSessions(unary),
    close: async () => channel.close(),
  };
}

type UnaryMethods = Omit<RuntimeService, "getContainerEvents"> & UrlMethods;

/** containerd lists everything whatever the filter says. */
async function listImages(image: ImageService, request: ListImagesRequest, call: Call): Promise<ListImagesResponse> {
  const wanted = request.filter?.image;
  if (!wanted?.image) return image.listImages(request, call);
  const { image: found } = await image.imageStatus({ image: wanted, verbose: false }, call);
  return { images: found ? [found] : [] };
}

async function goneIsFine<T extends object>(answer: Promise<T>): Promise<T> {
  try {
    return await answer;
  } catch (error) {
    if (isFault(error, "not-found")) return {} as T;
    throw error;
  }
}

async function* containerEvents(
  channel: Channel,
  reader: Pick<RuntimeService, "listContainers" | "podSandboxStatus">,
  clock: Clock,
  message: GetEventsRequest,
  call: Call,
): AsyncIterable<ContainerEventResponse> {
  try {
    const method = RuntimeServiceDefinition.methods.getContainerEvents;
    const events = channel.stream(RuntimeServiceDefinition, method, { message }, call);
    yield* events as AsyncIterable<ContainerEventResponse>;
  } catch (error) {
    if (!isFault(error, "unsupported")) throw error;
    yield* containerdEvents(channel, reader, clock, call);
  }
}

function unaryMethods<T>(channel: Channel, service: ServiceTable): T {
  const methods = Object.entries(service.methods)
    .filter(([, method]) => !method.responseStream)
    .map(([key, method]) => [key, (request: unknown, call: Call) => channel.unary(service, method, request, call)]);
  return Object.fromEntries(methods) as T;
}
