// A session with a terminal: a pseudo-terminal whose other side is the OCI runtime's `exec --tty`.

import { rmSync } from "node:fs";
import type { Readable, Writable } from "node:stream";
import type { Sizes } from "../../api/first-size.ts";
import type { SessionStreams } from "../../api/sessions.ts";
import type { Call } from "../../../plugins/kit/call.ts";
import type { Clock } from "../../../plugins/kit/clock.ts";
import { openTerminal, type Terminal } from "../kernel/terminal.ts";
import type { ExecCommand } from "./container-exec.ts";

export interface TerminalHost {
  readonly clock: Clock;
  /** Kills the command below this OCI runtime; returns what to call when the runtime has ended. */
  kill(runtimePid: number): () => void;
}

export async function terminalSession(
  command: ExecCommand,
  { stdin, stdout }: SessionStreams,
  { first, later }: Sizes,
  { clock, kill }: TerminalHost,
  call: Call,
): Promise<number> {
  call.signal.throwIfAborted();
  const size = first ?? { width: 80, height: 24 };
  const terminal = await openTerminal({ ...command, size, isRaw: true }, clock);
  const forget = show(terminal, stdout);
  let spare = () => {};
  const onAbort = () => {
    spare = kill(terminal.pid);
    forget();
  };
  call.signal.addEventListener("abort", onAbort, { once: true });
  if (call.signal.aborted) onAbort();
  const stopTyping = stdin ? type(stdin, terminal) : () => {};
  void followSizes(later, (width, height) => terminal.resize({ width, height }));
  try {
    return await terminal.ended;
  } finally {
    call.signal.removeEventListener("abort", onAbort);
    spare();
    stopTyping();
    for (const file of command.files) rmSync(file, { force: true });
    call.signal.throwIfAborted();
  }
}

/** Passes on what is said, no faster than it is taken. When nobody takes it any more, or when told, it is read and forgotten. */
function show({ stream }: Terminal, to: Writable | undefined): () => void {
  let isHeard = true;
  const resume = () => void stream.resume();
  const forget = () => {
    isHeard = false;
    resume();
  };
  to?.once("close", forget);
  to?.once("error", forget);
  stream.on("data", (chunk: Buffer) => {
    if (!isHeard || !to || to.destroyed || to.write(chunk)) return;
    stream.pause();
    to.once("drain", resume);
  });
  return forget;
}

function type(from: Readable, { stream }: Terminal): () => void {
  const onInput = (chunk: Buffer) => void stream.write(chunk);
  // Ending the input of a terminal is typing its end-of-file character.
  const onInputEnd = () => void stream.write("\x04");
  from.on("data", onInput);
  from.once("end", onInputEnd);
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
