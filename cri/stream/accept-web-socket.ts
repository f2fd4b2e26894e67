// Exec and attach over WebSocket channels, our side: v5 and v4, their base64 forms, and the two before them.

import type { Writable } from "node:stream";
import { WebSocket } from "ws";
import type { Upgrade } from "../../plugins/kit/os/platform/http-server.ts";
import { Fault } from "../../plugins/kit/base/fault.ts";
import { type Outcome, outcomeText } from "./outcome.ts";
import { type CommandProtocol, channel, namesIn, negotiate, webSocketProtocols } from "./protocols.ts";
import { refuse } from "./refuse.ts";
import { lingerMs, Presence, type ServerSession, type Timing, type Wanted } from "./server-session.ts";
import { SizeFeed } from "./sizes.ts";
import {
  acceptWebSocket,
  channelMessage,
  channelWritable,
  closeWebSocket,
  parseChannelMessage,
  SocketReadable,
} from "./web-socket.ts";

export async function acceptOverWebSocket(upgrade: Upgrade, wanted: Wanted, timing: Timing): Promise<ServerSession> {
  const offered = namesIn(upgrade.request.headers["sec-websocket-protocol"]);
  const protocol = negotiate(offered, webSocketProtocols, "");
  if (!protocol) {
    const known = webSocketProtocols.flatMap(({ name }) => (name ? [name] : []));
    const message = `no WebSocket protocol in common: ${offered.join(", ")} offered, ${known.join(", ")} known`;
    refuse(upgrade, 403, message);
    throw new Fault("forbidden", message);
  }
  return acceptWebSocket(upgrade, protocol.name, (socket) => new WebSocketSession(socket, protocol, wanted, timing));
}

/** How often a client whose input nobody takes is asked for; what it sends is not read meanwhile, nor that it has gone. */
const askMs = 10_000;

class WebSocketSession implements ServerSession {
  readonly #socket: WebSocket;
  readonly #protocol: CommandProtocol;
  readonly #presence: Presence;
  readonly #timing: Timing;
  readonly #sizes = new SizeFeed();
  readonly streams: ServerSession["streams"] & { stdin?: SocketReadable };
  #finished: Promise<void> | undefined;
  #stopAsking = () => {};

  constructor(socket: WebSocket, protocol: CommandProtocol, wanted: Wanted, timing: Timing) {
    this.#socket = socket;
    this.#protocol = protocol;
    this.#timing = timing;
    this.#presence = new Presence(timing);
    const output = (number: number) => channelWritable(socket, number, protocol);
    this.streams = {
      ...(wanted.stdin ? { stdin: new SocketReadable(socket) } : {}),
      ...(wanted.stdout ? { stdout: output(channel.stdout) } : {}),
      ...(wanted.stderr && !wanted.tty ? { stderr: output(channel.stderr) } : {}),
      ...(wanted.tty ? { resizes: this.#sizes } : {}),
    };
    socket.on("message", (message: Buffer) => this.#received(message));
    socket.on("close", () => this.#closed());
    socket.on("error", () => this.#closed());
    this.#askWhilePaused();
    // Clients take the first message, though empty, as the sign that the session stands.
    const first = wanted.stdout ? channel.stdout : wanted.stderr ? channel.stderr : channel.error;
    socket.send(channelMessage(first, Buffer.alloc(0), protocol));
  }

  get call() {
    return this.#presence.call;
  }

  finish(outcome: Outcome): Promise<void> {
    this.#finished ??= this.#finish(outcome);
    return this.#finished;
  }

  async #finish(outcome: Outcome): Promise<void> {
    const { stdout, stderr, stdin } = this.streams;
    await Promise.all([stdout, stderr].map((stream) => drained(stream)));
    const text = outcomeText(outcome, this.#protocol);
    if (text) await new Promise<void>((resolve) => this.#send(text, () => resolve()));
    this.#presence.rest();
    this.#stopAsking();
    stdin?.destroy();
    if (this.#socket.readyState === WebSocket.CLOSED) return;
    const cancel = this.#timing.clock.after(lingerMs, () => this.#socket.terminate());
    this.#socket.once("close", cancel);
    closeWebSocket(this.#socket);
  }

  #send(text: string, sent: () => void): void {
    this.#socket.send(channelMessage(channel.error, Buffer.from(text), this.#protocol), sent);
  }

  #received(message: Buffer): void {
    const parsed = parseChannelMessage(message, this.#protocol);
    if (!parsed) return;
    this.#presence.touch();
    const { number, data } = parsed;
    if (number === channel.stdin) this.streams.stdin?.receive(data);
    if (number === channel.resize) this.#sizes.write(data);
    if (number === channel.close && this.#protocol.hasClose && data[0] === channel.stdin) this.streams.stdin?.finish();
  }

  /** A ping to a client that is gone breaks the connection, which is told without reading. */
  #askWhilePaused(): void {
    this.#stopAsking = this.#timing.clock.after(askMs, () => {
      if (this.#socket.isPaused) this.#socket.ping(() => {});
      this.#askWhilePaused();
    });
  }

  #closed(): void {
    this.#stopAsking();
    this.streams.stdin?.finish();
    this.#sizes.end();
    if (!this.#finished) this.#presence.gone();
  }
}

/** Ends a writable and waits until all of it is on its way. */
function drained(stream: Writable | undefined): Promise<void> {
  return new Promise((resolve) => {
    if (!stream || stream.destroyed || stream.writableFinished) return resolve();
    stream.once("error", () => resolve());
    stream.end(() => resolve());
  });
}
