// Attach: a client at the streams of a container's main process. Input goes to conmon's socket (a packet socket, spoken to without
// blocking); output is what conmon writes to the log at the same moment, which also holds across a restart of ours.

import { closeSync, constants, existsSync, openSync, writeSync } from "node:fs";
import { join } from "node:path";
import type { Readable, Writable } from "node:stream";
import { type AttachSession, endsWithInput, type SessionStreams } from "../../api/sessions.ts";
import type { Call } from "../../../plugins/kit/base/call.ts";
import { Fault } from "../../../plugins/kit/base/fault.ts";
import { LibcError, libc, openFlags } from "../kernel/libc.ts";
import type { Native } from "../native.ts";
import { noticeExit, onExit } from "./container-end.ts";
import { outputPath } from "./conmon.ts";
import type { ContainerRecord } from "./container-record.ts";
import { LogTail } from "./log-tail.ts";
import { followSizes } from "./terminal-session.ts";

const unixFamily = 1;
const packetSocket = 5;
const nonBlocking = 0o4000;
const packetBytes = 8192;
const retryMs = 5;
/** A safety net under the watch of the log's folder. */
const lookMs = 1000;

export async function attachSession(
  native: Native,
  session: AttachSession,
  streams: SessionStreams,
  call: Call,
): Promise<void> {
  const record = native.containers.get(session.containerId);
  noticeExit(native, record);
  const name = record.config.metadata?.name;
  if (record.phase !== "running" && record.phase !== "created") {
    throw new Fault("conflict", `Cannot attach to container "${name}": it is ${record.phase}`);
  }
  const tail = new LogTail(outputPath(native, record));
  await tail.start();
  void followSizes(streams.resizes, (columns, rows) => control(native, record, `1 ${rows} ${columns}\n`));
  const input = streams.stdin && record.config.stdin ? openInput(native, record) : undefined;
  try {
    await followOutput(native, record, tail, streams, input, call);
  } finally {
    input?.close();
    await tail.close();
  }
}

async function followOutput(
  native: Native,
  record: ContainerRecord,
  tail: LogTail,
  streams: SessionStreams,
  input: Input | undefined,
  call: Call,
): Promise<void> {
  let wake = () => {};
  const stopWatching = tail.watch(() => wake());
  const stopWaiting = onExit(record, () => wake());
  const onAbort = () => wake();
  let isDetached = false;
  if (streams.stdin)
    input?.feed(streams.stdin, () => {
      isDetached = endsWithInput(record.config);
      wake();
    });
  call.signal.addEventListener("abort", onAbort);
  try {
    for (;;) {
      const hasEnded = noticeExit(native, record);
      const more = new Promise<void>((resolve) => {
        const cancel = native.clock.after(lookMs, resolve);
        wake = () => {
          cancel();
          resolve();
        };
      });
      for (const { stream, bytes } of await tail.read()) {
        const to = record.config.tty || stream === "stdout" ? streams.stdout : streams.stderr;
        if (to && !to.destroyed && !to.write(bytes)) await drained(to, call);
      }
      input?.discard();
      if (hasEnded || isDetached || call.signal.aborted) {
        wake();
        return call.signal.throwIfAborted();
      }
      await more;
    }
  } finally {
    stopWatching();
    stopWaiting();
    call.signal.removeEventListener("abort", onAbort);
  }
}

function drained(to: Writable, call: Call): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      for (const name of ["drain", "close", "error"]) to.off(name, done);
      call.signal.removeEventListener("abort", done);
      resolve();
    };
    for (const name of ["drain", "close", "error"]) to.on(name, done);
    call.signal.addEventListener("abort", done);
  });
}

/** Writes a message to conmon's control FIFO: `1 rows columns` resizes, `2 0 0` reopens the log. */
export function control(native: Native, record: ContainerRecord, message: string): void {
  const path = join(native.paths.container(record.id), "ctl");
  if (!existsSync(path))
    throw new Fault("conflict", `Cannot reach conmon of container "${record.id}": it does not run`);
  const file = openSync(path, constants.O_WRONLY | constants.O_NONBLOCK);
  try {
    writeSync(file, message);
  } finally {
    closeSync(file);
  }
}

