// Starts a command in a terminal that the OCI runtime makes inside the container and hands to us, so that nothing stands between the
// two sides: no second terminal that changes line ends or a program's raw bytes, and no runtime that stays to copy them. Our reaper
// is the command's parent in the runtime's stead.

import type { Socket } from "node:net";
import { ConsoleSocket } from "../kernel/console-socket.ts";
import { installedProgram } from "../kernel/installed-program.ts";
import { reaperProgram } from "../kernel/reaper-program.ts";
import { exitCodeOf, gather, reaped, spawn } from "../kernel/spawn.ts";
import type { Native } from "../native.ts";
import { execFailure, pidOf, type TerminalCommand } from "./exec-command.ts";

export interface StartedInTerminal {
  /** The command's parent. */
  readonly pid: number;
  /** The terminal's near side, for the caller to close. Rejects where the command could not be started. */
  readonly terminal: Promise<number>;
  /** How the command ended; never rejects. */
  readonly exit: Promise<number>;
}

const maxComplaintBytes = 64 * 1024;

export function startInTerminal(native: Native, command: TerminalCommand): StartedInTerminal {
  const reaper = installedProgram(native.paths.root, "reap", reaperProgram, "open a terminal");
  const console = new ConsoleSocket(command.consoleSocket);
  const ends = native.spawner.channel();
  const errors = native.spawner.channel();
  let pid: number;
  try {
    const fds = new Map([
      [1, ends.childFd],
      [2, errors.childFd],
    ]);
    pid = spawn({ path: reaper, name: "reap", args: [command.path, ...command.args], env: command.env, fds });
  } catch (error) {
    for (const channel of [ends, errors]) void channel.socket.then((socket) => socket.destroy());
    console.close();
    throw error;
  } finally {
    for (const channel of [ends, errors]) channel.closeChild();
  }
  const terminal = Promise.withResolvers<number>();
  const exit = Promise.withResolvers<number>();
  const follow = async () => {
    // When this runtime closes, its streams end early; then there is nobody to tell either.
    const said = errors.socket.then((socket) => gather(socket, maxComplaintBytes)).catch(() => Buffer.alloc(0));
    let runtimeCode = 0;
    for await (const end of endsOf(await ends.socket)) {
      if (end.pid === pidOf(command)) {
        exit.resolve(end.code);
        continue;
      }
      runtimeCode = end.code;
      if (runtimeCode !== 0) continue;
      try {
        terminal.resolve(console.take());
      } catch (error) {
        terminal.reject(error);
      }
    }
    await reaped(pid);
    exit.resolve(killedCode);
    console.close();
    terminal.reject(execFailure(await said, runtimeCode));
  };
  follow().catch((error) => {
    exit.resolve(killedCode);
    terminal.reject(error);
  });
  return { pid, terminal: terminal.promise, exit: exit.promise };
}

/** Where the reaper itself was killed, nobody can tell. */
const killedCode = 137;

/** What the reaper tells: the pid and the wait status, 32 bits each. */
async function* endsOf(socket: Socket): AsyncGenerator<{ pid: number; code: number }> {
  let held: Buffer = Buffer.alloc(0);
  for await (const chunk of socket as AsyncIterable<Buffer>) {
    held = Buffer.concat([held, chunk]);
    for (; held.length >= 8; held = held.subarray(8)) {
      yield { pid: held.readInt32LE(0), code: exitCodeOf(held.readInt32LE(4)) };
    }
  }
}
