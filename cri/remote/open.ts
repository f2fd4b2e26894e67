// A runtime behind a CRI socket: containerd, CRI-O, or another Skiff's `cri/serve`.

import { type Clock, systemClock } from "../../plugins/kit/base/clock.ts";
import type { Call } from "../../plugins/kit/base/call.ts";
import { Fault, isFault } from "../../plugins/kit/base/fault.ts";
import type { ImageService, Runtime, RuntimeService } from "../api/contract.ts";
import {
  type ContainerEventResponse,
  type ExecSyncRequest,
  type ExecSyncResponse,
  type GetEventsRequest,
  ImageServiceDefinition,
  type ListImagesRequest,
  type ListImagesResponse,
  type RemoveImageRequest,
  type RemoveImageResponse,
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
    execSync: (request, call) => execSync(unary, request, call),
    getContainerEvents: (request, call) => containerEvents(channel, unary, clock, request, call),
  };
  return {
    runtime,
    image: {
      ...image,
      listImages: (request, call) => listImages(image, request, call),
      removeImage: (request, call) => removeImage(image, request, call),
    },
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

/** CRI-O fails where another call took the image away at the same moment; CRI says that this one is idempotent too. */
async function removeImage(image: ImageService, request: RemoveImageRequest, call: Call): Promise<RemoveImageResponse> {
  try {
    return await image.removeImage(request, call);
  } catch (error) {
    const { image: left } = await image.imageStatus({ image: request.image, verbose: false }, call);
    if (left) throw error;
    return {};
  }
}

/** CRI-O tells a command that took too long by an exit code which no process can have. */
async function execSync(
  unary: Pick<RuntimeService, "execSync">,
  request: ExecSyncRequest,
  call: Call,
): Promise<ExecSyncResponse> {
  const answer = await unary.execSync(request, call);
  if (answer.exitCode !== -1) return answer;
  const said = Buffer.from(answer.stderr).toString().trim();
  throw new Fault("timeout", `ExecSync: the command was ended after ${request.timeout} s: ${said}`);
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
