// The connections of one server, so that it can close: idle ones at once, busy ones when their request ends or their time is up.
//
// Invariant: a connection counts as busy from a request's arrival until its answer is written or broken off; one that was
// upgraded stays busy until it ends, because nobody here knows what goes over it.

import type http from "node:http";
import type http2 from "node:http2";
import type { Duplex } from "node:stream";
import type { TLSSocket } from "node:tls";
import { awaitFirstRequest, boundIdleSession, type Patience } from "./http-patience.ts";

export class HttpConnections {
  readonly #requestsBySocket = new Map<Duplex, number>();
  /** Connections below TLS, among them those whose handshake never ends. */
  readonly #raw = new Set<Duplex>();
  readonly #sessions = new Set<http2.Http2Session>();
  /** Connections that have not asked for anything yet, and how to tell that they did. */
  readonly #silent = new WeakMap<Duplex, () => void>();
  readonly #patience: Patience;
  #isClosing = false;

  constructor(patience: Patience) {
    this.#patience = patience;
  }

  follow(server: http.Server | http2.Http2SecureServer, isSecure: boolean): void {
    server.on("connection", (socket: Duplex) => remember(this.#raw, socket));
    server.on(isSecure ? "secureConnection" : "connection", (socket: Duplex) => {
      this.#requestsBySocket.set(socket, 0);
      socket.once("close", () => this.#requestsBySocket.delete(socket));
      if (!isHttp2(socket)) this.#silent.set(socket, awaitFirstRequest(socket, this.#patience));
      // A reset by the peer is everyday life; the request on it learns of it by its own means.
      socket.on("error", () => {});
    });
    server.on("session", (session: http2.Http2Session) => {
      remember(this.#sessions, session);
      boundIdleSession(session, this.#patience);
    });
  }

  /** Counts a request on its connection until the returned function tells that its answer is over. HTTP/2 counts its streams itself. */
  begin(socket: Duplex | undefined): (() => void) | undefined {
    if (!socket || !this.#requestsBySocket.has(socket)) return undefined;
    this.#spoke(socket);
    this.#change(socket, 1);
    return () => this.#change(socket, -1);
  }

  /** The connection is no longer HTTP: it is busy until it ends. */
  upgraded(socket: Duplex): void {
    this.#spoke(socket);
    this.#change(socket, 1);
  }

  closeIdle(): void {
    this.#isClosing = true;
    for (const session of this.#sessions) session.close();
    for (const [socket, requests] of this.#requestsBySocket) {
      if (requests === 0 && !isHttp2(socket)) socket.destroy();
    }
  }

  closeAll(): void {
    for (const session of this.#sessions) session.destroy();
    for (const socket of this.#requestsBySocket.keys()) socket.destroy();
    for (const socket of this.#raw) socket.destroy();
  }

  #spoke(socket: Duplex): void {
    const stop = this.#silent.get(socket);
    if (!stop) return;
    this.#silent.delete(socket);
    socket.off("close", stop);
    stop();
  }

  #change(socket: Duplex, by: number): void {
    const requests = this.#requestsBySocket.get(socket);
    if (requests === undefined) return;
    this.#requestsBySocket.set(socket, requests + by);
    // The answer is written; what is left of it in the socket is sent before the end.
    if (requests + by === 0 && this.#isClosing) socket.end();
  }
}

function isHttp2(socket: Duplex): boolean {
  return (socket as TLSSocket).alpnProtocol === "h2";
}

function remember<T extends { once(event: "close", then: () => void): unknown }>(set: Set<T>, item: T): void {
  set.add(item);
  item.once("close", () => set.delete(item));
}
