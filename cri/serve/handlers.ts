// The gRPC handlers of CRI v1 over any Runtime: calls in, messages or status codes out.

import type { handleServerStreamingCall, handleUnaryCall, UntypedServiceImplementation } from "@grpc/grpc-js";
import type { Call } from "../../plugins/kit/base/call.ts";
import type { Runtime } from "../api/contract.ts";
import type {
  GetEventsRequest,
  StreamContainersRequest,
  StreamContainerStatsRequest,
  StreamImagesRequest,
  StreamPodSandboxesRequest,
  StreamPodSandboxStatsRequest,
} from "../api/gen/runtime.js";
import { grpcFromFault } from "../api/grpc-faults.ts";
import type { StreamingServer } from "./streaming-server.ts";

// What fits a message of 4 MiB, the least that clients accept, with room to spare.
const itemsPerMessage = 200;

export function runtimeHandlers({ runtime }: Runtime, streaming: StreamingServer): UntypedServiceImplementation {
  const { getContainerEvents, ...unary } = runtime;
  const { close: _close, ...sessions } = streaming;
  return {
    ...unaryHandlers(unary),
    ...unaryHandlers(sessions),
    getContainerEvents: streamed((request: GetEventsRequest, call) => getContainerEvents(request, call)),
    streamPodSandboxes: streamed(async function* (request: StreamPodSandboxesRequest, call) {
      const { items } = await runtime.listPodSandbox(request, call);
      for (const podSandboxes of pieces(items)) yield { podSandboxes };
    }),
    streamContainers: streamed(async function* (request: StreamContainersRequest, call) {
      for (const containers of pieces((await runtime.listContainers(request, call)).containers)) yield { containers };
    }),
    streamContainerStats: streamed(async function* (request: StreamContainerStatsRequest, call) {
      const { stats } = await runtime.listContainerStats(request, call);
      for (const containerStats of pieces(stats)) yield { containerStats };
    }),
    streamPodSandboxStats: streamed(async function* (request: StreamPodSandboxStatsRequest, call) {
      const { stats } = await runtime.listPodSandboxStats(request, call);
      for (const podSandboxStats of pieces(stats)) yield { podSandboxStats };
    }),
    streamPodSandboxMetrics: streamed(async function* (_request: object, call) {
      const { podMetrics } = await runtime.listPodSandboxMetrics({}, call);
      for (const podSandboxMetrics of pieces(podMetrics)) yield { podSandboxMetrics };
    }),
  };
}

export function imageHandlers({ image }: Runtime): UntypedServiceImplementation {
  return {
    ...unaryHandlers(image),
    streamImages: streamed(async function* (request: StreamImagesRequest, call) {
      for (const images of pieces((await image.listImages(request, call)).images)) yield { images };
    }),
  };
}

type Method = (request: unknown, call: Call) => Promise<unknown>;

function unaryHandlers(methods: object): Record<string, handleUnaryCall<unknown, unknown>> {
  const handlers = Object.entries(methods).map(([name, method]) => [name, unary(method as Method)]);
  return Object.fromEntries(handlers) as Record<string, handleUnaryCall<unknown, unknown>>;
}

function unary(method: Method): handleUnaryCall<unknown, unknown> {
  return async (incoming, answer) => {
    try {
      answer(null, await method(incoming.request, callOf(incoming)));
    } catch (error) {
      answer(grpcFromFault(error));
    }
  };
}

function streamed<Request>(
  method: (request: Request, call: Call) => AsyncIterable<unknown>,
): handleServerStreamingCall<Request, unknown> {
  return async (outgoing) => {
    try {
      for await (const message of method(outgoing.request, callOf(outgoing))) {
        if (outgoing.cancelled) return;
        if (!outgoing.write(message)) await drained(outgoing);
      }
      outgoing.end();
    } catch (error) {
      outgoing.emit("error", grpcFromFault(error));
    }
  };
}

interface Incoming {
  once(event: "cancelled" | "drain", then: () => void): unknown;
}

/** Stops when the client cancels, loses its connection or patience. */
function callOf(incoming: Incoming): Call {
  const stop = new AbortController();
  incoming.once("cancelled", () => stop.abort());
  return { signal: stop.signal };
}

function drained(stream: Incoming): Promise<void> {
  return new Promise((resolve) => {
    stream.once("drain", resolve);
    stream.once("cancelled", resolve);
  });
}

/** At least one, so that an empty list is an answer too. */
function* pieces<T>(items: readonly T[]): Generator<readonly T[]> {
  for (let at = 0; at === 0 || at < items.length; at += itemsPerMessage) yield items.slice(at, at + itemsPerMessage);
}
