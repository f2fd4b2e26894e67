// The near side of a pseudo-terminal. The stream is read here, to its very end, because node-pty's own reader closes a terminal 200 ms
// after the program ended, whatever is still in it: words were lost when this process was held up, or when whoever listens was slow.

import { ReadStream } from "node:tty";
import type { TerminalSize } from "../../api/sessions.ts";
import type { Clock } from "../../../plugins/kit/clock.ts";

/** What a program left behind may hold the terminal open, in silence, after the end of the first one. */
export const silenceMs = 5000;

export interface Terminal {
  /** What the program says, and what it is told. Closed when all was said. */
  readonly stream: ReadStream;
  /** Nothing happens after the end. */
  resize(size: TerminalSize): void;
  /** Resolves when the program has ended and its last word was passed on: 128 + signal where a signal ended it. */
  readonly ended: Promise<number>;
}

interface PtyBinding {
  resize(fd: number, columns: number, rows: number): void;
}

/** Loaded on first use: few boxes ever open a terminal. */
async function binding(): Promise<PtyBinding> {
  // @ts-expect-error The package declares no types for its parts.
  const { requireBinary } = (await import("node-pty/requireBinary.js")) as { requireBinary(file: string): PtyBinding };
  return requireBinary("pty.node");
}

/** Takes over the descriptor; `exit` is how the program at the far side ends. */
export async function holdTerminal(fd: number, exit: Promise<number>, clock: Clock): Promise<Terminal> {
  const pty = await binding();
  const stream = new ReadStream(fd);
  const closed = new Promise<void>((resolve) => stream.once("close", () => resolve()));
  // The end of a terminal is an input error.
  stream.on("error", () => {});
  return {
    stream,
    resize: ({ width, height }) => {
      if (!stream.destroyed) pty.resize(fd, width, height);
    },
    ended: exit.then(async (code) => {
      const stopWatch = closeWhenSilent(stream, clock);
      await closed;
      stopWatch();
      return code;
    }),
  };
}

/** A listener that pauses the stream is slow; that is no silence. */
function closeWhenSilent(stream: ReadStream, clock: Clock): () => void {
  let cancel = () => {};
  const again = () => {
    cancel();
    cancel = clock.after(silenceMs, () => {
      if (stream.isPaused()) again();
      else stream.destroy();
    });
  };
  stream.on("data", again);
  again();
  return () => cancel();
}
