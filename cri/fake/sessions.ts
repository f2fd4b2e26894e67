// The fake's exec, attach and port-forward, and ExecSync on top of exec.

import { type Duplex, Writable } from "node:stream";
import type { Call } from "../../plugins/kit/base/call.ts";
import type { Clock } from "../../plugins/kit/base/clock.ts";
import { Fault, toFault } from "../../plugins/kit/base/fault.ts";
import type { RuntimeService } from "../api/contract.ts";
import { endsWithInput, type Sessions, type SessionStreams } from "../api/sessions.ts";
import { Process, type Program, writeTo } from "./process.ts";
import { type FakeWorld, isReady } from "./world.ts";

/** What listens on a port of every sandbox. Resolves when the connection is over. */
export type PortHandler = (connection: Duplex, call: Call) => Promise<void>;

export interface SessionOptions {
  readonly world: FakeWorld;
  readonly clock: Clock;
  readonly programs: ReadonlyMap<string, Program>;
  readonly ports: ReadonlyMap<number, PortHandler>;
}

const longestExecSyncOutput = 16 * 1024 * 1024;

export function fakeSessions({ world, clock, programs, ports }: SessionOptions): Sessions {
  return {
    async exec({ containerId, command, tty }, streams, call) {
      const { container } = world.running(containerId);
      if (command.length === 0) throw new Fault("invalid", `Cannot exec in container "${containerId}": no command`);
      const process = new Process({
        programs,
        command,
        env: Object.fromEntries(container.config.envs.map(({ key, value }) => [key, value])),
        ...(streams.stdin ? { stdin: streams.stdin } : {}),
        clock,
      });
      const gone = container.process?.onExit(() => process.exit(137));
      try {
        return { exitCode: await withStreams({ process, tty }, streams, call, () => process.run()) };
      } finally {
        gone?.();
        process.exit(137);
      }
    },
    async attach({ containerId, tty }, streams, call) {
      const { container, process } = world.running(containerId);
      streams.stdin?.on("data", (chunk: Uint8Array) => process.input(chunk));
      const detached = new Promise<void>((resolve) =>
        streams.stdin?.on("end", () => {
          if (container.config.stdinOnce) process.endInput();
          if (endsWithInput(container.config)) resolve();
        }),
      );
      await withStreams({ process, tty }, streams, call, () => Promise.race([container.exited, detached]));
    },
    async portForward(podSandboxId, port, connection, call) {
      if (!isReady(world.sandbox(podSandboxId))) {
        throw new Fault("conflict", `Cannot forward port ${port}: sandbox "${podSandboxId}" is not ready`);
      }
      const handler = ports.get(port);
      if (!handler) throw new Fault("unavailable", `Cannot forward port ${port}: connection refused`);
      await handler(connection, call);
    },
  };
}

/** Ties the streams to the process while `work` runs; a stop of the call ends the wait, and an exec's process. */
async function withStreams<T>(
  { process, tty }: { readonly process: Process; readonly tty: boolean },
  streams: SessionStreams,
  call: Call,
  work: () => Promise<T>,
): Promise<T> {
  const unheard = process.onOutput((stream, data) => {
    const to = tty ? streams.stdout : streams[stream];
    return to && writeTo(to, tty ? asTerminal(data) : data);
  });
  const over = new AbortController();
  void followSize(process, streams, over.signal);
  const stopped = new Promise<never>((_, reject) => {
    const stop = () => reject(toFault(call.signal.reason, "session stopped"));
    if (call.signal.aborted) stop();
    call.signal.addEventListener("abort", stop, { signal: over.signal });
  });
  try {
    return await Promise.race([stopped, work()]);
  } finally {
    over.abort();
    unheard();
  }
}

/** A terminal begins each new line at its left. */
function asTerminal(data: Uint8Array): Uint8Array {
  return Buffer.from(Buffer.from(data).toString("latin1").replaceAll("\n", "\r\n"), "latin1");
}

async function followSize(process: Process, { resizes }: SessionStreams, over: AbortSignal): Promise<void> {
  if (!resizes) return;
  for await (const size of resizes) {
    if (over.aborted) return;
    process.size = size;
  }
}

export function fakeExecSync(sessions: Sessions, clock: Clock): Pick<RuntimeService, "execSync"> {
  return {
    async execSync({ containerId, cmd, timeout }, call) {
      const stdout = new Collector();
      const stderr = new Collector();
      const late = new AbortController();
      const cancel =
        timeout > 0n
          ? clock.after(Number(timeout) * 1000, () =>
              late.abort(new Fault("timeout", `command ${JSON.stringify(cmd)} timed out after ${timeout} s`)),
            )
          : undefined;
      try {
        const signal = AbortSignal.any([call.signal, late.signal]);
        const streams = { stdout, stderr };
        const { exitCode } = await sessions.exec({ containerId, command: cmd, tty: false }, streams, { signal });
        return { stdout: stdout.bytes(), stderr: stderr.bytes(), exitCode };
      } finally {
        cancel?.();
      }
    },
  };
}

/** Keeps the first 16 MiB. */
class Collector extends Writable {
  readonly #chunks: Uint8Array[] = [];
  #length = 0;

  override _write(chunk: Uint8Array, _encoding: string, done: () => void): void {
    const fits = chunk.subarray(0, longestExecSyncOutput - this.#length);
    this.#length += fits.length;
    this.#chunks.push(fits);
    done();
  }

  bytes(): Uint8Array {
    return Buffer.concat(this.#chunks);
  }
}
