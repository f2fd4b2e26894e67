// ServedRequest is a request that came over a connection. It is a Request to everyone who asks, but none of the runtime's own is made
// for it, nor its headers, its signal and its body unless somebody uses them: together they cost more than a short answer does.

import type http from "node:http";
import type http2 from "node:http2";
import type { Readable } from "node:stream";
import { bodyOf } from "./http-body.ts";
import { ServedHeaders } from "./served-headers.ts";
import { targetOf, urlOf } from "./served-url.ts";

export type Incoming = http.IncomingMessage | http2.Http2ServerRequest;

class ServedMessage {
  readonly method: string;
  readonly url: string;
  /** Path and query as they were sent, with dot segments and all. */
  readonly target: string;
  readonly #incoming: Incoming;
  #headers: Headers | undefined;
  #controller: AbortController | undefined;
  #goneBecause: Error | undefined;
  #body: ReadableStream<Uint8Array> | undefined;

  /** Throws where the request's target makes no sense. */
  constructor(incoming: Incoming) {
    this.#incoming = incoming;
    this.method = incoming.method ?? "GET";
    this.target = targetOf(incoming);
    this.url = urlOf(incoming, this.target);
  }

  get headers(): Headers {
    this.#headers ??= new ServedHeaders(this.#incoming);
    return this.#headers;
  }

  get signal(): AbortSignal {
    if (!this.#controller) {
      this.#controller = new AbortController();
      if (this.#goneBecause) this.#controller.abort(this.#goneBecause);
    }
    return this.#controller.signal;
  }

  /** For the server: the client went away before it had its answer. */
  gone(): void {
    this.#goneBecause = new Error("the client is gone");
    this.#controller?.abort(this.#goneBecause);
  }

  /** The body as it comes, for who reads it whole; undefined once anyone has begun to. */
  get unread(): Readable | undefined {
    return this.#body || this.#incoming.readableDidRead ? undefined : this.#incoming;
  }

  get body(): ReadableStream<Uint8Array> | null {
    if (this.method === "GET" || this.method === "HEAD") return null;
    // Who needs no more of it still wants to answer: the rest is read and dropped.
    this.#body ??= bodyOf(this.#incoming, this.signal, () => void this.#incoming.resume());
    return this.#body;
  }

  get bodyUsed(): boolean {
    return this.#incoming.readableDidRead;
  }

  async text(): Promise<string> {
    return this.#read().text();
  }

  async json(): Promise<unknown> {
    return this.#read().json();
  }

  async arrayBuffer(): Promise<ArrayBuffer> {
    return this.#read().arrayBuffer();
  }

  async bytes(): Promise<Uint8Array> {
    return new Uint8Array(await this.arrayBuffer());
  }

  async blob(): Promise<Blob> {
    return this.#read().blob();
  }

  async formData(): Promise<FormData> {
    return this.#read().formData();
  }

  #read(): Response {
    return new Response(this.body, { headers: { "content-type": this.headers.get("content-type") ?? "" } });
  }
}

Object.setPrototypeOf(ServedMessage.prototype, Request.prototype);

export type ServedRequest = Request & ServedMessage;
export const ServedRequest = ServedMessage as unknown as new (incoming: Incoming) => ServedRequest;
