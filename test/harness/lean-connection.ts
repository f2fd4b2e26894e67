// One keep-alive TLS connection to an API server that does as little as a client can: requests are bytes made beforehand, answers are
// counted and not read. On a machine whose cores the client shares with the server, whatever the client does is measured as well.

import { connect, type TLSSocket } from "node:tls";
import type { ConnectionProof } from "../../plugins/kit/kube/client/kubeconfig.ts";

export interface LeanRequest {
  readonly method: string;
  readonly path: string;
  readonly accept?: string;
  readonly encoding?: string;
  readonly type?: string;
  readonly body?: string;
}

interface Pending {
  resolve(bodyBytes: number): void;
  reject(error: Error): void;
}

const lineFeed = 0x0a;
const carriageReturn = 0x0d;

/** The bytes of one request, for any connection to the server. */
export function requestBytes(server: string, request: LeanRequest): Buffer {
  const { method, path, accept = "application/json", encoding, type = "application/json", body } = request;
  const lines = [
    `${method} ${path} HTTP/1.1`,
    `host: ${new URL(server).host}`,
    "user-agent: bench",
    `accept: ${accept}`,
  ];
  if (encoding) lines.push(`accept-encoding: ${encoding}`);
  if (body !== undefined) lines.push(`content-type: ${type}`, `content-length: ${Buffer.byteLength(body)}`);
  return Buffer.from(`${lines.join("\r\n")}\r\n\r\n${body ?? ""}`);
}

export class LeanConnection {
  readonly #socket: TLSSocket;
  #pending: Pending | undefined;
  /** What came of a head, or of the line before a chunk, that is not whole yet. */
  #partial: Buffer | undefined;
  #status = 0;
  #isHeadRead = false;
  #isChunked = false;
  /** Of the body, or of the chunk with its line's end. */
  #left = 0;
  #bodyBytes = 0;
  #refusal = "";

  static async open(server: string, proof: ConnectionProof): Promise<LeanConnection> {
    return new LeanConnection(await secureSocket(server, proof));
  }

  private constructor(socket: TLSSocket) {
    this.#socket = socket;
    socket.on("data", (chunk: Buffer) => this.#read(chunk));
    const onEnd = (error?: Error) => this.#pending?.reject(error ?? new Error("the connection was closed"));
    socket.on("error", onEnd).on("close", () => onEnd());
  }

  /** One at a time. Resolves to the number of bytes of the body as they came; rejects where the answer is no success. */
  ask(request: Buffer): Promise<number> {
    return new Promise((resolve, reject) => {
      this.#pending = { resolve, reject };
      this.#socket.write(request);
    });
  }

  close(): void {
    this.#pending = undefined;
    this.#socket.destroy();
  }

  #read(chunk: Buffer): void {
    let bytes = this.#partial ? Buffer.concat([this.#partial, chunk]) : chunk;
    this.#partial = undefined;
    if (!this.#isHeadRead) {
      const end = bytes.indexOf("\r\n\r\n");
      if (end < 0) {
        this.#partial = bytes;
        return;
      }
      this.#readHead(bytes.toString("latin1", 0, end));
      bytes = bytes.subarray(end + 4);
    }
    if (this.#status >= 300) this.#refusal += bytes.toString("utf8");
    if (this.#isChunked) return this.#readChunks(bytes);
    this.#left -= bytes.length;
    this.#bodyBytes += bytes.length;
    if (this.#left === 0) this.#end();
  }

  #readHead(head: string): void {
    this.#isHeadRead = true;
    this.#status = Number(head.slice(9, 12));
    this.#bodyBytes = 0;
    this.#refusal = "";
    const length = /\r\ncontent-length: *(\d+)/i.exec(head)?.[1];
    this.#isChunked = length === undefined;
    this.#left = Number(length ?? 0);
  }

  #readChunks(bytes: Buffer): void {
    let at = 0;
    while (at < bytes.length) {
      if (this.#left > 0) {
        const taken = Math.min(this.#left, bytes.length - at);
        this.#left -= taken;
        at += taken;
        continue;
      }
      const end = bytes.indexOf(lineFeed, at);
      if (end < 0) {
        this.#partial = bytes.subarray(at);
        return;
      }
      const size = Number.parseInt(bytes.toString("latin1", at, end), 16);
      // The last chunk has no bytes and is followed by an empty line.
      if (size === 0 && bytes.length < end + 3) {
        this.#partial = bytes.subarray(at);
        return;
      }
      if (size === 0) return this.#end();
      this.#bodyBytes += size;
      this.#left = size + 2;
      at = end + 1;
    }
  }

  #end(): void {
    const pending = this.#pending;
    this.#pending = undefined;
    this.#isHeadRead = false;
    if (this.#status >= 300) pending?.reject(new Error(`${this.#status}: ${this.#refusal.slice(0, 500)}`));
    else pending?.resolve(this.#bodyBytes);
  }
}

/**
 * Opens a watch on a connection of its own and tells of each event as it comes, and of nothing else: events are lines, and no other
 * line of a chunked answer ends in a bare line feed. Resolves when the watch has begun, to what ends it.
 */
export async function leanWatch(
  server: string,
  proof: ConnectionProof,
  request: Buffer,
  onEvent: () => void,
): Promise<() => void> {
  const socket = await secureSocket(server, proof);
  const begun = Promise.withResolvers<void>();
  socket.on("error", begun.reject).on("close", () => begun.reject(new Error("the watch was closed")));
  let before = 0;
  socket.on("data", (chunk: Buffer) => {
    begun.resolve();
    for (let at = chunk.indexOf(lineFeed); at >= 0; at = chunk.indexOf(lineFeed, at + 1))
      if ((at > 0 ? chunk[at - 1] : before) !== carriageReturn) onEvent();
    before = chunk[chunk.length - 1] ?? 0;
  });
  socket.write(request);
  await begun.promise;
  return () => socket.destroy();
}

function secureSocket(server: string, proof: ConnectionProof): Promise<TLSSocket> {
  const { hostname, port } = new URL(server);
  const { headers: _, ...secrets } = proof;
  return new Promise((resolve, reject) => {
    const socket = connect({ host: hostname, port: Number(port), ALPNProtocols: ["http/1.1"], ...secrets });
    socket.setNoDelay(true);
    socket.once("error", reject).once("secureConnect", () => {
      socket.off("error", reject);
      resolve(socket);
    });
  });
}
