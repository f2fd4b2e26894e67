// Commands inside a running container, through the OCI runtime's `exec`: to the end with their output, or as a session with streams.

import type { Socket } from "node:net";
import type { Readable, Writable } from "node:stream";
import { pipeline } from "node:stream/promises";
import type { ExecSyncRequest, ExecSyncResponse } from "../../api/gen/runtime.js";
import { firstSize } from "../../api/first-size.ts";
import type { ExecSession, SessionStreams } from "../../api/sessions.ts";
import type { Call } from "../../../plugins/kit/base/call.ts";
import type { Clock } from "../../../plugins/kit/base/clock.ts";
import { Fault } from "../../../plugins/kit/base/fault.ts";
import { libc } from "../kernel/libc.ts";
import { type Channel, exitCodeOf, gather, reaped, spawn } from "../kernel/spawn.ts";
import type { Native } from "../native.ts";
import { noticeExit } from "./container-end.ts";
import type { ContainerRecord } from "./container-record.ts";
import {
  type ExecCommand,
  execCommand,
  execFailure,
  killExec,
  pidOf,
  removeExecFiles,
  terminalCommand,
} from "./exec-command.ts";
import { terminalSession } from "./terminal-session.ts";
import { startInTerminal } from "./terminal-start.ts";

const maxOutputBytes = 16 * 1024 * 1024;
/** What a background child of the command may hold the streams open after its end. */
const drainMs = 5000;

function runningContainer(native: Native, id: string, doing: string): ContainerRecord {
  const record = native.containers.get(id);
  noticeExit(native, record);
  if (record.phase === "running") return record;
  throw new Fault(
    "conflict",
    `Cannot ${doing} container "${record.config.metadata?.name}": it is ${record.phase}, not running`,
  );
}

export async function execSync(native: Native, request: ExecSyncRequest, call: Call): Promise<ExecSyncResponse> {
  const record = runningContainer(native, request.containerId, "run a command in");
  const command = execCommand(native, record, request.cmd);
  const timeoutMs = Number(request.timeout) * 1000;
  const stop = new AbortController();
  const cancel = timeoutMs > 0 ? native.clock.after(timeoutMs, () => stop.abort()) : () => {};
  const collected = { stdout: Buffer.alloc(0), stderr: Buffer.alloc(0) };
  try {
    const exitCode = await holdExec(
      native,
      command,
      {},
      { signal: AbortSignal.any([call.signal, stop.signal]) },
      collected,
    );
    return { ...collected, exitCode };
  } catch (error) {
    call.signal.throwIfAborted();
    if (!stop.signal.aborted) throw error;
    throw new Fault(
      "timeout",
      `Cannot finish command "${request.cmd[0]}" in container "${record.config.metadata?.name}": it took longer than ${request.timeout} s`,
    );
  } finally {
    cancel();
  }
}

export async function execSession(
  native: Native,
  session: ExecSession,
  streams: SessionStreams,
  call: Call,
): Promise<{ exitCode: number }> {
  const record = runningContainer(native, session.containerId, "run a command in");
  if (!session.tty)
    return { exitCode: await holdExec(native, execCommand(native, record, session.command), streams, call) };
  const sizes = await firstSize(streams.resizes, native.clock);
  const command = terminalCommand(native, record, session.command, sizes.first ?? { width: 80, height: 24 });
  const start = () => startInTerminal(native, command);
  const kill = (parentPid: number) => killExec(native, command, parentPid);
  try {
    return { exitCode: await terminalSession({ clock: native.clock, start, kill }, streams, sizes.later, call) };
  } finally {
    removeExecFiles(command);
  }
}

