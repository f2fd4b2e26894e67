// How long a server waits for clients that hold a connection and do not go on: the first request must come soon, an
// HTTP/2 session without one is let go of after a while, and so is a body that still comes after its answer. How long an
// answer may take is its handler's to bound; the heads of HTTP/1.1 requests and the time between them the runtimes bound.

import type http from "node:http";
import type http2 from "node:http2";
import type { Duplex } from "node:stream";
import { clearTimeout, setTimeout } from "node:timers";

export interface Patience {
  readonly firstRequestMs: number;
  readonly idleMs: number;
}

/** Cuts the connection off unless the returned function is called in time. */
export function awaitFirstRequest(socket: Duplex, { firstRequestMs }: Patience): () => void {
  const timer = setTimeout(() => socket.destroy(), firstRequestMs).unref();
  const stop = () => clearTimeout(timer);
  socket.once("close", stop);
  return stop;
}

/** For a request that was answered: what is left of its body must come in time, or the connection goes. */
export function awaitRest(incoming: http.IncomingMessage | http2.Http2ServerRequest, patience: Patience): void {
  if (incoming.complete || incoming.destroyed) return;
  const { stream, socket } = incoming as { stream?: http2.ServerHttp2Stream; socket: Duplex };
  const timer = setTimeout(() => {
    // 8 is CANCEL of HTTP/2: the answer stands, the rest of the request is of no use.
    if (stream?.session) stream.close(8);
    else socket.destroy();
  }, patience.firstRequestMs).unref();
  const stop = () => clearTimeout(timer);
  incoming.once("end", stop);
  incoming.once("close", stop);
}

/** Ends a session on which nothing is asked: at once when it never was anything, politely when it was. */
export function boundIdleSession(session: http2.Http2Session, { firstRequestMs, idleMs }: Patience): void {
  let open = 0;
  let idleSince = performance.now();
  let isUsed = false;
  session.on("stream", (stream: http2.Http2Stream) => {
    isUsed = true;
    open++;
    stream.once("close", () => {
      open--;
      idleSince = performance.now();
    });
  });
  let timer: NodeJS.Timeout;
  const look = () => {
    const left = isUsed ? idleSince + idleMs - performance.now() : 0;
    if (open === 0 && left <= 0) return isUsed ? session.close() : session.destroy();
    timer = setTimeout(look, open > 0 ? idleMs : left).unref();
  };
  timer = setTimeout(look, firstRequestMs).unref();
  session.once("close", () => clearTimeout(timer));
}
