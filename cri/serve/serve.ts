// Exposes a Runtime as a CRI v1 socket, so that crictl, critest and a stock kubelet can use it.

import { chmodSync, mkdirSync, rmSync, statSync } from "node:fs";
import { connect } from "node:net";
import { dirname } from "node:path";
import { Server, ServerCredentials } from "@grpc/grpc-js";
import { Fault } from "../../plugins/kit/base/fault.ts";
import type { Runtime } from "../api/contract.ts";
import { ImageServiceDefinition, RuntimeServiceDefinition } from "../api/gen/runtime.js";
import { grpcService } from "../api/grpc-service.ts";
import { imageHandlers, runtimeHandlers } from "./handlers.ts";
import { startStreaming, type StreamingOptions } from "./streaming-server.ts";

export interface ServeRuntimeOptions extends StreamingOptions {
  /** `unix:///run/skiff/cri.sock`, or the bare path. Only root may use it. */
  readonly listen: string;
}

export interface ServedRuntime {
  readonly socket: string;
  /** Ends every call and session; the runtime itself stays open, for whoever opened it. */
  close(): Promise<void>;
}

/** A Fault `conflict` when someone else answers on the socket already. */
export async function serveRuntime(runtime: Runtime, options: ServeRuntimeOptions): Promise<ServedRuntime> {
  const socket = options.listen.replace(/^unix:(\/\/)?/, "");
  await makeWay(socket);
  const streaming = await startStreaming(runtime, options);
  const server = new Server({
    "grpc.max_receive_message_length": 16 * 1024 * 1024,
    "grpc.max_send_message_length": 64 * 1024 * 1024,
  });
  server.addService(grpcService(RuntimeServiceDefinition), runtimeHandlers(runtime, streaming));
  server.addService(grpcService(ImageServiceDefinition), imageHandlers(runtime));
  try {
    await bind(server, socket);
    chmodSync(socket, 0o600);
  } catch (error) {
    await streaming.close();
    throw error;
  }
  return {
    socket,
    async close() {
      server.forceShutdown();
      await streaming.close();
      rmSync(socket, { force: true });
    },
  };
}

function bind(server: Server, socket: string): Promise<void> {
  return new Promise((resolve, reject) => {
    server.bindAsync(`unix:${socket}`, ServerCredentials.createInsecure(), (error) => {
      if (error) reject(new Fault("unavailable", `Cannot listen on ${socket}: ${error.message}`, { cause: error }));
      else resolve();
    });
  });
}

/** Makes the folder, and takes away the socket that a killed server left. */
async function makeWay(socket: string): Promise<void> {
  mkdirSync(dirname(socket), { recursive: true });
  const found = statSync(socket, { throwIfNoEntry: false });
  if (!found) return;
  if (!found.isSocket()) throw new Fault("conflict", `Cannot listen on ${socket}: it is a file, not a socket`);
  if (await isAnswered(socket)) throw new Fault("conflict", `Cannot listen on ${socket}: another server does`);
  rmSync(socket, { force: true });
}

function isAnswered(socket: string): Promise<boolean> {
  return new Promise((resolve) => {
    const connection = connect(socket);
    connection.once("connect", () => resolve(true));
    connection.once("error", () => resolve(false));
    connection.once("connect", () => connection.destroy());
  });
}
