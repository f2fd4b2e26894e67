// A session with a terminal: what the client types and what the command says, byte for byte.

import type { Readable, Writable } from "node:stream";
import type { SessionStreams, TerminalSize } from "../../api/sessions.ts";
import type { Call } from "../../../plugins/kit/base/call.ts";
import type { Clock } from "../../../plugins/kit/base/clock.ts";
import { holdTerminal, type Terminal } from "../kernel/terminal.ts";
import type { StartedInTerminal } from "./terminal-start.ts";

export interface TerminalHost {
  readonly clock: Clock;
  start(): StartedInTerminal;
  /** Kills the command of this parent; returns what to call when the parent has ended. */
  kill(parentPid: number): () => void;
}

export async function terminalSession(
  host: TerminalHost,
  { stdin, stdout }: SessionStreams,
  sizes: AsyncIterable<TerminalSize>,
  call: Call,
): Promise<number> {
  call.signal.throwIfAborted();
  const started = host.start();
  let spare = () => {};
  let forget = () => {};
  let stopTyping = () => {};
  const stop = () => {
    spare = host.kill(started.pid);
    forget();
  };
  let hasEnded = false;
  void started.exit.then(() => (hasEnded = true));
  call.signal.addEventListener("abort", stop, { once: true });
  try {
    const terminal = await holdTerminal(await started.terminal, started.exit, host.clock);
    forget = show(terminal, stdout);
    if (call.signal.aborted) forget();
    stopTyping = stdin ? type(stdin, terminal) : stopTyping;
    void followSizes(sizes, (width, height) => terminal.resize({ width, height }));
    return await terminal.ended;
  } catch (error) {
    // Whatever of it began has nobody to talk to.
    if (!hasEnded && !call.signal.aborted) stop();
    await started.exit;
    throw error;
  } finally {
    call.signal.removeEventListener("abort", stop);
    spare();
    stopTyping();
    call.signal.throwIfAborted();
  }
}

/** Passes on what is said, no faster than it is taken. When nobody takes it any more, or when told, it is read and forgotten. */
function show(terminal: Terminal, to: Writable | undefined): () => void {
  let isHeard = true;
  const resume = () => terminal.resume();
  const forget = () => {
    isHeard = false;
    resume();
  };
  to?.once("close", forget);
  to?.once("error", forget);
  terminal.onData((chunk) => {
    if (!isHeard || !to || to.destroyed || to.write(chunk)) return;
    terminal.pause();
    to.once("drain", resume);
  });
  return forget;
}

/** Types what the client sends, no faster than the program takes it. */
function type(from: Readable, terminal: Terminal): () => void {
  const onInput = (chunk: Buffer) => {
    if (!terminal.write(chunk)) from.pause();
  };
  // Ending the input of a terminal is typing its end-of-file character.
  const onInputEnd = () => void terminal.write("\x04");
  from.on("data", onInput);
  from.once("end", onInputEnd);
  terminal.onDrain(() => from.resume());
  return () => {
    from.off("data", onInput);
    from.off("end", onInputEnd);
  };
}

export async function followSizes(
  sizes: SessionStreams["resizes"],
  resize: (columns: number, rows: number) => void,
): Promise<void> {
  if (!sizes) return;
  try {
    for await (const { width, height } of sizes) {
      if (width > 0 && height > 0) resize(width, height);
    }
  } catch {
    // The client is gone, or the terminal; either way the session ends by itself.
  }
}
