// A stream of bytes sent to a client over a WebSocket, such as a log that is read that way: `binary.k8s.io`, and its base64 form as text.

import { once } from "node:events";
import type { WebSocket } from "ws";
import { Fault } from "../../plugins/kit/base/fault.ts";
import type { Upgrade } from "../../plugins/kit/os/platform/http-server.ts";
import { namesIn } from "./protocols.ts";
import { acceptWebSocket, closeWebSocket } from "./web-socket.ts";

const known = ["binary.k8s.io", "base64.binary.k8s.io"];

/** Resolves when all is sent and the connection is closed, or the client has gone. Fault `forbidden` before anything was answered. */
export async function sendOverWebSocket(upgrade: Upgrade, bytes: AsyncIterable<Uint8Array>): Promise<void> {
  const offered = namesIn(upgrade.request.headers["sec-websocket-protocol"]);
  const protocol = offered.length === 0 ? "" : offered.find((name) => known.includes(name));
  if (protocol === undefined) {
    const message = `no WebSocket protocol in common: ${offered.join(", ")} offered, ${known.join(", ")} known`;
    throw new Fault("forbidden", message);
  }
  const socket = await acceptWebSocket(upgrade, protocol, (accepted) => accepted);
  const closed = once(socket, "close");
  // Nothing is expected from the client; what it sends is not kept. An error is followed by the close.
  socket.on("error", () => {});
  socket.resume();
  try {
    for await (const piece of bytes) await send(socket, protocol.startsWith("base64") ? base64(piece) : piece);
  } catch {
    // The client has gone, or the source broke: either way there is nothing more to send.
  }
  closeWebSocket(socket);
  await closed;
}

const base64 = (piece: Uint8Array) => Buffer.from(piece).toString("base64");

/** Waits until it is written, so that a slow client slows the source. */
function send(socket: WebSocket, message: Uint8Array | string): Promise<void> {
  return new Promise((resolve, reject) => socket.send(message, (error) => (error ? reject(error) : resolve())));
}
