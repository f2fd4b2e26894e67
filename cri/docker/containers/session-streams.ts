// Joins a session's streams with a hijacked connection: input and its end one way, both outputs the other, with back-pressure.

import type { Socket } from "node:net";
import { once } from "node:events";
import type { Writable } from "node:stream";
import type { SessionStreams, TerminalSize } from "../../api/sessions.ts";
import type { Call } from "../../../plugins/kit/base/call.ts";
import { FrameSplitter } from "../engine/frames.ts";

/** Resolves when the daemon has ended the connection and all output was taken. Rejects when the call is stopped. */
export async function joinStreams(socket: Socket, streams: SessionStreams, tty: boolean, call: Call): Promise<void> {
  const onAbort = () => socket.destroy();
  call.signal.addEventListener("abort", onAbort, { once: true });
  const letGo = feed(socket, streams);
  const splitter = new FrameSplitter();
  try {
    for await (const chunk of socket as AsyncIterable<Buffer>) {
      if (tty) await write(streams.stdout, chunk);
      else for (const { stream, bytes } of splitter.read(chunk)) await write(streams[stream], bytes);
    }
  } catch (error) {
    call.signal.throwIfAborted();
    const { code } = error as NodeJS.ErrnoException;
    if (code !== "ECONNRESET" && code !== "EPIPE" && code !== "ERR_STREAM_PREMATURE_CLOSE") throw error;
  } finally {
    call.signal.removeEventListener("abort", onAbort);
    letGo();
    socket.destroy();
  }
  call.signal.throwIfAborted();
}

function feed(socket: Socket, { stdin }: SessionStreams): () => void {
  // The other side may close early; that is its right.
  socket.on("error", () => {});
  if (!stdin) return () => {};
  stdin.pipe(socket);
  return () => void stdin.unpipe(socket);
}

/** A reader that is gone is read for all the same, so that the process is not held. */
async function write(to: Writable | undefined, bytes: Buffer): Promise<void> {
  if (!to || to.destroyed || to.writableEnded || to.write(bytes)) return;
  const settled = new AbortController();
  try {
    await Promise.race(["drain", "close", "error"].map((event) => once(to, event, { signal: settled.signal })));
  } catch {
    // Closed with an error: the reader's own affair.
  } finally {
    settled.abort();
  }
}

/** Tells each size until the session is over. */
export async function followSizes(
  sizes: AsyncIterable<TerminalSize> | undefined,
  resize: (size: TerminalSize) => Promise<void>,
): Promise<void> {
  if (!sizes) return;
  try {
    for await (const size of sizes) if (size.width > 0 && size.height > 0) await resize(size);
  } catch {
    // The client is gone, or the terminal; either way the session ends by itself.
  }
}