/** Runs the command with the streams, or with its output collected; resolves with its exit code when all output was passed on. */
async function holdExec(
  native: Native,
  command: ExecCommand,
  streams: SessionStreams,
  call: Call,
  collected?: { stdout: Buffer; stderr: Buffer },
): Promise<number> {
  call.signal.throwIfAborted();
  const stdin = streams.stdin ? native.spawner.channel() : undefined;
  const stdout = native.spawner.channel();
  const stderr = native.spawner.channel();
  const channels: [number, Channel][] = [...(stdin ? [[0, stdin] as [number, Channel]] : []), [1, stdout], [2, stderr]];
  let pid: number;
  try {
    pid = spawn({ ...command, fds: new Map(channels.map(([fd, channel]) => [fd, channel.childFd])) });
  } catch (error) {
    for (const [, channel] of channels) void channel.socket.then((socket) => socket.destroy());
    removeExecFiles(command);
    throw error;
  } finally {
    for (const [, channel] of channels) channel.closeChild();
  }
  let spare = () => {};
  const kill = () => {
    spare = killExec(native, command, pid);
  };
  call.signal.addEventListener("abort", kill, { once: true });
  const said: Buffer[] = [];
  try {
    const feeding = stdin && streams.stdin ? feed(streams.stdin, await stdin.socket) : undefined;
    const outputs = Promise.all([
      collected
        ? gather(await stdout.socket, maxOutputBytes).then((bytes) => void (collected.stdout = bytes))
        : forward(await stdout.socket, streams.stdout, []),
      collected
        ? gather(await stderr.socket, maxOutputBytes).then((bytes) => void (collected.stderr = bytes))
        : forward(await stderr.socket, streams.stderr, said),
    ]);
    const isReaped = { yet: false };
    const ended = outputs.then(() => {
      if (isReaped.yet) return 0;
      isReaped.yet = true;
      return reaped(pid);
    });
    const exitCode = await Promise.race([reapedSlowly(pid, isReaped), ended]);
    feeding?.stop();
    await orAfter(native.clock, drainMs, outputs);
    call.signal.throwIfAborted();
    if (pidOf(command) === undefined) throw execFailure(collected?.stderr ?? Buffer.concat(said), exitCode);
    return exitCode;
  } finally {
    call.signal.removeEventListener("abort", kill);
    spare();
    for (const [, channel] of channels) void channel.socket.then((socket) => socket.destroy());
    removeExecFiles(command);
  }
}

/** Waits for the work, but no longer than so. */
async function orAfter(clock: Clock, delayMs: number, work: Promise<unknown>): Promise<void> {
  let cancel = () => {};
  const late = new Promise((resolve) => (cancel = clock.after(delayMs, () => resolve(undefined))));
  await Promise.race([work, late]).finally(() => cancel());
}

/** A command may end while a child of its keeps the streams: looked at now and then, until someone else does. */
async function reapedSlowly(pid: number, isReaped: { yet: boolean }): Promise<number> {
  for (;;) {
    await new Promise((resolve) => setTimeout(resolve, 250).unref());
    // Never again after that: the pid may be another's by now.
    if (isReaped.yet) return new Promise(() => {});
    const status = libc.reap(pid);
    if (status === undefined) continue;
    isReaped.yet = true;
    return exitCodeOf(status);
  }
}

function feed(from: Readable, to: Socket): { stop(): void } {
  const stop = new AbortController();
  // The command may close its input early; that is its right.
  pipeline(from, to, { signal: stop.signal }).catch(() => {});
  return { stop: () => stop.abort() };
}

/** Passes output on with back-pressure; remembers its beginning for the case that it is the runtime's own complaint. */
async function forward(from: Socket, to: Writable | undefined, said: Buffer[]): Promise<void> {
  for await (const chunk of from as AsyncIterable<Buffer>) {
    if (said.length < 16) said.push(chunk);
    if (to && !to.destroyed && !to.write(chunk)) await drained(to);
  }
}

function drained(to: Writable): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      to.off("drain", done);
      to.off("close", done);
      to.off("error", done);
      resolve();
    };
    to.on("drain", done);
    to.on("close", done);
    to.on("error", done);
  });
}
