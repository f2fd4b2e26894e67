// The near side of a pseudo-terminal that somebody else has made: a terminal of node-pty's that adopts the descriptor, as its own `open()`
// does. It reads, pauses and resizes. Two things are done here: when it ends, because node-pty gives a terminal that it forked up 200 ms
// after the program's end, whatever is still in it (words were lost when this process was held up, or when whoever listens was slow); and
// writing (`terminal-input.ts`), because node-pty's waits for the program.

import { ReadStream } from "node:tty";
import type { TerminalSize } from "../../api/sessions.ts";
import type { Clock } from "../../../plugins/kit/base/clock.ts";
import { TerminalInput } from "./terminal-input.ts";

/** What a program left behind may hold the terminal open, in silence, after the end of the first one. */
export const silenceMs = 5000;

export interface Terminal {
  /** What the program says, as it says it. */
  onData(listener: (chunk: Buffer) => void): void;
  /** Never waits. False when the program has not taken it all yet; then more had better wait for `onDrain`. */
  write(data: Buffer | string): boolean;
  onDrain(listener: () => void): void;
  pause(): void;
  resume(): void;
  /** Nothing happens after the end. */
  resize(size: TerminalSize): void;
  /** Resolves when the program has ended and its last word was passed on: 128 + signal where a signal ended it. */
  readonly ended: Promise<number>;
}

/** What is used of node-pty's terminals. The two fields are all that their methods need of a terminal that was not forked. */
interface PtyTerminal {
  _socket: ReadStream;
  _fd: number;
  on(event: "data", listener: (chunk: Buffer) => void): void;
  pause(): void;
  resume(): void;
  resize(columns: number, rows: number): void;
}

/** Loaded on first use: few boxes ever open a terminal. */
async function adopt(socket: ReadStream, fd: number): Promise<PtyTerminal> {
  // @ts-expect-error The package declares no types for its parts.
  const { UnixTerminal } = (await import("node-pty/unixTerminal.js")) as { UnixTerminal: { prototype: PtyTerminal } };
  return Object.assign(Object.create(UnixTerminal.prototype) as PtyTerminal, { _socket: socket, _fd: fd });
}

/** Takes over the descriptor; `exit` is how the program at the far side ends. */
export async function holdTerminal(fd: number, exit: Promise<number>, clock: Clock): Promise<Terminal> {
  const stream = new ReadStream(fd);
  const closed = new Promise<void>((resolve) => stream.once("close", () => resolve()));
  // The end of a terminal is an input error.
  stream.on("error", () => {});
  let onDrain = () => {};
  const input = new TerminalInput({ fd, isOpen: () => !stream.destroyed, clock, onDrain: () => onDrain() });
  const pty = await adopt(stream, fd).catch((error) => {
    stream.destroy();
    throw error;
  });
  return {
    onData: (listener) => pty.on("data", listener),
    write: (data) => input.write(Buffer.from(data)),
    onDrain: (listener) => void (onDrain = listener),
    pause: () => pty.pause(),
    resume: () => pty.resume(),
    resize({ width, height }) {
      if (!stream.destroyed) pty.resize(width, height);
    },
    ended: exit.then(async (code) => {
      const stopWatch = closeWhenSilent(stream, clock);
      await closed;
      stopWatch();
      input.close();
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
