// One gRPC channel to a runtime's socket: unary calls and server streams with a Call's signal, every error a Fault.

import { accessSync, constants } from "node:fs";
import { Client, type ClientOptions, credentials, Metadata } from "@grpc/grpc-js";
import type { Call } from "../../plugins/kit/base/call.ts";
import { Fault } from "../../plugins/kit/base/fault.ts";
import { faultFromGrpc } from "../api/grpc-faults.ts";
import { grpcMethod, type MethodTable, type ServiceTable } from "../api/grpc-service.ts";

const options: ClientOptions = {
  // A runtime that restarts is found again within a second, and a missing one costs one connect a second.
  "grpc.initial_reconnect_backoff_ms": 50,
  "grpc.min_reconnect_backoff_ms": 50,
  "grpc.max_reconnect_backoff_ms": 1000,
  // ExecSync may bring 16 MiB of stdout and as much of stderr.
  "grpc.max_receive_message_length": 64 * 1024 * 1024,
  "grpc.max_send_message_length": 16 * 1024 * 1024,
  "grpc.enable_retries": 0,
  "grpc.use_local_subchannel_pool": 1,
  // Go's servers refuse the percent-encoded path that would be the default for unix sockets.
  "grpc.default_authority": "localhost",
};

export class Channel {
  readonly #socket: string;
  readonly #client: Client;

  /** Connects with the first call. */
  constructor(socket: string) {
    this.#socket = socket;
    this.#client = new Client(`unix:${socket}`, credentials.createInsecure(), options);
  }

  unary(
    service: ServiceTable,
    method: MethodTable,
    request: unknown,
    call: Call,
    headers: Readonly<Record<string, string>> = {},
  ): Promise<unknown> {
    return new Promise((resolve, reject) => {
      if (call.signal.aborted) return reject(this.#fault(call.signal.reason, method));
      const { path, requestSerialize, responseDeserialize } = grpcMethod(service, method);
      const onAbort = () => running.cancel();
      const running = this.#client.makeUnaryRequest(
        path,
        requestSerialize,
        responseDeserialize,
        request,
        metadataOf(headers),
        {},
        (error, response) => {
          call.signal.removeEventListener("abort", onAbort);
          if (error) reject(this.#fault(error, method));
          else resolve(response);
        },
      );
      call.signal.addEventListener("abort", onAbort, { once: true });
    });
  }

  /** Ends quietly when stopped, with a Fault when the server ends it. */
  async *stream(
    service: ServiceTable,
    method: MethodTable,
    request: { message: unknown; headers?: Readonly<Record<string, string>> },
    call: Call,
  ): AsyncIterable<unknown> {
    if (call.signal.aborted) return;
    const { path, requestSerialize, responseDeserialize } = grpcMethod(service, method);
    const running = this.#client.makeServerStreamRequest(
      path,
      requestSerialize,
      responseDeserialize,
      request.message,
      metadataOf(request.headers ?? {}),
      {},
    );
    const onAbort = () => running.cancel();
    call.signal.addEventListener("abort", onAbort, { once: true });
    try {
      yield* running;
    } catch (error) {
      if (!call.signal.aborted) throw this.#fault(error, method);
    } finally {
      call.signal.removeEventListener("abort", onAbort);
      running.cancel();
    }
  }

  close(): void {
    this.#client.close();
  }

  #fault(error: unknown, method: MethodTable): Fault {
    const fault = faultFromGrpc(error, method.name);
    if (fault.code !== "unavailable") return fault;
    const why = socketTrouble(this.#socket) ?? fault.message;
    return new Fault("unavailable", `Cannot reach the container runtime at unix://${this.#socket}: ${why}`, {
      cause: error,
    });
  }
}

function metadataOf(headers: Readonly<Record<string, string>>): Metadata {
  const metadata = new Metadata();
  for (const [name, value] of Object.entries(headers)) metadata.set(name, value);
  return metadata;
}

/** What is wrong with the socket's file, in words; undefined when it looks fine. */
function socketTrouble(path: string): string | undefined {
  try {
    accessSync(path, constants.R_OK | constants.W_OK);
    return undefined;
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    return code === "ENOENT"
      ? "there is no such socket; is the runtime running?"
      : `the socket is not usable (${code})`;
  }
}
