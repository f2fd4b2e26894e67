// Commands inside a running container: as a session with streams, or to the end with their output.

import { Writable } from "node:stream";
import type { ExecSyncRequest, ExecSyncResponse } from "../../api/gen/runtime.js";
import { firstSize } from "../../api/first-size.ts";
import type { ExecSession, SessionStreams, TerminalSize } from "../../api/sessions.ts";
import { type Call, uninterrupted } from "../../../plugins/kit/base/call.ts";
import { Fault, isFault } from "../../../plugins/kit/base/fault.ts";
import { killTree } from "../../../plugins/kit/os/platform/processes.ts";
import type { Docker } from "../docker.ts";
import { followSizes, joinStreams } from "./session-streams.ts";

const maxOutputBytes = 16 * 1024 * 1024;
/** What a background child of the command may hold the streams open after its end. */
const drainMs = 5000;
const lookMs = 1000;

interface ExecInspect {
  readonly Running: boolean;
  readonly ExitCode: number | null;
  readonly Pid: number;
}

export async function execSession(
  docker: Docker,
  { containerId, command, tty }: ExecSession,
  streams: SessionStreams,
  call: Call,
): Promise<{ exitCode: number }> {
  if (command.length === 0) throw new Fault("invalid", "Cannot run a command: none is given");
  const { engine } = docker;
  const seen = await docker.inventory.inspect("container", containerId, call);
  if (!seen.State.Running)
    throw new Fault(
      "conflict",
      `Cannot run a command in container "${seen.Id}": it is ${seen.State.Status}, not running`,
    );
  const sizes = tty ? await firstSize(streams.resizes, docker.clock) : undefined;
  const first = sizes?.first;
  const ConsoleSize = first && [first.height, first.width];
  const body = {
    Cmd: command,
    Tty: tty,
    // Daemons of an older API do not know the field, and are told the size once the process is there.
    ...(ConsoleSize ? { ConsoleSize } : {}),
    AttachStdin: streams.stdin !== undefined,
    AttachStdout: true,
    AttachStderr: !tty,
  };
  const path = `/containers/${seen.Id}/exec`;
  const { Id: id } = await engine.call<{ Id: string }>("POST", path, { body }, call);
  const over = new AbortController();
  const ended = () => engine.get<ExecInspect>(`/exec/${id}/json`, {}, uninterrupted);
  try {
    const socket = await engine.hijack(
      `/exec/${id}/start`,
      { body: { Detach: false, Tty: tty, ...(ConsoleSize ? { ConsoleSize } : {}) } },
      call,
    );
    if (first && !(await engine.speaks(42, call))) void resizeExec(docker, id, first, over).catch(() => {});
    void followSizes(sizes?.later, (size) => resizeExec(docker, id, size, over));
    void endLateStreams(docker, ended, over).then(() => socket.destroy());
    await joinStreams(socket, streams, tty, call);
    return { exitCode: await exitCodeOf(docker, ended, call) };
  } catch (error) {
    // The daemon has no call for it: the process is found on this host.
    const left = await ended().catch(() => undefined);
    if (left?.Running && left.Pid > 0) killTree(left.Pid);
    throw error;
  } finally {
    over.abort();
  }
}

/** Resolves when the command has ended a while ago and something still holds its streams; never before the session is over otherwise. */
async function endLateStreams(docker: Docker, look: () => Promise<ExecInspect>, over: Call): Promise<void> {
  try {
    do await docker.clock.sleep(lookMs, over);
    while ((await look()).Running);
    await docker.clock.sleep(drainMs, over);
  } catch {
    // Over in the usual way, or the daemon is gone and the connection with it.
  }
}

/** The streams end a moment before the daemon knows the code. */
async function exitCodeOf(docker: Docker, look: () => Promise<ExecInspect>, call: Call): Promise<number> {
  for (let delayMs = 1; ; delayMs = Math.min(delayMs * 2, 100)) {
    const { Running, ExitCode } = await look();
    if (!Running && ExitCode !== null) return ExitCode;
    await docker.clock.sleep(delayMs, call);
  }
}

/** The first size may come before the process is there. */
async function resizeExec(docker: Docker, id: string, { width, height }: TerminalSize, over: Call): Promise<void> {
  for (let delayMs = 10; !over.signal.aborted; delayMs = Math.min(delayMs * 2, 500)) {
    try {
      return await docker.engine.call("POST", `/exec/${id}/resize`, { query: { w: width, h: height } }, over);
    } catch (error) {
      if (isFault(error, "not-found")) return;
    }
    await docker.clock.sleep(delayMs, over);
  }
}

/** A command that outlives its time is killed, and the call fails with `timeout`. */
export async function execSync(docker: Docker, request: ExecSyncRequest, call: Call): Promise<ExecSyncResponse> {
  const { containerId, cmd, timeout } = request;
  const stop = new AbortController();
  const cancel = timeout > 0n ? docker.clock.after(Number(timeout) * 1000, () => stop.abort()) : () => {};
  const stdout = collector();
  const stderr = collector();
  try {
    const { exitCode } = await execSession(
      docker,
      { containerId, command: cmd, tty: false },
      { stdout: stdout.stream, stderr: stderr.stream },
      { signal: AbortSignal.any([call.signal, stop.signal]) },
    );
    return { stdout: stdout.bytes(), stderr: stderr.bytes(), exitCode };
  } catch (error) {
    call.signal.throwIfAborted();
    if (!stop.signal.aborted) throw error;
    throw new Fault(
      "timeout",
      `Cannot finish command "${cmd[0]}" in container "${containerId}": it took longer than ${timeout} s`,
    );
  } finally {
    cancel();
  }
}

/** Keeps no more than the limit; reads the rest all the same. */
function collector() {
  const chunks: Buffer[] = [];
  let size = 0;
  const stream = new Writable({
    write(chunk: Buffer, _encoding, done) {
      if (size < maxOutputBytes) chunks.push(chunk.subarray(0, maxOutputBytes - size));
      size += chunk.length;
      done();
    },
  });
  return { stream, bytes: () => Buffer.concat(chunks) };
}
