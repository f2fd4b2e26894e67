// Port-forward, the client's side: any number of connections over one SPDY connection, plain or tunnelled.

import type { Duplex } from "node:stream";
import type { Call } from "../../plugins/kit/base/call.ts";
import { Fault, toFault } from "../../plugins/kit/base/fault.ts";
import { joinStreams } from "../../plugins/kit/base/join-streams.ts";
import type { StreamTarget } from "./connect-upgrade.ts";
import { connectSpdy } from "./dial-spdy.ts";
import { connectWebSocket } from "./dial-web-socket.ts";
import { portForwardProtocol, portForwardTunnelProtocol } from "./protocols.ts";
import { collectText } from "./pumps.ts";
import { SpdySession } from "./spdy/session.ts";
import { SocketDuplex } from "./web-socket.ts";

export interface PortForwarder {
  /** Holds one connection to a port; resolves when both directions are over, rejects with the far side's reason. */
  forward(port: number, connection: Duplex, call: Call): Promise<void>;
  /** Ends every connection. May be called twice. */
  close(): void;
  /** Resolves when the server is gone or `close` was called. */
  readonly closed: Promise<unknown>;
}

export async function dialPortForward(
  { over = "spdy", ...target }: StreamTarget & { readonly over?: "spdy" | "websocket" },
  call: Call,
): Promise<PortForwarder> {
  const session =
    over === "spdy" ? (await connectSpdy(target, [portForwardProtocol], call)).session : await tunnel(target, call);
  let requests = 0;
  return {
    closed: session.closed,
    forward: (port, connection, each) => forwardOne(session, { port, requestId: requests++ }, connection, each),
    close() {
      session.end();
      session.destroy();
    },
  };
}

async function tunnel(target: StreamTarget, call: Call): Promise<SpdySession> {
  const { socket, protocol } = await connectWebSocket(target, [portForwardTunnelProtocol], call);
  if (protocol !== portForwardTunnelProtocol) {
    socket.terminate();
    throw new Fault("unsupported", `the server knows no ${portForwardTunnelProtocol}`);
  }
  const transport = new SocketDuplex(socket);
  socket.resume();
  return new SpdySession(transport, { role: "client" });
}

async function forwardOne(
  session: SpdySession,
  { port, requestId }: { port: number; requestId: number },
  connection: Duplex,
  call: Call,
): Promise<void> {
  if (call.signal.aborted) throw toFault(call.signal.reason, `Cannot forward port ${port}`);
  const headers = { port: String(port), requestid: String(requestId) };
  const [error, data] = await Promise.all([
    session.open({ streamtype: "error", ...headers }),
    session.open({ streamtype: "data", ...headers }),
  ]);
  error.end();
  const cut = () => {
    data.destroy();
    connection.destroy();
  };
  call.signal.addEventListener("abort", cut, { once: true });
  try {
    const failure = collectText(error);
    const joined = joinStreams(connection, data);
    // A failure is told on its own stream while the connection still hangs.
    const text = await Promise.race([failure, joined.then(() => "")]);
    if (text) cut();
    await joined;
    const reason = text || (await Promise.race([failure, session.closed.then(() => "")]));
    if (reason) throw new Fault("unavailable", reason);
    if (call.signal.aborted) throw toFault(call.signal.reason, `port ${port} is no longer forwarded`);
  } finally {
    call.signal.removeEventListener("abort", cut);
    error.destroy();
  }
}
