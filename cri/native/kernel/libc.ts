// The C library calls this runtime needs and JavaScript lacks. Loaded on first use, because it costs a few megabytes.
// Every call is synchronous unless its name ends in Async, and throws a LibcError that names the call and the path.

import koffi from "koffi";

type Native = (...args: unknown[]) => number;
type NativeAsync = { async(...args: unknown[]): void };

export class LibcError extends Error {
  readonly errno: number;
  readonly code: string;

  constructor(call: string, errno: number) {
    const code = errnoName(errno);
    super(`${call}: ${code}`);
    this.name = "LibcError";
    this.errno = errno;
    this.code = code;
  }
}

function errnoName(errno: number): string {
  const found = Object.entries(koffi.os.errno).find(([, value]) => value === errno);
  return found ? found[0] : `errno ${errno}`;
}

const declarations = {
  unshare: "int unshare(int flags)",
  setns: "int setns(int fd, int type)",
  sethostname: "int sethostname(const char *name, size_t length)",
  mount: "int mount(const char *source, const char *target, const char *type, unsigned long flags, const char *data)",
  umount2: "int umount2(const char *target, int flags)",
  mknod: "int mknod(const char *path, unsigned int mode, unsigned long device)",
  lsetxattr: "int lsetxattr(const char *path, const char *name, const void *value, size_t size, int flags)",
  lgetxattr: "int64_t lgetxattr(const char *path, const char *name, void *value, size_t size)",
  open: "int open(const char *path, int flags, int mode)",
  close: "int close(int fd)",
  write: "int64_t write(int fd, const void *data, size_t size)",
  syncfs: "int syncfs(int fd)",
  kill: "int kill(int pid, int signal)",
  socket: "int socket(int domain, int type, int protocol)",
  connect: "int connect(int fd, const void *address, unsigned int length)",
  send: "int64_t send(int fd, const void *data, size_t size, int flags)",
  recv: "int64_t recv(int fd, void *data, size_t size, int flags)",
  shutdown: "int shutdown(int fd, int how)",
  waitpid: "int waitpid(int pid, int *status, int options)",
  pipe2: "int pipe2(int *fds, int flags)",
} as const;

type CallName = keyof typeof declarations;

let library: ReturnType<typeof koffi.load> | undefined;
const bound = new Map<string, Native>();

/** A C function of the running process by its declaration; bound once. */
export function bind(declaration: string): Native {
  let native = bound.get(declaration);
  if (!native) {
    library ??= koffi.load(null);
    native = library.func(declaration) as unknown as Native;
    bound.set(declaration, native);
  }
  return native;
}

function attempt(name: CallName, subject: string, ...args: unknown[]): number {
  const result = bind(declarations[name])(...args);
  if (result < 0) throw new LibcError(`${name} ${subject}`, koffi.errno());
  return result;
}

export const openFlags = { readOnly: 0, writeOnly: 1, readWrite: 2, path: 0o10000000, closeOnExec: 0o2000000 };

export const cloneFlags = {
  ipc: 0x08000000,
  uts: 0x04000000,
  net: 0x40000000,
  pid: 0x20000000,
  user: 0x10000000,
};

export const libc = {
  unshare: (flags: number): void => void attempt("unshare", flags.toString(16), flags),
  setns: (fd: number, type: number): void => void attempt("setns", `fd ${fd}`, fd, type),
  sethostname: (name: string): void => void attempt("sethostname", name, name, Buffer.byteLength(name)),
  mount(source: string, target: string, type: string | null, flags: number, data: string | null): void {
    attempt("mount", target, source, target, type, flags, data);
  },
  umount: (target: string, flags: number): void => void attempt("umount2", target, target, flags),
  mknod: (path: string, mode: number, major: number, minor: number): void =>
    void attempt("mknod", path, path, mode, deviceNumber(major, minor)),
  lsetxattr: (path: string, name: string, value: Uint8Array): void =>
    void attempt("lsetxattr", `${name} of ${path}`, path, name, value, value.length, 0),
  /** The value, or undefined where the attribute or its support is absent. */
  lgetxattr(path: string, name: string): Buffer | undefined {
    const buffer = Buffer.alloc(65536);
    const size = bind(declarations.lgetxattr)(path, name, buffer, buffer.length);
    return size < 0 ? undefined : buffer.subarray(0, size);
  },
  open: (path: string, flags: number): number => attempt("open", path, path, flags | openFlags.closeOnExec, 0),
  close: (fd: number): void => void bind(declarations.close)(fd),
  write: (fd: number, data: Uint8Array): number => attempt("write", `fd ${fd}`, fd, data, data.length),
  socket: (domain: number, type: number): number => attempt("socket", "", domain, type | openFlags.closeOnExec, 0),
  connect: (fd: number, address: Uint8Array): void => void attempt("connect", "", fd, address, address.length),
  /** Bytes sent, or -1 where it would block. */
  send: (fd: number, data: Uint8Array): number => wouldBlock(() => attempt("send", "", fd, data, data.length, 0x4040)),
  /** Bytes received (0 at the end), or -1 where it would block. */
  recv: (fd: number, into: Uint8Array): number => wouldBlock(() => attempt("recv", "", fd, into, into.length, 0x40)),
  shutdownWrite: (fd: number): void => void attempt("shutdown", "", fd, 1),
  /** False when no such process exists any more. Signal 0 only asks. */
  kill(pid: number, signal: number): boolean {
    if (bind(declarations.kill)(pid, signal) === 0) return true;
    if (koffi.errno() === koffi.os.errno.ESRCH) return false;
    throw new LibcError(`kill ${pid}`, koffi.errno());
  },
  pipe(): { readEnd: number; writeEnd: number } {
    const fds = new Int32Array(2);
    attempt("pipe2", "", fds, openFlags.closeOnExec);
    return { readEnd: fds[0] as number, writeEnd: fds[1] as number };
  },
  /** Reaps a child: its wait status, or undefined while it runs; a child that is not ours has status 0. */
  reap(pid: number): number | undefined {
    const status = new Int32Array(1);
    const result = bind(declarations.waitpid)(pid, status, 1);
    if (result === 0) return undefined;
    return result < 0 ? 0 : (status[0] ?? 0);
  },
  /** Writes back the file system that holds the path, without stopping the event loop. */
  async syncfsAsync(path: string): Promise<void> {
    const fd = libc.open(path, openFlags.readOnly);
    try {
      await new Promise<void>((resolve, reject) => {
        const native = bind(declarations.syncfs) as unknown as NativeAsync;
        native.async(fd, (error: Error | null, result: number) => {
          if (error || result < 0) reject(error ?? new LibcError(`syncfs ${path}`, koffi.errno()));
          else resolve();
        });
      });
    } finally {
      libc.close(fd);
    }
  },
};

function wouldBlock(act: () => number): number {
  try {
    return act();
  } catch (error) {
    if (error instanceof LibcError && error.code === "EAGAIN") return -1;
    throw error;
  }
}

/** Packs major and minor as glibc's makedev does. */
function deviceNumber(major: number, minor: number): number {
  const low = ((BigInt(major) & 0xfffn) << 8n) | (BigInt(minor) & 0xffn);
  const high = ((BigInt(minor) & 0xffffff00n) << 12n) | ((BigInt(major) & 0xfffff000n) << 32n);
  return Number(low | high);
}
