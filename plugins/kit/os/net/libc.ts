// The system calls that networking needs and no runtime offers: namespaces, netlink and other sockets, file locks.
// Loaded on first use, so that a process that never touches the network does not pay for it.

import koffi from "koffi";
import { Fault, type FaultCode } from "../../base/fault.ts";

export const AF_UNIX = 1;
export const AF_NETLINK = 16;
export const SOCK_DGRAM = 2;
export const SOCK_RAW = 3;
export const SOCK_CLOEXEC = 0o2000000;
export const O_RDONLY = 0;
export const O_CREAT_RDWR = 0o102;
export const O_CLOEXEC = 0o2000000;
export const CLONE_NEWNET = 0x40000000;
export const LOCK_EX = 2;
export const LOCK_NB = 4;
export const MS_BIND = 4096;
export const MNT_DETACH = 2;
export const EAGAIN = 11;

type AsyncCall<A extends unknown[]> = (...args: [...A, (error: Error | null, result: number) => void]) => void;
interface SlowCall<A extends unknown[]> {
  (...args: A): number;
  async: AsyncCall<A>;
}

export interface Libc {
  socket(domain: number, type: number, protocol: number): number;
  bind(fd: number, address: Uint8Array, length: number): number;
  connect(fd: number, address: Uint8Array, length: number): number;
  send: SlowCall<[number, Uint8Array, number, number]>;
  sendto(
    fd: number,
    data: Uint8Array,
    length: number,
    flags: number,
    address: Uint8Array,
    addressLength: number,
  ): number;
  recv(fd: number, into: Uint8Array, length: number, flags: number): number;
  recvmsg(fd: number, header: Uint8Array, flags: number): number;
  setsockopt(fd: number, level: number, option: number, value: Uint8Array, length: number): number;
  close(fd: number): number;
  open(path: string, flags: number, mode: number): number;
  setns(fd: number, kind: number): number;
  unshare(kind: number): number;
  mount(source: string, target: string, type: string | null, flags: number, data: string | null): number;
  umount2(target: string, flags: number): number;
  flock: SlowCall<[number, number]>;
  statx(dir: number, path: string, flags: number, mask: number, into: Uint8Array): number;
  pthread_sigmask(how: number, set: Uint8Array, old: Uint8Array | null): number;
}

let loaded: Libc | undefined;

export function libc(): Libc {
  if (loaded) return loaded;
  const library = koffi.load("libc.so.6");
  loaded = {
    socket: library.func("int socket(int, int, int)"),
    bind: library.func("int bind(int, const uint8_t *, uint32_t)"),
    connect: library.func("int connect(int, const uint8_t *, uint32_t)"),
    send: library.func("int64_t send(int, const uint8_t *, size_t, int)") as unknown as Libc["send"],
    sendto: library.func("int64_t sendto(int, const uint8_t *, size_t, int, const uint8_t *, uint32_t)"),
    recv: library.func("int64_t recv(int, _Out_ uint8_t *, size_t, int)"),
    recvmsg: library.func("int64_t recvmsg(int, void *, int)"),
    setsockopt: library.func("int setsockopt(int, int, int, const uint8_t *, uint32_t)"),
    close: library.func("int close(int)"),
    open: library.func("int open(const char *, int, uint32_t)"),
    setns: library.func("int setns(int, int)"),
    unshare: library.func("int unshare(int)"),
    mount: library.func("int mount(const char *, const char *, const char *, unsigned long, const char *)"),
    umount2: library.func("int umount2(const char *, int)"),
    flock: library.func("int flock(int, int)") as unknown as Libc["flock"],
    statx: library.func("int statx(int, const char *, int, unsigned int, _Out_ uint8_t *)"),
    pthread_sigmask: library.func("int pthread_sigmask(int, const uint8_t *, _Out_ uint8_t *)"),
  };
  return loaded;
}

const SIG_SETMASK = 2;
const everySignal = Buffer.alloc(128, 0xff);

/** Holds this thread's signals back while a call of a library runs that takes an interrupted wait for a failure. */
export function withoutSignals<T>(work: () => T): T {
  const before = Buffer.alloc(128);
  libc().pthread_sigmask(SIG_SETMASK, everySignal, before);
  try {
    return work();
  } finally {
    libc().pthread_sigmask(SIG_SETMASK, before, null);
  }
}

// The library refuses more than a few dozen calls at once, and the pool has fewer threads than that anyway.
const mostCalls = 24;
const waiting: (() => void)[] = [];
let running = 0;

/** Runs a slow system call on a thread of the pool, so that the event loop goes on. Many at once wait for their turn. */
export async function onThread<A extends unknown[]>(call: SlowCall<A>, ...args: A): Promise<number> {
  if (running >= mostCalls) await new Promise<void>((resolve) => waiting.push(resolve));
  else running++;
  try {
    return await new Promise<number>((resolve, reject) => {
      call.async(...args, (error, result) => (error ? reject(error) : resolve(result)));
    });
  } finally {
    // Whoever waits longest takes over the place.
    const next = waiting.shift();
    if (next) next();
    else running--;
  }
}

/** The error number of the last failed call; read it at once. */
export function errno(): number {
  return koffi.errno();
}

const names: Readonly<Record<number, [name: string, code: FaultCode]>> = {
  1: ["EPERM", "forbidden"],
  2: ["ENOENT", "not-found"],
  3: ["ESRCH", "not-found"],
  11: ["EAGAIN", "unavailable"],
  13: ["EACCES", "forbidden"],
  16: ["EBUSY", "conflict"],
  17: ["EEXIST", "already-exists"],
  19: ["ENODEV", "not-found"],
  22: ["EINVAL", "invalid"],
  34: ["ERANGE", "invalid"],
  95: ["EOPNOTSUPP", "unsupported"],
  97: ["EAFNOSUPPORT", "unsupported"],
  98: ["EADDRINUSE", "already-exists"],
  99: ["EADDRNOTAVAIL", "not-found"],
  101: ["ENETUNREACH", "unavailable"],
  105: ["ENOBUFS", "unavailable"],
  111: ["ECONNREFUSED", "unavailable"],
};

/** A Fault for an error number of the kernel, with the kernel's own words where it gave some. */
export function systemFault(doing: string, number: number, extra = ""): Fault {
  const [name, code] = names[number] ?? [`errno ${number}`, "internal"];
  return new Fault(code, `${doing}: ${name}${extra ? ` (${extra})` : ""}`, { details: { errno: number } });
}
