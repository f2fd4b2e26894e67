// Commands inside a running container, through the OCI runtime's `exec`: to the end with their output, or as a session with streams.

import { randomBytes } from "node:crypto";
import { readFileSync, rmSync, writeFileSync } from "node:fs";
import type { Socket } from "node:net";
import { join } from "node:path";
import type { Readable, Writable } from "node:stream";
import { pipeline } from "node:stream/promises";
import type { ExecSyncRequest, ExecSyncResponse } from "../../api/gen/runtime.js";
import { firstSize } from "../../api/first-size.ts";
import type { ExecSession, SessionStreams, TerminalSize } from "../../api/sessions.ts";
import type { Call } from "../../../plugins/kit/call.ts";
import type { Clock } from "../../../plugins/kit/clock.ts";
import { Fault } from "../../../plugins/kit/fault.ts";
import { libc } from "../kernel/libc.ts";
import { killTree } from "../../../plugins/kit/platform/processes.ts";
import { type Channel, gather, reaped, spawn } from "../kernel/spawn.ts";
import type { Native } from "../native.ts";
import { noticeExit } from "./container-end.ts";
import type { ContainerRecord } from "./container-record.ts";
import type { OciProcess, OciSpec } from "./oci-spec.ts";
import { terminalSession } from "./terminal-session.ts";

const maxOutputBytes = 16 * 1024 * 1024;
/** What a background child of the command may hold the streams open after its end. */
const drainMs = 5000;
/** What an OCI runtime may take to notice the end of its command. */
const buryMs = 3000;

export interface ExecCommand {
  readonly path: string;
  readonly args: string[];
  readonly env: Record<string, string>;
  readonly pidFile: string;
  /** To be removed when it is over. */
  readonly files: readonly string[];
}

function runningContainer(native: Native, id: string, doing: string): ContainerRecord {
  const record = native.containers.get(id);
  noticeExit(native, record);
  if (record.phase === "running") return record;
  throw new Fault(
    "conflict",
    `Cannot ${doing} container "${record.config.metadata?.name}": it is ${record.phase}, not running`,
  );
}

/** The terminal that a command is given, where it is given one. */
interface Terminal {
  readonly size: TerminalSize | undefined;
}

/**
 * A command is described in a file, like the container's own process, whose user, environment and limits it has. Not every OCI runtime
 * takes those over by itself; and only so a terminal's size is set before the command begins, not some moment after.
 */
function execCommand(
  native: Native,
  record: ContainerRecord,
  command: readonly string[],
  terminal?: Terminal,
): ExecCommand {
  if (command.length === 0) throw new Fault("invalid", "Cannot run a command: none is given");
  const { process: own } = JSON.parse(
    readFileSync(join(native.paths.container(record.id), "config.json"), "utf8"),
  ) as OciSpec;
  const described: OciProcess = { ...own, args: [...command], terminal: terminal !== undefined };
  if (terminal) described.env = [...own.env.filter((text) => !text.startsWith("TERM=")), "TERM=xterm"];
  if (terminal?.size) described.consoleSize = terminal.size;
  const [pidFile, file] = [newExecFile(native), newExecFile(native)];
  writeFileSync(file, JSON.stringify(described), { mode: 0o600 });
  const args = [`--root=${native.paths.ociState}`, "exec", "--pid-file", pidFile, "--process", file, record.id];
  return { path: native.programs.oci, args, env: { PATH: process.env.PATH ?? "" }, pidFile, files: [pidFile, file] };
}

const newExecFile = (native: Native) => join(native.paths.runDir, `exec-${randomBytes(8).toString("hex")}`);

/** The pid of the command itself, or undefined when it never began. */
function pidOf(pidFile: string): number | undefined {
  try {
    return Number(readFileSync(pidFile, "utf8")) || undefined;
  } catch {
    // Not written: the command could not be started.
    return undefined;
  }
}

/**
 * Kills the command with all it started. The OCI runtime is let go on for a moment: it is the command's parent, and without it the
 * container's first process would inherit a dead child that it may never bury. Returns what to call when the runtime has ended.
 */
function killExec(native: Native, command: ExecCommand, runtimePid: number): () => void {
  const pid = pidOf(command.pidFile);
  if (pid) killTree(pid);
  return native.clock.after(pid ? buryMs : 0, () => void libc.kill(-runtimePid, 9));
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
  const command = execCommand(native, record, session.command, { size: sizes.first });
  const kill = (runtimePid: number) => killExec(native, command, runtimePid);
  return { exitCode: await terminalSession(command, streams, sizes, { clock: native.clock, kill }, call) };
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
    for (const file of command.files) rmSync(file, { force: true });
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
    if (pidOf(command.pidFile) === undefined) {
      const words = (collected?.stderr ?? Buffer.concat(said)).toString("utf8").trim();
      throw new Fault(
        "internal",
        `Cannot run command: ${runtimeWords(words) || `the OCI runtime ended with ${exitCode}`}`,
      );
    }
    return exitCode;
  } finally {
    call.signal.removeEventListener("abort", kill);
    spare();
    for (const [, channel] of channels) void channel.socket.then((socket) => socket.destroy());
    for (const file of command.files) rmSync(file, { force: true });
  }
}

/** Waits for the work, but no longer than so. */
async function orAfter(clock: Clock, delayMs: number, work: Promise<unknown>): Promise<void> {
  let cancel = () => {};
  const late = new Promise((resolve) => (cancel = clock.after(delayMs, () => resolve(undefined))));
  await Promise.race([work, late]).finally(() => cancel());
}

/** The last line of what the runtime said, without its log form. */
function runtimeWords(text: string): string {
  const line = text.split("\n").at(-1) ?? "";
  return /msg="((?:[^"\\]|\\.)*)"/.exec(line)?.[1]?.replaceAll('\\"', '"') ?? line;
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
    return (status & 0x7f) === 0 ? (status >> 8) & 0xff : 128 + (status & 0x7f);
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
