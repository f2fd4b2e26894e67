// Runs other programs to their end: output bounded, time bounded, killed when told. Not for hot paths: a spawn costs milliseconds.

import { spawn } from "node:child_process";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import type { Call } from "../../base/call.ts";
import { Fault } from "../../base/fault.ts";

export interface RunOptions {
  /** Whole, or as it comes; a stream that breaks kills the program. */
  readonly input?: string | Uint8Array | AsyncIterable<Uint8Array> | undefined;
  /** The whole environment; the own one when unset. */
  readonly env?: Readonly<Record<string, string>> | undefined;
  readonly cwd?: string | undefined;
  readonly timeoutMs?: number | undefined;
  /** Of each stream; a program that writes more is killed. */
  readonly maxOutputBytes?: number | undefined;
}

export interface RunResult {
  /** Null when a signal ended it. */
  readonly code: number | null;
  readonly signal: string | null;
  readonly stdout: string;
  readonly stderr: string;
}

const defaultMaxOutputBytes = 16 * 1024 * 1024;

/** Runs the program and resolves with how it ended, well or not. Rejects only when it could not run to its end. */
export function run(command: string, args: readonly string[], options: RunOptions, call: Call): Promise<RunResult> {
  const { promise, resolve, reject } = Promise.withResolvers<RunResult>();
  if (call.signal.aborted) return Promise.reject(call.signal.reason);
  const child = spawn(command, [...args], {
    stdio: ["pipe", "pipe", "pipe"],
    ...(options.env ? { env: { ...options.env } } : {}),
    ...(options.cwd === undefined ? {} : { cwd: options.cwd }),
  });
  const limit = options.maxOutputBytes ?? defaultMaxOutputBytes;
  const stop = (reason: unknown) => {
    child.kill("SIGKILL");
    // Its own children may hold the pipes open; nobody reads them any more.
    child.stdout.destroy();
    child.stderr.destroy();
    settle(() => reject(reason));
  };
  const tooMuch = () => stop(new Fault("invalid", `${command} wrote more than ${limit} bytes`));
  const stdout = collect(child.stdout, limit, tooMuch);
  const stderr = collect(child.stderr, limit, tooMuch);
  const onAbort = () => stop(call.signal.reason);
  const timer =
    options.timeoutMs === undefined
      ? undefined
      : setTimeout(
          () => stop(new Fault("timeout", `${command} did not end within ${options.timeoutMs} ms`)),
          options.timeoutMs,
        );
  const settle = (how: () => void) => {
    clearTimeout(timer);
    call.signal.removeEventListener("abort", onAbort);
    how();
  };
  call.signal.addEventListener("abort", onAbort, { once: true });
  child.on("error", (error: NodeJS.ErrnoException) => settle(() => reject(cannotRun(command, error))));
  child.on("close", (code, signal) => settle(() => resolve({ code, signal, stdout: stdout(), stderr: stderr() })));
  // A program that does not read its input closes the pipe; how it ends is told by its code.
  child.stdin.on("error", () => {});
  const { input } = options;
  if (input === undefined || typeof input === "string" || input instanceof Uint8Array) child.stdin.end(input);
  else
    pipeline(Readable.from(input, { objectMode: false }), child.stdin).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== "EPIPE" && error.code !== "ERR_STREAM_PREMATURE_CLOSE") stop(error);
    });
  return promise;
}

/** Like `run`, but anything but code 0 is a Fault with what the program said; returns its output. */
export async function runChecked(
  command: string,
  args: readonly string[],
  options: RunOptions,
  call: Call,
): Promise<string> {
  const { code, signal, stdout, stderr } = await run(command, args, options, call);
  if (code === 0) return stdout;
  const said = (stderr.trim() || stdout.trim()).slice(-500);
  const how = signal ? `was ended by ${signal}` : `ended with code ${code}`;
  throw new Fault("internal", `${[command, ...args].join(" ").slice(0, 200)} ${how}${said ? `: ${said}` : ""}`, {
    details: { code, signal, stdout, stderr },
  });
}

function collect(stream: NodeJS.ReadableStream, limit: number, tooMuch: () => void): () => string {
  const chunks: Buffer[] = [];
  let length = 0;
  stream.on("data", (chunk: Buffer) => {
    length += chunk.length;
    if (length <= limit) chunks.push(chunk);
    else tooMuch();
  });
  stream.on("error", () => {}); // Destroyed with the program; the close event follows.
  return () => Buffer.concat(chunks).toString("utf8");
}

function cannotRun(command: string, error: NodeJS.ErrnoException): Fault {
  if (error.code === "ENOENT")
    return new Fault("not-found", `Cannot run ${command}: there is no such program`, { cause: error });
  if (error.code === "EACCES")
    return new Fault("forbidden", `Cannot run ${command}: permission denied`, { cause: error });
  return new Fault("internal", `Cannot run ${command}: ${error.message}`, { cause: error });
}
