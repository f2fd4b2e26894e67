// A Response whose body is bytes that are there already, in pieces: the server writes them as they are, with no stream and
// no copy in between, and a reader in the same process gets them at once. It is a Response to everyone who asks, but none
// of the runtime's own is made for it, which would cost as much as the rest of a short answer.

type PlainHeaders = Readonly<Record<string, string>>;

class ReadyResponse {
  /** Never changed by anyone after it was handed over. */
  readonly parts: readonly Uint8Array[];
  readonly status: number;
  readonly statusText = "";
  readonly bodyUsed = false;
  readonly redirected = false;
  readonly type = "default";
  readonly url = "";
  /** For whoever carries the answer to its client: to be called once, when it is sent or the client is gone. */
  readonly sent: (() => void) | undefined;
  readonly #plain: PlainHeaders;
  #headers: Headers | undefined;

  /** Header names are in lower case. */
  constructor(
    parts: readonly Uint8Array[],
    init: { status?: number; headers?: PlainHeaders; sent?: (() => void) | undefined } = {},
  ) {
    this.parts = parts;
    this.status = init.status ?? 200;
    this.#plain = init.headers ?? {};
    this.sent = init.sent;
  }

  get ok(): boolean {
    return this.status >= 200 && this.status < 300;
  }

  get headers(): Headers {
    this.#headers ??= new Headers(this.#plain);
    return this.#headers;
  }

  /** The headers as a record, with the body's length. */
  get headersToSend(): Record<string, string> {
    const length = this.parts.reduce((sum, part) => sum + part.length, 0);
    const headers = this.#headers ? Object.fromEntries(this.#headers) : this.#plain;
    return { ...headers, "content-length": String(length) };
  }

  get body(): ReadableStream<Uint8Array> {
    return streamOf(this.parts);
  }

  async text(): Promise<string> {
    return this.#whole().toString("utf8");
  }

  async json(): Promise<unknown> {
    return JSON.parse(this.#whole().toString("utf8"));
  }

  async bytes(): Promise<Uint8Array> {
    return Uint8Array.from(this.#whole());
  }

  async arrayBuffer(): Promise<ArrayBuffer> {
    return Uint8Array.from(this.#whole()).buffer;
  }

  async blob(): Promise<Blob> {
    return new Blob([Uint8Array.from(this.#whole())], { type: this.headers.get("content-type") ?? "" });
  }

  clone(): BytesResponse {
    return new BytesResponse(this.parts, { status: this.status, headers: Object.fromEntries(this.headers) });
  }

  #whole(): Buffer {
    const [only] = this.parts;
    if (this.parts.length === 1 && only) return Buffer.from(only.buffer, only.byteOffset, only.byteLength);
    return Buffer.concat(this.parts);
  }
}

Object.setPrototypeOf(ReadyResponse.prototype, Response.prototype);

export type BytesResponse = Response & ReadyResponse;
export const BytesResponse = ReadyResponse as unknown as new (
  ...args: ConstructorParameters<typeof ReadyResponse>
) => BytesResponse;

function streamOf(parts: readonly Uint8Array[]): ReadableStream<Uint8Array> {
  let next = 0;
  return new ReadableStream<Uint8Array>({
    pull(controller) {
      const part = parts[next++];
      if (part) controller.enqueue(part);
      else controller.close();
    },
  });
}
