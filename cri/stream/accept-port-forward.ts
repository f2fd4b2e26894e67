// Port-forward, our side: SPDY, SPDY tunnelled in a WebSocket (kubectl's choice), and the older WebSocket channels
// with a fixed list of ports. Every forwarded connection becomes one Duplex.

import type { Duplex } from "node:stream";
import type { Call } from "../../plugins/kit/base/call.ts";
import { Fault, toFault } from "../../plugins/kit/base/fault.ts";
import type { Upgrade } from "../../plugins/kit/os/platform/http-server.ts";
import { refuseUnknown, upgradeOf } from "./accept.ts";
import { switchToSpdy } from "./accept-spdy.ts";
import { acceptPortChannels } from "./port-channels.ts";
import { namesIn, negotiate, portForwardProtocol, portForwardTunnelProtocol, webSocketProtocols } from "./protocols.ts";
import { refuse } from "./refuse.ts";
import { type AcceptOptions, Presence, type Timing, timingOf } from "./server-session.ts";
import { SpdySession } from "./spdy/session.ts";
import type { SpdyStream } from "./spdy/stream.ts";
import { acceptWebSocket, SocketDuplex } from "./web-socket.ts";

/** Holds one connection to a port; resolves when it is over, rejects with why it could not be. */
export type ForwardPort = (port: number, connection: Duplex, call: Call) => Promise<void>;

export interface PortForwardOptions extends AcceptOptions {
  /** Only the older WebSocket channels need to know them beforehand. */
  readonly ports?: readonly number[];
}

/** Serves a client's port-forward until it leaves. Never rejects: what fails is told to the client. */
export async function servePortForward(
  upgrade: Upgrade,
  forward: ForwardPort,
  options: PortForwardOptions = {},
): Promise<void> {
  const timing = timingOf(options);
  try {
    const to = upgradeOf(upgrade);
    if (to === "spdy/3.1") {
      switchToSpdy(upgrade, [{ name: portForwardProtocol }], portForwardProtocol);
      return await serveOverSpdy(upgrade.socket, forward, timing);
    }
    if (to !== "websocket") throw refuseUnknown(upgrade);
    const offered = namesIn(upgrade.request.headers["sec-websocket-protocol"]);
    const known = [{ name: portForwardTunnelProtocol, isTunnel: true }, ...webSocketProtocols.filter(isChannels)];
    const protocol = negotiate(offered, known, "");
    if (!protocol) {
      refuse(upgrade, 403, `no port-forward protocol in common: ${offered.join(", ")} offered`);
      return;
    }
    await acceptWebSocket(upgrade, protocol.name, (socket) =>
      "isTunnel" in protocol
        ? serveOverSpdy(new SocketDuplex(socket), forward, timing)
        : acceptPortChannels(socket, protocol, { ports: options.ports ?? [], forward, timing }),
    );
  } catch {
    // The client was refused and told so.
  }
}

const isChannels = ({ name }: { name: string }) => ["", "v4.channel.k8s.io", "v4.base64.channel.k8s.io"].includes(name);

interface Pair {
  error?: SpdyStream;
  data?: SpdyStream;
}

async function serveOverSpdy(transport: Duplex, forward: ForwardPort, timing: Timing): Promise<void> {
  const presence = new Presence(timing);
  const pairs = new Map<string, Pair>();
  const session = new SpdySession(transport, {
    role: "server",
    onActivity: () => presence.touch(),
    onStream(stream) {
      const { streamtype, requestid, port } = stream.headers;
      if (streamtype !== "error" && streamtype !== "data") return void stream.destroy();
      // Clients without request ids open the data stream right after its error stream.
      const key = requestid ?? String(streamtype === "error" ? stream.id : stream.id - 2);
      const pair = pairs.get(key) ?? newPair(key);
      if (pair[streamtype]) return void stream.destroy();
      pair[streamtype] = stream;
      const { error, data } = pair;
      if (!error || !data) return;
      pairs.delete(key);
      void forwardPair(Number(port), { error, data }, forward, presence.call);
    },
  });
  const newPair = (key: string): Pair => {
    const pair: Pair = {};
    pairs.set(key, pair);
    const cancel = timing.clock.after(timing.openTimeoutMs, () => {
      if (pairs.get(key) !== pair) return;
      pairs.delete(key);
      pair.error?.destroy();
      pair.data?.destroy();
    });
    void session.closed.then(cancel);
    return pair;
  };
  presence.call.signal.addEventListener("abort", () => session.destroy(), { once: true });
  await session.closed;
  presence.gone();
}

async function forwardPair(
  port: number,
  { error, data }: Required<Pair>,
  forward: ForwardPort,
  call: Call,
): Promise<void> {
  error.resume();
  try {
    if (!(port > 0 && port < 65_536)) throw new Fault("invalid", `"${port}" is not a port`);
    await forward(port, data, call);
    error.end();
  } catch (cause) {
    error.end(`error forwarding port ${port}: ${toFault(cause, "connection").message}`);
  }
  if (!data.writableEnded) data.end();
  // What the client still sends has nowhere to go.
  data.resume();
}
