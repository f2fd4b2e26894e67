// Between the web's Request and Response and ours: for sockets served through fetch handlers, and for calls in the same process.

import type { UserInfo } from "../../plugins/kit/kube/user-info.ts";
import { BytesResponse } from "../../plugins/kit/base/bytes-response.ts";
import type { Peer } from "../../plugins/kit/os/platform/http-server.ts";
import { isFault } from "../../plugins/kit/base/fault.ts";
import { ServedRequest } from "../../plugins/kit/os/platform/served-request.ts";
import { wholeBody } from "../../plugins/kit/os/platform/request-body.ts";
import { SinkResponse } from "../../plugins/kit/base/sink-response.ts";
import { TextRequest } from "../../plugins/kit/base/text-request.ts";
import type { Answer } from "../machinery/answer.ts";
import type { ApiRequest } from "../machinery/request.ts";
import { badRequest, tooLarge } from "../machinery/status.ts";
import { isLarge, largeBodies, largeBodyBytes } from "./large-bodies.ts";

export const maximumBodyBytes = 3 * 1024 * 1024;

export function requestFrom(request: Request, peer: Peer, user?: UserInfo): ApiRequest {
  return new WebRequest(request, peer, user);
}

/** What few requests need is made when it is asked for. */
class WebRequest implements ApiRequest {
  readonly method: string;
  readonly path: string;
  readonly query: URLSearchParams;
  readonly peer: Peer;
  readonly user?: UserInfo;
  readonly #request: Request;

  constructor(request: Request, peer: Peer, user: UserInfo | undefined) {
    // The URL of a request that came over a connection is collapsed already: its path may be another than the one that was asked for.
    const target = request instanceof ServedRequest ? request.target : targetIn(request.url);
    const queryAt = target.indexOf("?");
    this.method = request.method;
    this.path = (queryAt < 0 ? target : target.slice(0, queryAt)) || "/";
    this.query = queryAt < 0 ? noQuery : new URLSearchParams(target.slice(queryAt + 1));
    this.peer = peer;
    if (user) this.user = user;
    this.#request = request;
  }

  get headers(): Headers {
    return this.#request.headers;
  }

  get signal(): AbortSignal {
    return this.#request.signal;
  }

  async body(look?: (part: Uint8Array) => void): Promise<Uint8Array> {
    const bytes = await readBody(this.#request, look);
    if (isLarge(bytes)) await largeBodies.take();
    return bytes;
  }

  stream(): ReadableStream<Uint8Array> | null {
    return this.#request.body;
  }
}

function targetIn(url: string): string {
  const pathAt = url.indexOf("/", url.indexOf("://") + 3);
  if (pathAt < 0) return "/";
  const hashAt = url.indexOf("#", pathAt);
  return url.slice(pathAt, hashAt < 0 ? url.length : hashAt);
}

/** Nobody changes a query. */
const noQuery = new URLSearchParams();

async function readBody(request: Request, look?: (part: Uint8Array) => void): Promise<Uint8Array> {
  if (request instanceof TextRequest) return bounded(request.ready ?? new Uint8Array());
  const announced = Number(request.headers.get("content-length") ?? 0);
  if (announced > maximumBodyBytes) throw tooLarge(`the request body is larger than ${maximumBodyBytes} bytes`);
  // Short ones are looked at once they are there.
  const direct = wholeBody(request, maximumBodyBytes, announced > 0 && announced <= largeBodyBytes ? undefined : look);
  if (direct) return direct.catch(refused);
  if (!request.body) return new Uint8Array();
  // A body of known, allowed length needs no counting.
  if (announced > 0) return new Uint8Array(await request.arrayBuffer().catch(cutShort));
  const chunks: Uint8Array[] = [];
  let length = 0;
  const reader = request.body.getReader();
  for (;;) {
    const { done, value } = await reader.read().catch(cutShort);
    if (done) break;
    length += value.byteLength;
    if (length > maximumBodyBytes) {
      await reader.cancel().catch(() => {}); // the answer is the refusal either way
      throw tooLarge(`the request body is larger than ${maximumBodyBytes} bytes`);
    }
    chunks.push(value);
  }
  return Buffer.concat(chunks, length);
}

function bounded(body: Uint8Array): Uint8Array {
  if (body.length > maximumBodyBytes) throw tooLarge(`the request body is larger than ${maximumBodyBytes} bytes`);
  return body;
}

function refused(error: unknown): never {
  if (isFault(error, "too-many")) throw tooLarge(error.message);
  if (isFault(error) && error.details) throw error;
  return cutShort(error);
}

function cutShort(error: unknown): never {
  throw badRequest(`the request body could not be read: ${error instanceof Error ? error.message : String(error)}`);
}

export function responseFrom(answer: Answer): Response {
  const { status, headers, body, sent } = answer;
  if (body === undefined) return new Response(null, { status, headers });
  if (typeof body === "string") return new BytesResponse([Buffer.from(body)], { status, headers, sent });
  if (Array.isArray(body)) return new BytesResponse(body as readonly Uint8Array[], { status, headers, sent });
  if (body instanceof Uint8Array) return new BytesResponse([body], { status, headers, sent });
  if (typeof body === "function") return new SinkResponse(body, { status, headers });
  return new Response(body as ReadableStream<Uint8Array>, { status, headers });
}
