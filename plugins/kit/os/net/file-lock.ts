// A lock that processes share through a file (flock). Within this process one waits in a queue first: waiting for the file takes a
// thread of the pool, and many waiters would leave none for whoever holds it.

import type { Call } from "../../base/call.ts";
import { EAGAIN, errno, LOCK_EX, LOCK_NB, libc, O_CLOEXEC, O_CREAT_RDWR, onThread, systemFault } from "./libc.ts";

const queues = new Map<string, Promise<unknown>>();

/** Runs the work while nobody else holds the lock; its folder must exist. The kernel drops the lock of a killed process. */
export async function withFileLock<T>(path: string, work: () => T | Promise<T>, call: Call): Promise<T> {
  const mine = (queues.get(path) ?? Promise.resolve()).then(async () => {
    call.signal.throwIfAborted();
    const fd = await lock(path);
    try {
      return await work();
    } finally {
      libc().close(fd);
    }
  });
  const settled = mine.catch(() => {});
  queues.set(path, settled);
  void settled.then(() => {
    if (queues.get(path) === settled) queues.delete(path);
  });
  return mine;
}

async function lock(path: string): Promise<number> {
  const { open, flock, close } = libc();
  const fd = open(path, O_CREAT_RDWR | O_CLOEXEC, 0o600);
  if (fd < 0) throw systemFault(`Cannot open the lock "${path}"`, errno());
  if (flock(fd, LOCK_EX | LOCK_NB) === 0) return fd;
  const reason = errno();
  if (reason === EAGAIN && (await onThread(flock, fd, LOCK_EX)) === 0) return fd;
  close(fd);
  throw systemFault(`Cannot take the lock "${path}"`, reason);
}
