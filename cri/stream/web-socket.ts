// WebSockets as byte streams with back-pressure: what both the channel protocols and the SPDY tunnel stand on.

import { Duplex, Readable, Writable } from "node:stream";
import { WebSocket, WebSocketServer } from "ws";
import type { Upgrade } from "../../plugins/kit/os/platform/http-server.ts";
import { type CommandProtocol, channel } from "./protocols.ts";

// Clients send 32 KiB at a time; larger messages are taken, but not without end.
const longestMessage = 4 * 1024 * 1024;
const longestPiece = 32 * 1024;

export const webSocketOptions = { maxPayload: longestMessage, perMessageDeflate: false } as const;

/** More than a session writes ahead: what is beyond are answers to pings that the client does not read. */
const mostUnsentBytes = 1024 * 1024;

const server = new WebSocketServer({ noServer: true, clientTracking: false, autoPong: false, ...webSocketOptions });
const chosen = new WeakMap<object, string>();
server.on("headers", (headers, request) => {
  const protocol = chosen.get(request);
  if (protocol) headers.push(`Sec-WebSocket-Protocol: ${protocol}`);
});

/**
 * Accepts the upgrade with the given subprotocol, or none when it is empty. The library never sees the name: it holds
 * that of kubectl's port-forward, which has a slash in it, to be invalid.
 * `begin` runs before any message can come; one that waits would lose the first. A request that is no proper
 * WebSocket handshake is refused by the library, and the promise never resolves.
 */
export function acceptWebSocket<T>(upgrade: Upgrade, protocol: string, begin: (socket: WebSocket) => T): Promise<T> {
  return new Promise((resolve) => {
    delete upgrade.request.headers["sec-websocket-protocol"];
    chosen.set(upgrade.request, protocol);
    server.handleUpgrade(upgrade.request, upgrade.socket, upgrade.head, (socket) => {
      socket.on("ping", (data) => {
        if (socket.bufferedAmount > mostUnsentBytes) socket.terminate();
        else socket.pong(data, false, () => {}); // an error means that it is closed
      });
      resolve(begin(socket));
    });
  });
}

/** Closes as a session that went well, and cuts the connection when the peer does not answer. */
export function closeWebSocket(socket: WebSocket): void {
  // Reading must go on for the peer's answer to be seen.
  socket.resume();
  socket.close(1000);
}

/** A readable end that holds the whole WebSocket while its reader is behind. */
export class SocketReadable extends Readable {
  readonly #socket: WebSocket;

  constructor(socket: WebSocket) {
    super({ highWaterMark: 2 * longestPiece });
    this.#socket = socket;
  }

  receive(data: Buffer): void {
    if (this.destroyed || this.readableEnded) return;
    if (!this.push(data) && this.#socket.readyState === WebSocket.OPEN) this.#socket.pause();
  }

  /** Nothing more will come; may be called twice. */
  finish(): void {
    if (!this.destroyed && !this.#isFinished) this.push(null);
    this.#isFinished = true;
  }

  #isFinished = false;

  override _read(): void {
    if (this.#socket.isPaused) this.#socket.resume();
  }

  override _destroy(error: Error | null, done: (error: Error | null) => void): void {
    if (this.#socket.isPaused) this.#socket.resume();
    done(error);
  }
}

/** One channel's writable end. It breaks with the socket, so that whoever feeds it does not go on for ever; nobody has to listen. */
export function channelWritable(socket: WebSocket, number: number, protocol: CommandProtocol): Writable {
  const channel = new Writable({
    highWaterMark: 2 * longestPiece,
    write(chunk: Buffer, _encoding, done) {
      sendPieces(chunk, (piece, sent) => socket.send(channelMessage(number, piece, protocol), sent), done);
    },
  });
  return channel.on("error", () => {});
}

/** The first byte names the channel; in base64 protocols it is a digit and everything is text. */
export function channelMessage(number: number, data: Uint8Array, { isBase64 }: CommandProtocol): Buffer | string {
  if (isBase64) return `${number}${Buffer.from(data).toString("base64")}`;
  return Buffer.concat([Buffer.from([number]), data]);
}

/** Undefined for what is no message of the protocol. */
export function parseChannelMessage(
  message: Buffer,
  { isBase64 }: CommandProtocol,
): { number: number; data: Buffer } | undefined {
  const [number] = message;
  if (number === undefined) return undefined;
  // A close is two bytes in every protocol that has one.
  if (!isBase64 || number === channel.close) return { number, data: message.subarray(1) };
  const digit = number - 48;
  return digit >= 0 && digit <= 9
    ? { number: digit, data: Buffer.from(message.toString("latin1", 1), "base64") }
    : undefined;
}

/** The whole WebSocket as one stream of bytes. */
export class SocketDuplex extends Duplex {
  readonly #socket: WebSocket;

  constructor(socket: WebSocket) {
    super({ highWaterMark: 2 * longestPiece });
    this.#socket = socket;
    socket.on("message", (message: Buffer) => {
      if (!this.destroyed && !this.push(message) && socket.readyState === WebSocket.OPEN) socket.pause();
    });
    socket.on("close", () => this.#finish());
    socket.on("error", () => this.#finish());
  }

  override _read(): void {
    if (this.#socket.isPaused) this.#socket.resume();
  }

  override _write(chunk: Buffer, _encoding: string, done: () => void): void {
    // An error means that the socket is closed; whoever holds the session learns of that by itself.
    sendPieces(
      chunk,
      (piece, sent) => this.#socket.send(piece, sent),
      () => done(),
    );
  }

  override _final(done: () => void): void {
    closeWebSocket(this.#socket);
    done();
  }

  override _destroy(error: Error | null, done: (error: Error | null) => void): void {
    if (error) this.#socket.terminate();
    else closeWebSocket(this.#socket);
    done(error);
  }

  #finish(): void {
    if (!this.destroyed && !this.readableEnded) this.push(null);
  }
}

function sendPieces(
  chunk: Buffer,
  send: (piece: Buffer, sent: (error?: Error) => void) => void,
  done: (error?: Error) => void,
): void {
  const next = (at: number) => {
    if (at >= chunk.length) return done();
    const end = at + longestPiece;
    send(chunk.subarray(at, end), (error) => (error ? done(error) : next(end)));
  };
  next(0);
}
