// Starts processes by posix_spawn: a fraction of a millisecond however large this process is, where fork copies its page tables.
// Streams to and from a child are Unix sockets accepted by a listener of our own, because that is a way in which both JavaScript
// runtimes take over a descriptor that came from outside of them.

import { chmodSync, mkdirSync, rmSync } from "node:fs";
import { createServer, type Server, type Socket } from "node:net";
import { dirname } from "node:path";
import type { Call } from "../../../plugins/kit/base/call.ts";
import { Fault } from "../../../plugins/kit/base/fault.ts";
import { bind, libc, LibcError, openFlags } from "./libc.ts";

export interface SpawnRequest {
  readonly path: string;
  /** What the process calls itself; its path where absent. */
  readonly name?: string;
  readonly args: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  readonly cwd?: string;
  /** Descriptors of this process by their number in the child; 0, 1 and 2 are /dev/null where absent. */
  readonly fds?: ReadonlyMap<number, number>;
}

/** A stream whose other end is handed to a child. */
export interface Channel {
  /** For `fds`; close it with `closeChild` after the spawn. */
  readonly childFd: number;
  closeChild(): void;
  /** Our end. */
  readonly socket: Promise<Socket>;
}

const spawnSetSid = 0x80;
const spawnSetSigMask = 0x08;
const spawnSetSigDefault = 0x04;

/** Starts the process in a session of its own, with no signal blocked or ignored. The caller reaps it. */
export function spawn(request: SpawnRequest): number {
  const actions = Buffer.alloc(256);
  const attributes = Buffer.alloc(512);
  const signals = Buffer.alloc(128);
  bind("int posix_spawn_file_actions_init(void *actions)")(actions);
  bind("int posix_spawnattr_init(void *attributes)")(attributes);
  try {
    bind("int sigemptyset(void *set)")(signals);
    bind("int posix_spawnattr_setsigmask(void *attributes, const void *set)")(attributes, signals);
    bind("int sigfillset(void *set)")(signals);
    bind("int posix_spawnattr_setsigdefault(void *attributes, const void *set)")(attributes, signals);
    const flags = spawnSetSid | spawnSetSigMask | spawnSetSigDefault;
    bind("int posix_spawnattr_setflags(void *attributes, short flags)")(attributes, flags);
    const open = bind(
      "int posix_spawn_file_actions_addopen(void *actions, int fd, const char *path, int flags, int mode)",
    );
    const duplicate = bind("int posix_spawn_file_actions_adddup2(void *actions, int from, int to)");
    const chdir = bind("int posix_spawn_file_actions_addchdir_np(void *actions, const char *path)");
    if (request.cwd !== undefined) chdir(actions, request.cwd);
    for (const fd of [0, 1, 2]) {
      if (!request.fds?.has(fd)) open(actions, fd, "/dev/null", openFlags.readWrite, 0);
    }
    for (const [fd, from] of request.fds ?? []) duplicate(actions, from, fd);
    closeOthers(actions, Math.max(2, ...(request.fds?.keys() ?? [])) + 1);
    const pid = new Int32Array(1);
    const env = Object.entries(request.env ?? {}).map(([name, value]) => `${name}=${value}`);
    const result = bind(
      "int posix_spawn(int *pid, const char *path, const void *actions, const void *attributes, const char **args, const char **env)",
    )(pid, request.path, actions, attributes, [request.name ?? request.path, ...request.args, null], [...env, null]);
    if (result !== 0) throw new LibcError(`start ${request.path}`, result);
    return pid[0] as number;
  } finally {
    bind("int posix_spawn_file_actions_destroy(void *actions)")(actions);
    bind("int posix_spawnattr_destroy(void *attributes)")(attributes);
  }
}

/** Libraries open descriptors that children would inherit, and what outlives us would hold for ever. Needs glibc 2.34. */
function closeOthers(actions: Buffer, from: number): void {
  let closeFrom: (...args: unknown[]) => number;
  try {
    closeFrom = bind("int posix_spawn_file_actions_addclosefrom_np(void *actions, int from)");
  } catch {
    // Another C library: what is ours is closed on exec anyway.
    return;
  }
  closeFrom(actions, from);
}

export interface Finished {
  /** 128 + signal where a signal ended it. */
  readonly exitCode: number;
  readonly stdout: Buffer;
  readonly stderr: Buffer;
}

export class Spawner {
  readonly #path: string;
  readonly #server: Server;
  readonly #open = new Set<Socket>();
  readonly #waiting = new Map<string, (socket: Socket) => void>();
  #counter = 0;

  private constructor(path: string) {
    this.#path = path;
    this.#server = createServer({ allowHalfOpen: true, pauseOnConnect: false }, (socket) => this.#accept(socket));
  }

