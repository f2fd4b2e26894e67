// A Request whose body is text that is there already: to a handler in the same process it is handed over as it is, to a server it
// is sent in one piece. It is a Request to everyone who asks, but none of the runtime's own is made for it, which would cost a
// call in the same process a tenth of its time. Its signal is the caller's own, with nothing in between.

export interface TextRequestInit {
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
}

class ReadyRequest {
  readonly url: string;
  readonly method: string;
  readonly headers: Headers;
  readonly signal: AbortSignal;
  /** The whole body; undefined where there is none. */
  readonly ready: Buffer | undefined;
  readonly bodyUsed = false;
  readonly #init: TextRequestInit;
  #body: ReadableStream<Uint8Array> | null | undefined;

  constructor(url: string, init: TextRequestInit, signal: AbortSignal) {
    this.url = url;
    this.method = init.method ?? "GET";
    this.headers = new Headers(init.headers);
    this.signal = signal;
    this.ready = init.body === undefined ? undefined : Buffer.from(init.body);
    this.#init = init;
  }

  /** One stream, as of any request: what was read of it is gone. */
  get body(): ReadableStream<Uint8Array> | null {
    if (this.#body === undefined) this.#body = this.ready ? new Blob([Uint8Array.from(this.ready)]).stream() : null;
    return this.#body;
  }

  async text(): Promise<string> {
    return this.#init.body ?? "";
  }

  async json(): Promise<unknown> {
    return JSON.parse(this.#init.body ?? "");
  }

  async arrayBuffer(): Promise<ArrayBuffer> {
    return Uint8Array.from(this.ready ?? []).buffer;
  }

  async bytes(): Promise<Uint8Array<ArrayBuffer>> {
    return Uint8Array.from(this.ready ?? []);
  }

  clone(): TextRequest {
    return new TextRequest(this.url, { ...this.#init, headers: Object.fromEntries(this.headers) }, this.signal);
  }
}

Object.setPrototypeOf(ReadyRequest.prototype, Request.prototype);

export type TextRequest = Request & ReadyRequest;
export const TextRequest = ReadyRequest as unknown as new (
  ...args: ConstructorParameters<typeof ReadyRequest>
) => TextRequest;
