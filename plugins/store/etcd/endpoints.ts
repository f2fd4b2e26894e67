// The members of an etcd cluster: one connection each, made when first needed; calls go to the one in use and move on
// to the next when it fails. A write whose fate is unknown is never sent twice.

import { readFileSync } from "node:fs";
import { isIP } from "node:net";
import { checkServerIdentity } from "node:tls";
import {
  Client,
  type ClientDuplexStream,
  connectivityState,
  credentials,
  Metadata,
  type ServiceError,
  status,
} from "@grpc/grpc-js";
import type { Call } from "../../kit/base/call.ts";
import { Fault } from "../../kit/base/fault.ts";
import { KVDefinition, LeaseDefinition, WatchDefinition, type WatchRequest, type WatchResponse } from "./gen/etcd.js";

export interface EndpointOptions {
  /** `https://host:port` or `http://host:port`, one or more. */
  endpoints: readonly string[];
  /** PEM files: who may have signed the servers' certificates, and our own. */
  caFile?: string;
  certFile?: string;
  keyFile?: string;
  /** How long one member may take to connect, and to answer. */
  connectMs?: number;
  timeoutMs?: number;
}

interface Codec<T> {
  encode(message: T): { finish(): Uint8Array };
  decode(bytes: Uint8Array): T;
}

/** A unary method as the generated tables tell it. */
export interface Method<Q, R> {
  readonly name: string;
  readonly requestType: Codec<Q>;
  readonly responseType: Codec<R>;
}

const settings = {
  "grpc.initial_reconnect_backoff_ms": 100,
  "grpc.min_reconnect_backoff_ms": 100,
  "grpc.max_reconnect_backoff_ms": 2000,
  // A member that vanished without a word is noticed within these two.
  "grpc.keepalive_time_ms": 10_000,
  "grpc.keepalive_timeout_ms": 5_000,
  "grpc.max_receive_message_length": -1,
  "grpc.max_send_message_length": -1,
};

const services = [KVDefinition, LeaseDefinition] as const;

export class Endpoints {
  readonly #urls: readonly string[];
  readonly #clients: (Client | undefined)[] = [];
  readonly #options: EndpointOptions;
  #current = 0;

  constructor(options: EndpointOptions) {
    this.#options = options;
    this.#urls = options.endpoints;
  }

  /** Calls a method; `isRead` allows asking another member after one failed midway. */
  async ask<Q, R>(method: Method<Q, R>, request: Q, isRead: boolean, call: Call): Promise<R> {
    const path = pathOf(method);
    for (let attempt = 1; ; attempt++) {
      const client = await this.#ready(call);
      try {
        return await this.#unary(client, path, method, request, call);
      } catch (error) {
        const { code } = error as ServiceError;
        if (code !== status.UNAVAILABLE && code !== status.DEADLINE_EXCEEDED) throw error;
        this.#leave(client);
        if (!isRead || attempt >= this.#urls.length * 2) throw error;
      }
    }
  }

  /** A watch stream to a member that answers. */
  async watch(call: Call): Promise<ClientDuplexStream<WatchRequest, WatchResponse>> {
    const client = await this.#ready(call);
    const method = WatchDefinition.methods.watch;
    const metadata = new Metadata();
    // Makes a member that lost its leader end the stream, instead of leaving it silent.
    metadata.set("hasleader", "true");
    const stream = client.makeBidiStreamRequest(
      `/${WatchDefinition.fullName}/${method.name}`,
      (message: WatchRequest) => bytesOf(method.requestType, message),
      (bytes) => method.responseType.decode(bytes),
      metadata,
    );
    stream.once("error", (error: ServiceError) => {
      if (error.code !== status.CANCELLED) this.#leave(client);
    });
    return stream;
  }

  close(): void {
    for (const client of this.#clients) client?.close();
  }

  /** The client in use once it is connected, else the next one that is. */
  async #ready(call: Call): Promise<Client> {
    for (let tries = 0; tries < this.#urls.length * 2; tries++) {
      call.signal.throwIfAborted();
      const client = this.#client();
      if (await this.#connects(client, call)) return client;
      this.#leave(client);
    }
    call.signal.throwIfAborted();
    throw new Fault("unavailable", `Cannot reach etcd at ${this.#urls.join(", ")}: no member accepts connections`);
  }

  #client(): Client {
    const index = this.#current;
    const { host, hostname, protocol } = new URL(this.#urls[index] as string);
    const address = hostname.replace(/^\[|\]$/g, "");
    const isTls = protocol === "https:";
    this.#clients[index] ??= new Client(host, isTls ? this.#tls(address) : credentials.createInsecure(), {
      ...settings,
      // TLS takes no address as the server's name, so one stands in; `#tls` checks the address itself.
      ...(isTls && isIP(address) ? { "grpc.ssl_target_name_override": "etcd" } : {}),
    });
    return this.#clients[index];
  }

  #connects(client: Client, call: Call): Promise<boolean> {
    if (client.getChannel().getConnectivityState(true) === connectivityState.READY) return Promise.resolve(true);
    return new Promise((resolve) => {
      const onAbort = () => resolve(false);
      call.signal.addEventListener("abort", onAbort, { once: true });
      client.waitForReady(Date.now() + (this.#options.connectMs ?? 2000), (error) => {
        call.signal.removeEventListener("abort", onAbort);
        resolve(!error);
      });
    });
  }

  /** Moves on, unless another call already did. */
  #leave(client: Client): void {
    if (this.#clients[this.#current] === client) this.#current = (this.#current + 1) % this.#urls.length;
  }

  #tls(address: string) {
    const { caFile, certFile, keyFile } = this.#options;
    const read = (path: string | undefined) => (path ? readPem(path) : null);
    return credentials.createSsl(read(caFile), read(keyFile), read(certFile), {
      checkServerIdentity: (_name, certificate) => checkServerIdentity(address, certificate),
    });
  }

  #unary<Q, R>(client: Client, path: string, method: Method<Q, R>, request: Q, call: Call): Promise<R> {
    return new Promise((resolve, reject) => {
      const onAbort = () => sent.cancel();
      const sent = client.makeUnaryRequest(
        path,
        (message: Q) => bytesOf(method.requestType, message),
        (bytes) => method.responseType.decode(bytes),
        request,
        new Metadata(),
        { deadline: Date.now() + (this.#options.timeoutMs ?? 10_000) },
        (error, response) => {
          call.signal.removeEventListener("abort", onAbort);
          if (!error) resolve(response as R);
          else reject(call.signal.aborted ? call.signal.reason : error);
        },
      );
      call.signal.addEventListener("abort", onAbort, { once: true });
    });
  }
}

function pathOf(method: { readonly name: string }): string {
  const service = services.find(({ methods }) => Object.values(methods).some(({ name }) => name === method.name));
  return `/${service?.fullName}/${method.name}`;
}

function bytesOf<T>(codec: Codec<T>, message: T): Buffer {
  const bytes = codec.encode(message).finish();
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

function readPem(path: string): Buffer {
  try {
    return readFileSync(path);
  } catch (error) {
    throw new Fault("invalid", `Cannot use "${path}" for etcd: ${(error as Error).message}`, { cause: error });
  }
}
