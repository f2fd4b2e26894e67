// HTTP/1.1 over TLS for tests of request paths: the request target is sent byte for byte as it is written, which no client that works
// on URLs does. One keep-alive connection; one request at a time.

import { connect, type TLSSocket } from "node:tls";

export interface RawRequest {
  readonly method: string;
  /** The request target, with its query; never normalised. */
  readonly target: string;
  /** A header that is sent several times has a list of values. */
  readonly headers?: Readonly<Record<string, string | readonly string[]>>;
  /** Sent as JSON unless it is a string. */
  readonly body?: unknown;
}

export interface RawAnswer {
  readonly status: number;
  /** In lower case. */
  readonly head: string;
  /** Empty when the answer was a stream. */
  readonly body: string;
}

export interface RawTarget {
  readonly port: number;
  readonly ca: string;
  readonly cert: string;
  readonly key: string;
}

export class RawHttp {
  readonly #target: RawTarget;
  #socket: TLSSocket | undefined;

  constructor(target: RawTarget) {
    this.#target = target;
  }

  /** Of a stream (a watch, an upgraded connection) only the head is read; its connection is closed. */
  async ask(request: RawRequest): Promise<RawAnswer> {
    const isReused = this.#socket !== undefined;
    const socket = this.#socket ?? (await this.#connect());
    try {
      return await this.#exchange(socket, request);
    } catch (error) {
      this.close();
      // The server may close an idle connection just when the next request is sent.
      if (!isReused || !(error instanceof ClosedEarly)) throw error;
      return this.#exchange(await this.#connect(), request);
    }
  }

  close(): void {
    this.#socket?.destroy();
    this.#socket = undefined;
  }

  async #connect(): Promise<TLSSocket> {
    const socket = connect({ host: "127.0.0.1", ALPNProtocols: ["http/1.1"], ...this.#target });
    socket.setNoDelay(true);
    await new Promise<void>((resolve, reject) => {
      socket.once("secureConnect", resolve).once("error", reject);
    });
    socket.removeAllListeners("error");
    // Whoever waits for an answer hears of it by "close".
    socket.on("error", () => {});
    this.#socket = socket;
    return socket;
  }

  #exchange(socket: TLSSocket, request: RawRequest): Promise<RawAnswer> {
    return new Promise((resolve, reject) => {
      const chunks: Buffer[] = [];
      let received = 0;
      let needed = 0;
      const settle = (answer: RawAnswer | undefined, isReusable: boolean) => {
        socket.off("data", onData).off("close", onClose);
        if (!isReusable) this.close();
        if (answer) resolve(answer);
        else reject(new ClosedEarly(`the connection was closed: ${request.method} ${request.target}`));
      };
      const onData = (chunk: Buffer) => {
        chunks.push(chunk);
        received += chunk.length;
        // A long answer is read when its end may have come, and not again at every chunk.
        if (received < needed || (needed === 0 && chunks.length > 4 && !chunk.subarray(-5).equals(lastChunk))) return;
        const read = readAnswer(Buffer.concat(chunks), request, false);
        if (read) settle(read.answer, read.isReusable);
        else needed = neededBytes(Buffer.concat(chunks));
      };
      const onClose = () => settle(readAnswer(Buffer.concat(chunks), request, true)?.answer, false);
      socket.on("data", onData).once("close", onClose);
      socket.write(bytesOf(request, this.#target.port));
    });
  }
}

class ClosedEarly extends Error {}

const lastChunk = Buffer.from("0\r\n\r\n");

function bytesOf({ method, target, headers = {}, body }: RawRequest, port: number): string {
  const text = body === undefined ? "" : typeof body === "string" ? body : JSON.stringify(body);
  const lines = [`${method} ${target} HTTP/1.1`, `host: 127.0.0.1:${port}`, "accept: application/json"];
  const all: Record<string, string | readonly string[]> = {
    ...(body === undefined ? {} : { "content-type": "application/json" }),
    ...headers,
  };
  for (const [name, value] of Object.entries(all))
    for (const one of typeof value === "string" ? [value] : value) lines.push(`${name}: ${one}`);
  if (body !== undefined || /^(POST|PUT|PATCH)$/.test(method)) lines.push(`content-length: ${Buffer.byteLength(text)}`);
  return `${lines.join("\r\n")}\r\n\r\n${text}`;
}

interface Read {
  readonly answer: RawAnswer;
  readonly isReusable: boolean;
}

function readAnswer(bytes: Buffer, request: RawRequest, isClosed: boolean): Read | undefined {
  const end = bytes.indexOf("\r\n\r\n");
  if (end < 0) return undefined;
  const head = bytes.toString("latin1", 0, end).toLowerCase();
  const status = Number(head.slice(9, 12));
  if (status < 101) return readAnswer(bytes.subarray(end + 4), request, isClosed);
  const rest = bytes.subarray(end + 4);
  const isKept = !isClosed && !/\r\nconnection: *close/.test(head);
  const done = (body: string, isReusable: boolean): Read => ({ answer: { status, head, body }, isReusable });
  if (status === 101) return done("", false);
  if (request.method === "HEAD" || status === 204 || status === 304) return done("", isKept && !mayStream(request));
  const length = /\r\ncontent-length: *(\d+)/.exec(head)?.[1];
  if (length !== undefined)
    return rest.length < Number(length) ? undefined : done(rest.toString("utf8", 0, Number(length)), isKept);
  if (status === 200 && mayStream(request)) return done("", false);
  if (/\r\ntransfer-encoding: *chunked/.test(head)) {
    const body = unchunked(rest);
    return body === undefined ? undefined : done(body, isKept);
  }
  return isClosed ? done(rest.toString("utf8"), false) : undefined;
}

/** Of the whole answer; 0 where its head does not say. */
function neededBytes(bytes: Buffer): number {
  const end = bytes.indexOf("\r\n\r\n");
  const length = /\r\ncontent-length: *(\d+)/i.exec(bytes.toString("latin1", 0, Math.max(0, end)))?.[1];
  return length === undefined ? 0 : end + 4 + Number(length);
}

const mayStream = ({ target }: RawRequest) => /(w|%77)atch|follow=/i.test(target);

/** Undefined while the last chunk has not come. */
function unchunked(bytes: Buffer): string | undefined {
  const parts: string[] = [];
  for (let at = 0; ; ) {
    const end = bytes.indexOf("\r\n", at);
    if (end < 0) return undefined;
    const size = Number.parseInt(bytes.toString("latin1", at, end), 16);
    if (bytes.length < end + 4 + size) return undefined;
    if (size === 0) return parts.join("");
    parts.push(bytes.toString("utf8", end + 2, end + 2 + size));
    at = end + 4 + size;
  }
}
