// Exec and attach over SPDY/3.1, our side: what kube-apiserver speaks to kubelets, and older clients to everyone.

import type { Duplex, Readable, Writable } from "node:stream";
import type { Upgrade } from "../../plugins/kit/os/platform/http-server.ts";
import { Fault } from "../../plugins/kit/base/fault.ts";
import { type Outcome, outcomeText } from "./outcome.ts";
import { type ChannelName, type CommandProtocol, namesIn, negotiate, spdyProtocols } from "./protocols.ts";
import { refuse } from "./refuse.ts";
import { lingerMs, Presence, type ServerSession, type Timing, type Wanted } from "./server-session.ts";
import { SizeFeed } from "./sizes.ts";
import { SpdySession } from "./spdy/session.ts";
import type { SpdyStream } from "./spdy/stream.ts";

export async function acceptOverSpdy(upgrade: Upgrade, wanted: Wanted, timing: Timing): Promise<ServerSession> {
  const protocol = switchToSpdy(upgrade, spdyProtocols, "channel.k8s.io");
  const presence = new Presence(timing);
  const expected: ChannelName[] = ["error"];
  if (wanted.stdin) expected.push("stdin");
  if (wanted.stdout) expected.push("stdout");
  if (wanted.stderr && !wanted.tty) expected.push("stderr");
  if (wanted.tty && protocol.hasResize) expected.push("resize");
  const { session, streams } = await openedByClient(upgrade.socket, expected, presence, timing);
  return new SpdyCommandSession({ session, streams, protocol, presence, timing });
}

/** Answers the upgrade; throws a Fault after having refused it. */
export function switchToSpdy<T extends { readonly name: string }>(
  { request, socket, head }: Upgrade,
  known: readonly T[],
  fallback: string,
): T {
  const header = "x-stream-protocol-version";
  const protocol = negotiate(namesIn(request.headers[header]), known, fallback);
  if (!protocol) {
    const names = known.map(({ name }) => name).join(", ");
    const message = `no stream protocol in common: ${names} are known`;
    refuse({ socket }, 403, message, { "x-accept-stream-protocol-versions": names });
    throw new Fault("forbidden", message);
  }
  const lines = ["HTTP/1.1 101 Switching Protocols", "connection: Upgrade", "upgrade: SPDY/3.1"];
  socket.write([...lines, `${header}: ${protocol.name}`, "", ""].join("\r\n"));
  if (head.length > 0) socket.unshift(head);
  return protocol;
}

type Streams = Partial<Record<ChannelName, SpdyStream>>;

/** Waits until the client has opened every expected stream; others are reset. */
function openedByClient(
  transport: Duplex,
  expected: readonly ChannelName[],
  presence: Presence,
  { clock, openTimeoutMs }: Timing,
): Promise<{ session: SpdySession; streams: Streams }> {
  return new Promise((resolve, reject) => {
    const streams: Streams = {};
    const fail = (fault: Fault) => {
      cancel();
      session.destroy();
      presence.rest();
      reject(fault);
    };
    const cancel = clock.after(openTimeoutMs, () => fail(new Fault("timeout", "the client did not open its streams")));
    const session = new SpdySession(transport, {
      role: "server",
      onActivity: () => presence.touch(),
      onStream(stream) {
        const name = expected.find((type) => type === stream.headers.streamtype);
        if (!name || streams[name]) return void stream.destroy();
        streams[name] = stream;
        if (!expected.every((type) => streams[type])) return;
        cancel();
        resolve({ session, streams });
      },
    });
    void session.closed.then((fault) => fail(fault ?? new Fault("unavailable", "the client went away")));
  });
}

interface Parts {
  readonly session: SpdySession;
  readonly streams: Streams;
  readonly protocol: CommandProtocol;
  readonly presence: Presence;
  readonly timing: Timing;
}

class SpdyCommandSession implements ServerSession {
  readonly #parts: Parts;
  readonly streams: { stdin?: Readable; stdout?: Writable; stderr?: Writable; resizes?: SizeFeed };
  #finished: Promise<void> | undefined;

  constructor(parts: Parts) {
    this.#parts = parts;
    const { stdin, stdout, stderr, resize, error } = parts.streams;
    const sizes = new SizeFeed();
    resize?.on("data", (data: Buffer) => sizes.write(data));
    resize?.on("end", () => sizes.end());
    // The client half-closes what it only reads; that must be read to be seen.
    for (const stream of [stdout, stderr, error]) stream?.resume();
    this.streams = {
      ...(stdin ? { stdin } : {}),
      ...(stdout ? { stdout } : {}),
      ...(stderr ? { stderr } : {}),
      ...(resize ? { resizes: sizes } : {}),
    };
    void parts.session.closed.then(() => this.#finished ?? parts.presence.gone());
  }

  get call() {
    return this.#parts.presence.call;
  }

  finish(outcome: Outcome): Promise<void> {
    this.#finished ??= this.#finish(outcome);
    return this.#finished;
  }

  async #finish(outcome: Outcome): Promise<void> {
    const { session, streams, protocol, presence, timing } = this.#parts;
    // Clients stop reading at the goodbye: all output must be on its way before.
    await Promise.all([streams.stdout, streams.stderr].map((stream) => ended(stream)));
    await ended(streams.error, outcomeText(outcome, protocol));
    presence.rest();
    const cancel = timing.clock.after(lingerMs, () => session.destroy());
    void session.closed.then(cancel);
    session.end();
  }
}

function ended(stream: Writable | undefined, text = ""): Promise<void> {
  return new Promise((resolve) => {
    if (!stream || stream.destroyed || stream.writableFinished) return resolve();
    stream.once("close", () => resolve());
    stream.end(text, () => resolve());
  });
}
