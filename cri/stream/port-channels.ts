// Port-forward over WebSocket channels, as client libraries before the tunnel speak it: two channels for each port of a
// list given beforehand, data on the even and errors on the odd one, each beginning with the port's number.

import { Duplex } from "node:stream";
import { WebSocket } from "ws";
import { toFault } from "../../plugins/kit/base/fault.ts";
import type { ForwardPort } from "./accept-port-forward.ts";
import type { CommandProtocol } from "./protocols.ts";
import { Presence, type Timing } from "./server-session.ts";
import { channelMessage, channelWritable, closeWebSocket, parseChannelMessage } from "./web-socket.ts";

export interface PortChannelOptions {
  readonly ports: readonly number[];
  readonly forward: ForwardPort;
  readonly timing: Timing;
}

/** Resolves when the client has left or every connection is over. */
export async function acceptPortChannels(
  socket: WebSocket,
  protocol: CommandProtocol,
  { ports, forward, timing }: PortChannelOptions,
): Promise<void> {
  const presence = new Presence(timing);
  const connections = ports.map((_port, index) => new ChannelConnection(socket, index * 2, protocol));
  socket.on("message", (message: Buffer) => {
    presence.touch();
    const parsed = parseChannelMessage(message, protocol);
    if (parsed && parsed.number % 2 === 0) connections[parsed.number / 2]?.receive(parsed.data);
  });
  socket.on("error", () => {});
  socket.once("close", () => {
    for (const connection of connections) connection.finish();
    presence.gone();
  });
  presence.call.signal.addEventListener("abort", () => closeWebSocket(socket), { once: true });
  const send = (number: number, data: Buffer) => socket.send(channelMessage(number, data, protocol), () => {});
  await Promise.all(
    ports.map(async (port, index) => {
      const head = Buffer.from([port & 255, port >> 8]);
      send(index * 2, head);
      send(index * 2 + 1, head);
      try {
        const connection = connections[index];
        if (connection) await forward(port, connection, presence.call);
      } catch (error) {
        send(index * 2 + 1, Buffer.from(`error forwarding port ${port}: ${toFault(error, "connection").message}`));
      }
    }),
  );
  presence.rest();
  closeWebSocket(socket);
}

/** One port's data channel. A reader that is behind holds the whole socket. */
class ChannelConnection extends Duplex {
  readonly #socket: WebSocket;
  readonly #output;

  constructor(socket: WebSocket, number: number, protocol: CommandProtocol) {
    super({ highWaterMark: 65_536, allowHalfOpen: true });
    this.#socket = socket;
    this.#output = channelWritable(socket, number, protocol);
    this.on("error", () => {});
  }

  receive(data: Buffer): void {
    if (this.destroyed || this.readableEnded) return;
    if (!this.push(data) && this.#socket.readyState === WebSocket.OPEN) this.#socket.pause();
  }

  finish(): void {
    if (!this.destroyed && !this.readableEnded) this.push(null);
  }

  override _read(): void {
    if (this.#socket.isPaused) this.#socket.resume();
  }

  override _write(chunk: Buffer, _encoding: string, done: () => void): void {
    this.#output.write(chunk, () => done());
  }

  override _destroy(error: Error | null, done: (error: Error | null) => void): void {
    if (this.#socket.isPaused) this.#socket.resume();
    done(error);
  }
}