  /** The socket's path must be short (107 bytes), and its folder private to us. */
  static async open(path: string): Promise<Spawner> {
    mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
    rmSync(path, { force: true });
    if (Buffer.byteLength(path) > 107)
      throw new Fault("invalid", `Cannot listen on "${path}": the path is too long for a socket`);
    const spawner = new Spawner(path);
    await new Promise<void>((resolve, reject) => {
      spawner.#server.once("error", reject);
      spawner.#server.listen(path, () => resolve());
    });
    // The other end of a child's streams: nobody else may pretend to be it.
    chmodSync(path, 0o600);
    spawner.#server.unref();
    return spawner;
  }

  /** Ends the streams of whatever still runs, and nothing else. */
  async close(): Promise<void> {
    this.#server.ref();
    for (const socket of this.#open) socket.destroy();
    await new Promise<void>((resolve) => this.#server.close(() => resolve()));
    rmSync(this.#path, { force: true });
  }

  /** The first eight bytes of a connection say whose it is. */
  #accept(socket: Socket): void {
    this.#open.add(socket);
    socket.on("error", () => socket.destroy());
    socket.on("close", () => this.#open.delete(socket));
    const readName = () => {
      const name = socket.read(8) as Buffer | null;
      if (!name) return;
      socket.off("readable", readName);
      const take = this.#waiting.get(name.toString("latin1"));
      this.#waiting.delete(name.toString("latin1"));
      this.#hold();
      if (take) take(socket);
      else socket.destroy();
    };
    socket.on("readable", readName);
  }

  /** The process may end while nobody waits, although the listener stands. */
  #hold(): void {
    if (this.#waiting.size > 0) this.#server.ref();
    else this.#server.unref();
  }

  channel(): Channel {
    const name = String(++this.#counter).padStart(8, "0");
    const socket = new Promise<Socket>((resolve) => this.#waiting.set(name, resolve));
    this.#hold();
    const childFd = libc.socket(1, 1);
    try {
      const address = Buffer.alloc(2 + Buffer.byteLength(this.#path) + 1);
      address.writeUInt16LE(1, 0);
      address.write(this.#path, 2);
      libc.connect(childFd, address);
      libc.write(childFd, Buffer.from(name, "latin1"));
    } catch (error) {
      this.#waiting.delete(name);
      this.#hold();
      libc.close(childFd);
      throw error;
    }
    return { childFd, closeChild: () => libc.close(childFd), socket };
  }

  /** Runs a program to its end and collects what it says, up to `limit` bytes of each stream. Stopping the call kills it. */
  async run(
    request: Omit<SpawnRequest, "fds">,
    call: Call,
    options: { input?: string; limit?: number } = {},
  ): Promise<Finished> {
    call.signal.throwIfAborted();
    const channels = [this.channel(), this.channel(), this.channel()] as const;
    let pid: number;
    try {
      pid = spawn({ ...request, fds: new Map(channels.map((channel, fd) => [fd, channel.childFd])) });
    } catch (error) {
      for (const channel of channels) void channel.socket.then((socket) => socket.destroy());
      throw error;
    } finally {
      for (const channel of channels) channel.closeChild();
    }
    const kill = () => void libc.kill(-pid, 9);
    call.signal.addEventListener("abort", kill, { once: true });
    try {
      const [stdin, stdout, stderr] = await Promise.all(channels.map((channel) => channel.socket));
      stdin?.end(options.input ?? "");
      const limit = options.limit ?? 1024 * 1024;
      const [out, errors] = await Promise.all([gather(stdout as Socket, limit), gather(stderr as Socket, limit)]);
      stdin?.destroy();
      const exitCode = await reaped(pid);
      call.signal.throwIfAborted();
      return { exitCode, stdout: out, stderr: errors };
    } finally {
      call.signal.removeEventListener("abort", kill);
    }
  }
}

/** Reads a socket to its end and closes it; what is over the limit is read and forgotten. */
export async function gather(socket: Socket, limit: number): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let size = 0;
  try {
    for await (const chunk of socket as AsyncIterable<Buffer>) {
      if (size < limit) chunks.push(chunk.subarray(0, limit - size));
      size += chunk.length;
    }
  } finally {
    // It is half open still: our side of it was never ended.
    socket.destroy();
  }
  return Buffer.concat(chunks);
}

/** 128 + signal where a signal ended it. */
export const exitCodeOf = (waitStatus: number): number =>
  (waitStatus & 0x7f) === 0 ? (waitStatus >> 8) & 0xff : 128 + (waitStatus & 0x7f);

/** The exit code of a child of ours that is ending, or has ended. */
export async function reaped(pid: number): Promise<number> {
  for (let delayMs = 0; ; delayMs = Math.min(delayMs * 2 + 1, 50)) {
    const status = libc.reap(pid);
    if (status !== undefined) return exitCodeOf(status);
    await new Promise((resolve) => (delayMs === 0 ? setImmediate(resolve) : setTimeout(resolve, delayMs)));
  }
}
