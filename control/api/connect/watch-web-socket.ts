// A watch over a WebSocket, as pages in browsers ask for it: one message of text for each event.

import type { WebSocket } from "ws";
import { namesIn } from "../../../cri/stream/protocols.ts";
import { acceptWebSocket, closeWebSocket } from "../../../cri/stream/web-socket.ts";
import type { Upgrade } from "../../../plugins/kit/os/platform/http-server.ts";
import type { Sink } from "../../../plugins/kit/base/sink-response.ts";
import type { Answer } from "../../machinery/answer.ts";
import { badRequest } from "../../machinery/status.ts";
import { tokenProtocol } from "./pass-headers.ts";

/** Sends what the answer pushes until it ends or the client goes. Fault `invalid` where the client leaves a choice of protocols. */
export async function watchOverWebSocket(upgrade: Upgrade, body: Answer["body"]): Promise<void> {
  const offered = namesIn(upgrade.request.headers["sec-websocket-protocol"]);
  const [protocol = "", ...others] = offered.filter((name) => !name.startsWith(tokenProtocol));
  if (others.length > 0) throw badRequest("a watch knows no WebSocket protocols: offer one at most");
  await acceptWebSocket(upgrade, protocol, (socket) => {
    // Nothing is expected from the client; what it sends is not kept. An error is followed by the close.
    socket.on("error", () => {});
    socket.on("message", () => {});
    if (typeof body === "function") body(sinkOf(socket));
    else closeWebSocket(socket);
  });
}

function sinkOf(socket: WebSocket): Sink {
  let isDrained = Promise.withResolvers<void>();
  const wake = () => {
    isDrained.resolve();
    isDrained = Promise.withResolvers();
  };
  socket.once("close", wake);
  return {
    // An error is followed by the close.
    write: (chunk) => socket.send(chunk, { binary: false }, () => socket.bufferedAmount === 0 && wake()),
    drained: async () => {
      if (socket.bufferedAmount > 0 && socket.readyState === socket.OPEN) await isDrained.promise;
    },
    end: () => closeWebSocket(socket),
    get buffered() {
      return socket.bufferedAmount;
    },
    onClose: (then) => void socket.once("close", then),
  };
}
