// The Docker Engine API over its unix socket: JSON calls, streamed answers, and connections that leave HTTP behind. Knows nothing of
// CRI. Every error is a Fault; stopping the call closes its connection.

import { Agent, type IncomingMessage, request as httpRequest } from "node:http";
import type { Socket } from "node:net";
import type { Readable } from "node:stream";
import { type Call, untilStopped } from "../../../plugins/kit/base/call.ts";
import { Fault } from "../../../plugins/kit/base/fault.ts";
import { connectionFault, faultOf } from "./engine-fault.ts";
import { hijack, readBare } from "./hijack.ts";

export type Method = "GET" | "POST" | "DELETE";

export interface EngineRequest {
  /** Left out where undefined; objects are sent as JSON, as filters are. */
  readonly query?: Readonly<Record<string, string | number | boolean | object | undefined>>;
  /** Sent as JSON. */
  readonly body?: unknown;
  /** Sent as it is, instead of `body`. */
  readonly upload?: { readonly stream: Readable; readonly type: string };
  readonly headers?: Readonly<Record<string, string>>;
}

/** The API's range that this client was written for. */
const oldest: ApiVersion = [1, 41];
const newest: ApiVersion = [1, 47];

type ApiVersion = readonly [major: number, minor: number];

export class Engine {
  readonly socketPath: string;
  readonly #agent = new Agent({ keepAlive: true, maxFreeSockets: 8, scheduling: "lifo" });
  #version: Promise<ApiVersion> | undefined;

  constructor(socketPath: string) {
    this.socketPath = socketPath;
  }

  /** The version spoken: the daemon's, as far as we know it. Fails as `unsupported` for a daemon that is too old. */
  version(call: Call): Promise<ApiVersion> {
    this.#version ??= this.#negotiate(call);
    // Asked again after a failure: the daemon may only be starting.
    this.#version.catch(() => (this.#version = undefined));
    return this.#version;
  }

  /** Resolves when the daemon answers at all. */
  async ping(call: Call): Promise<void> {
    await readText(await this.#send("GET", "/_ping", {}, call));
  }

  /** True when the daemon speaks at least this version. */
  async speaks(minor: number, call: Call): Promise<boolean> {
    const [major, own] = await this.version(call);
    return major > 1 || own >= minor;
  }

  /** The answer's JSON; undefined where it has none. */
  async call<T>(method: Method, path: string, request: EngineRequest, call: Call): Promise<T> {
    const text = await readText(await this.#send(method, await this.#path(path, request, call), request, call));
    return (text.trim() === "" ? undefined : JSON.parse(text)) as T;
  }

  get<T>(path: string, query: NonNullable<EngineRequest["query"]>, call: Call): Promise<T> {
    return this.call("GET", path, { query }, call);
  }

  /** The answer as it comes. Ends with the daemon; stopping the call breaks it off with an error. */
  async stream(method: Method, path: string, request: EngineRequest, call: Call): Promise<IncomingMessage> {
    return this.#send(method, await this.#path(path, request, call), request, call);
  }

  /** One JSON value per line of the answer. */
  async *values<T>(method: Method, path: string, request: EngineRequest, call: Call): AsyncGenerator<T> {
    let rest = "";
    const answer = await this.stream(method, path, request, call);
    answer.setEncoding("utf8");
    for await (const chunk of untilStopped(answer as AsyncIterable<string>, call)) {
      const lines = (rest + chunk).split("\n");
      rest = lines.pop() ?? "";
      for (const line of lines) if (line.trim() !== "") yield JSON.parse(line) as T;
    }
    if (call.signal.aborted) answer.destroy();
    call.signal.throwIfAborted();
    if (rest.trim() !== "") yield JSON.parse(rest) as T;
  }

  /** A raw connection, both ways, after the daemon agreed to it. The caller ends it. */
  async hijack(path: string, request: EngineRequest, call: Call): Promise<Socket> {
    return hijack(this.socketPath, await this.#path(path, request, call), request.body, call);
  }

  /** The bytes of an answer as they come, many small pieces at a time. The caller ends it. */
  async bare(path: string, request: EngineRequest, call: Call): Promise<Socket> {
    return readBare(this.socketPath, await this.#path(path, request, call), call);
  }

  /** Drops idle connections; busy ones end with their calls. */
  close(): void {
    this.#agent.destroy();
  }

  async #negotiate(call: Call): Promise<ApiVersion> {
    const answer = await this.#send("GET", "/_ping", {}, call);
    answer.resume();
    const [major = 0, minor = 0] = String(answer.headers["api-version"] ?? "0.0")
      .split(".")
      .map(Number);
    if (major < oldest[0] || (major === oldest[0] && minor < oldest[1])) {
      throw new Fault("unsupported", `Cannot use Docker: its API ${major}.${minor} is older than ${oldest.join(".")}`);
    }
    return major === newest[0] && minor <= newest[1] ? [major, minor] : newest;
  }

  async #path(path: string, { query = {} }: EngineRequest, call: Call): Promise<string> {
    const version = await this.version(call);
    const words = Object.entries(query).flatMap(([key, value]) => {
      if (value === undefined) return [];
      const text = typeof value === "object" ? JSON.stringify(value) : String(value);
      return [`${key}=${encodeURIComponent(text)}`];
    });
    return `/v${version.join(".")}${path}${words.length > 0 ? `?${words.join("&")}` : ""}`;
  }

  #send(method: Method, path: string, request: EngineRequest, call: Call): Promise<IncomingMessage> {
    const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
    const { signal } = call;
    if (signal.aborted) return Promise.reject(signal.reason);
    const body = request.body === undefined ? undefined : Buffer.from(JSON.stringify(request.body));
    const headers: Record<string, string | number> = { host: "docker", ...request.headers };
    if (body) Object.assign(headers, { "content-type": "application/json", "content-length": body.length });
    else if (request.upload) headers["content-type"] = request.upload.type;
    else if (method === "POST") headers["content-length"] = 0;
    const outgoing = httpRequest({ socketPath: this.socketPath, agent: this.#agent, method, path, headers });
    const onAbort = () => void outgoing.destroy(signal.reason as Error);
    signal.addEventListener("abort", onAbort, { once: true });
    outgoing.on("close", () => signal.removeEventListener("abort", onAbort));
    outgoing.on("error", (error) => reject(signal.aborted ? signal.reason : connectionFault(error, this.socketPath)));
    outgoing.on("response", (incoming) => {
      const status = incoming.statusCode ?? 500;
      if (status < 400) return resolve(incoming);
      readText(incoming).then((text) => reject(faultOf(status, text)), reject);
    });
    if (request.upload) {
      request.upload.stream.on("error", (error) => outgoing.destroy(error));
      request.upload.stream.pipe(outgoing);
    } else outgoing.end(body);
    return promise;
  }
}

async function readText(incoming: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of incoming as AsyncIterable<Buffer>) chunks.push(chunk);
  return Buffer.concat(chunks).toString("utf8");
}