/** Nothing where conmon has just gone: the container ended at this very moment, and what it wrote is still to be read. */
function openInput(native: Native, record: ContainerRecord): Input | undefined {
  try {
    return new Input(native, record);
  } catch (error) {
    if (error instanceof LibcError && (error.code === "ENOENT" || error.code === "ECONNREFUSED")) return undefined;
    throw error;
  }
}

class Input {
  #fd: number;
  readonly #native: Native;
  #from: Readable | undefined;
  #held: Buffer = Buffer.alloc(0);
  #hasEnded = false;
  #onSent = () => {};
  #cancel = () => {};

  constructor(native: Native, record: ContainerRecord) {
    this.#native = native;
    const folder = libc.open(join(native.paths.attach, record.id), openFlags.path);
    this.#fd = libc.socket(unixFamily, packetSocket | nonBlocking);
    try {
      // By descriptor, because a socket's whole path may be longer than an address can hold.
      const path = `/proc/self/fd/${folder}/attach`;
      const address = Buffer.alloc(2 + path.length + 1);
      address.writeUInt16LE(unixFamily, 0);
      address.write(path, 2);
      libc.connect(this.#fd, address);
    } catch (error) {
      this.close();
      throw error;
    } finally {
      libc.close(folder);
    }
  }

  /** Sends what the client types; its end closes the container's input where that was asked for, and is told when all was sent. */
  feed(from: Readable, onSent: () => void): void {
    this.#onSent = onSent;
    from.on("data", this.#onData);
    from.once("end", this.#onEnd);
    this.#from = from;
  }

  readonly #onData = (chunk: Buffer): void => this.#send(chunk);

  readonly #onEnd = (): void => {
    if (this.#fd >= 0 && this.#held.length === 0) this.#end();
    else this.#hasEnded = true;
  };

  #end(): void {
    this.#whileConmonLives(() => libc.shutdownWrite(this.#fd));
    this.#onSent();
  }

  /** Conmon goes with the container, maybe a moment before we know; then there is nobody to type for, and the rest of the log is still to be read. */
  #whileConmonLives<Result>(act: () => Result): Result | undefined {
    try {
      return act();
    } catch (error) {
      if (!(error instanceof LibcError)) throw error;
      this.close();
      return undefined;
    }
  }

  /** What conmon does not take yet is held, and the client with it. */
  #send(chunk: Buffer): void {
    let left = this.#held.length > 0 ? Buffer.concat([this.#held, chunk]) : chunk;
    while (left.length > 0 && this.#fd >= 0) {
      const packet = left.subarray(0, packetBytes);
      const sent = this.#whileConmonLives(() => libc.send(this.#fd, packet));
      if (sent === undefined || sent < 0) break;
      left = left.subarray(sent);
    }
    this.#held = left;
    this.#cancel();
    if (this.#fd < 0) return;
    if (left.length > 0) {
      this.#from?.pause();
      this.#cancel = this.#native.clock.after(retryMs, () => this.#send(Buffer.alloc(0)));
    } else if (this.#hasEnded) this.#end();
    else this.#from?.resume();
  }

  /** Conmon sends the output here too; it comes from the log, so this copy is dropped. */
  discard(): void {
    const buffer = Buffer.alloc(packetBytes * 2);
    for (let packets = 0; this.#fd >= 0 && packets < 1000; packets++) {
      const received = this.#whileConmonLives(() => libc.recv(this.#fd, buffer));
      if (received === undefined || received <= 0) return;
    }
  }

  close(): void {
    this.#cancel();
    this.#from?.off("data", this.#onData);
    this.#from?.off("end", this.#onEnd);
    if (this.#fd >= 0) libc.close(this.#fd);
    this.#fd = -1;
  }
}
