// The time that a client has to read an answer. It grows with the answer, so that a slow link gets what it asked for, but a
// client that does not read holds neither the answer nor its connection for long.

import type http from "node:http";
import type http2 from "node:http2";
import type { Duplex } from "node:stream";
import { clearTimeout, setTimeout } from "node:timers";

export interface WriteLimits {
  /** What any answer may take. */
  readonly timeoutMs: number;
  /** The slowest link that large answers are sent over, in the time on top of that. */
  readonly leastBytesPerSecond: number;
}

/** A minute is what kube-apiserver gives every request that is no watch. */
export const defaultWriteLimits: WriteLimits = { timeoutMs: 60_000, leastBytesPerSecond: 64 * 1024 };

/** Breaks the connection off unless the answer is sent, and its exchange over, in time. */
export function disconnectUnlessSent(
  outgoing: http.ServerResponse | http2.Http2ServerResponse,
  bytes: number,
  limits: WriteLimits,
): void {
  const timer = setTimeout(() => disconnect(outgoing), mostMs(bytes, limits)).unref();
  outgoing.once("close", () => clearTimeout(timer));
}

/** The same for an answer that is written to its socket. */
export function destroyUnlessSent(socket: Duplex, bytes: number, limits: WriteLimits = defaultWriteLimits): void {
  const timer = setTimeout(() => socket.destroy(), mostMs(bytes, limits)).unref();
  socket.once("close", () => clearTimeout(timer));
}

const mostMs = (bytes: number, { timeoutMs, leastBytesPerSecond }: WriteLimits): number =>
  timeoutMs + (bytes * 1000) / leastBytesPerSecond;

function disconnect(outgoing: http.ServerResponse | http2.Http2ServerResponse): void {
  const { stream } = outgoing as { stream?: http2.ServerHttp2Stream };
  // Of a session that is read, only the one stream is at fault. 8 is CANCEL of HTTP/2.
  if (!stream?.session) outgoing.socket?.destroy();
  else if (stream.session.socket.writableLength > 0) stream.session.destroy();
  else stream.close(8);
}
