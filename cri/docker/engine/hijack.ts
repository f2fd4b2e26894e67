// Requests written on a bare socket. Exec and attach leave HTTP behind: after the daemon's 101 the connection carries raw bytes both ways,
// and each side may end its own, which is the same on every runtime only here. Logs are read so because the daemon would send each line
// as a chunk of its own, and taking those apart one by one is most of the work.

import { connect, type Socket } from "node:net";
import { type Call, untilStopped } from "../../../plugins/kit/base/call.ts";
import { isFault } from "../../../plugins/kit/base/fault.ts";
import { connectionFault, faultOf } from "./engine-fault.ts";

const longestHead = 64 * 1024;

/** Resolves with the connection when the daemon has agreed; what came behind its answer is read first. */
export function hijack(socketPath: string, path: string, body: unknown, call: Call): Promise<Socket> {
  const bytes = Buffer.from(body === undefined ? "" : JSON.stringify(body));
  const head = [
    `POST ${path} HTTP/1.1`,
    "Host: docker",
    "Connection: Upgrade",
    "Upgrade: tcp",
    "Content-Type: application/json",
    `Content-Length: ${bytes.length}`,
  ];
  return exchange(socketPath, Buffer.concat([Buffer.from(`${head.join("\r\n")}\r\n\r\n`), bytes]), call);
}

/** The bare bytes of an answer until its end: HTTP/1.0 knows no chunks. */
export function readBare(socketPath: string, path: string, call: Call): Promise<Socket> {
  return exchange(socketPath, Buffer.from(`GET ${path} HTTP/1.0\r\nHost: docker\r\n\r\n`), call);
}

async function exchange(socketPath: string, request: Buffer, call: Call): Promise<Socket> {
  call.signal.throwIfAborted();
  const socket = connect({ path: socketPath, allowHalfOpen: true });
  // Told where it is waited for; an error that nobody waits for any more must not end the process.
  socket.on("error", () => {});
  const onAbort = () => socket.destroy(call.signal.reason as Error);
  call.signal.addEventListener("abort", onAbort, { once: true });
  try {
    socket.write(request);
    const answer = await readHead(socket, call);
    const status = Number(/^HTTP\/1\.\d (\d{3})/.exec(answer)?.[1] ?? 500);
    if (status >= 400) throw faultOf(status, await readBody(socket, answer, call));
    return socket;
  } catch (error) {
    socket.destroy();
    call.signal.throwIfAborted();
    throw isFault(error) ? error : connectionFault(error as NodeJS.ErrnoException, socketPath);
  } finally {
    call.signal.removeEventListener("abort", onAbort);
  }
}

/**
 * Reads up to the empty line and puts back what follows it. Not every runtime tells a reader that the connection was destroyed, or that
 * it ended before it was read: whoever is told to stop is told here.
 */
function readHead(socket: Socket, call: Call): Promise<string> {
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  let seen = Buffer.alloc(0);
  const settle = (done: () => void) => {
    socket.off("readable", onReadable);
    socket.off("error", onError);
    socket.off("end", onEnd);
    socket.off("close", onEnd);
    call.signal.removeEventListener("abort", onAbort);
    done();
  };
  const onReadable = () => {
    for (let chunk = socket.read() as Buffer | null; chunk !== null; chunk = socket.read() as Buffer | null) {
      seen = Buffer.concat([seen, chunk]);
      const end = seen.indexOf("\r\n\r\n");
      if (end < 0 && seen.length < longestHead) continue;
      if (end < 0) return settle(() => reject(new Error("its answer has no end")));
      const rest = seen.subarray(end + 4);
      if (rest.length > 0) socket.unshift(rest);
      return settle(() => resolve(seen.toString("latin1", 0, end)));
    }
  };
  const onError = (error: Error) => settle(() => reject(error));
  const onEnd = () => settle(() => reject(new Error("it closed the connection")));
  const onAbort = () => settle(() => reject(call.signal.reason as Error));
  socket.on("readable", onReadable);
  socket.on("error", onError);
  socket.on("end", onEnd);
  socket.on("close", onEnd);
  call.signal.addEventListener("abort", onAbort, { once: true });
  return promise;
}

/** Of a refusal: as long as its head says. */
async function readBody(socket: Socket, head: string, call: Call): Promise<string> {
  const length = Number(/^content-length:\s*(\d+)/im.exec(head)?.[1] ?? 0);
  let text = "";
  socket.setEncoding("utf8");
  for await (const chunk of untilStopped(socket as AsyncIterable<string>, call)) {
    text += chunk;
    if (Buffer.byteLength(text) >= length) break;
  }
  return text;
}
