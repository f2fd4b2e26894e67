// A program in a pseudo-terminal. node-pty's binding makes both; the stream is read here, to its very end, because the package's own
// reader closes the terminal 200 ms after the program ended, whatever is still in it: words were lost when this process was held up,
// or when whoever listens was slow.

import { ReadStream } from "node:tty";
import type { TerminalSize } from "../../api/sessions.ts";
import type { Clock } from "../../../plugins/kit/clock.ts";
import { bind } from "./libc.ts";

/** What a program left behind may hold the terminal open, in silence, after the end of the first one. */
export const silenceMs = 5000;

export interface TerminalRequest {
  readonly path: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly size: TerminalSize;
  /** What is typed passes as it is, with no echo: for a program that keeps a terminal behind this one, and asks for this a moment too late. */
  readonly isRaw?: boolean;
}

export interface Terminal {
  readonly pid: number;
  /** What the program says, and what it is told. Closed when all was said. */
  readonly stream: ReadStream;
  /** Nothing happens after the end. */
  resize(size: TerminalSize): void;
  /** Resolves when the program has ended and its last word was passed on: 128 + signal where a signal ended it. */
  readonly ended: Promise<number>;
}

interface PtyBinding {
  fork(
    ...parts: [
      path: string,
      args: readonly string[],
      env: readonly string[],
      cwd: string,
      columns: number,
      rows: number,
      uid: number,
      gid: number,
      isText: boolean,
      helper: string,
      onExit: (code: number, signal: number) => void,
    ]
  ): { fd: number; pid: number };
  resize(fd: number, columns: number, rows: number): void;
}

/** Loaded on first use: few boxes ever open a terminal. */
async function binding(): Promise<PtyBinding> {
  // @ts-expect-error The package declares no types for its parts.
  const { requireBinary } = (await import("node-pty/requireBinary.js")) as { requireBinary(file: string): PtyBinding };
  return requireBinary("pty.node");
}

export async function openTerminal({ path, args, env, size, isRaw }: TerminalRequest, clock: Clock): Promise<Terminal> {
  const pty = await binding();
  const exit = Promise.withResolvers<number>();
  const words = Object.entries({ TERM: "xterm", ...env }).map(([name, value]) => `${name}=${value}`);
  const { fd, pid } = pty.fork(path, args, words, "/", size.width, size.height, -1, -1, false, "", (code, signal) =>
    exit.resolve(signal ? 128 + signal : code),
  );
  if (isRaw) makeRaw(fd);
  const stream = new ReadStream(fd);
  const closed = new Promise<void>((resolve) => stream.once("close", () => resolve()));
  // The end of a terminal is an input error.
  stream.on("error", () => {});
  return {
    pid,
    stream,
    resize: ({ width, height }) => {
      if (!stream.destroyed) pty.resize(fd, width, height);
    },
    ended: exit.promise.then(async (code) => {
      const stopWatch = closeWhenSilent(stream, clock);
      await closed;
      stopWatch();
      return code;
    }),
  };
}

function makeRaw(fd: number): void {
  const settings = Buffer.alloc(128);
  bind("int tcgetattr(int fd, void *settings)")(fd, settings);
  bind("void cfmakeraw(void *settings)")(settings);
  // What is said keeps its line ends: OPOST in c_oflag.
  settings.writeUInt32LE(settings.readUInt32LE(4) | 1, 4);
  bind("int tcsetattr(int fd, int when, const void *settings)")(fd, 0, settings);
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
