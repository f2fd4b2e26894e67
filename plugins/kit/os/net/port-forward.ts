// One connection to a port inside a network namespace. A socket belongs to the namespace it was made in, so only that happens inside.

import { Socket } from "node:net";
import type { Duplex } from "node:stream";
import { pipeline } from "node:stream/promises";
import type { Call } from "../../base/call.ts";
import type { Clock } from "../../base/clock.ts";
import { Fault } from "../../base/fault.ts";
import { errno, libc, SOCK_CLOEXEC } from "./libc.ts";
import { inNetns } from "./netns.ts";

const ipv4 = 2;
const ipv6 = 10;
const streamSocket = 1;
const nonBlocking = 0o4000;
const connectMs = 10_000;
const isConnected = 106;
const inProgress = [114, 115];
const refused = 111;

/**
 * Passes bytes both ways between the connection and the port, until both directions have ended. Without a namespace the port is this
 * host's own.
 */
export async function forwardPort(
  netnsPath: string | undefined,
  port: number,
  connection: Duplex,
  clock: Clock,
  call: Call,
): Promise<void> {
  if (!Number.isInteger(port) || port < 1 || port > 65535)
    throw new Fault("invalid", `Cannot forward to port ${port}: it is not a port`);
  const socket = await dial(netnsPath, port, clock, call);
  const onAbort = () => socket.destroy();
  call.signal.addEventListener("abort", onAbort, { once: true });
  try {
    // Each direction ends by itself: a half-closed connection still answers.
    await Promise.all([pipeline(connection, socket, { end: true }), pipeline(socket, connection, { end: true })]);
  } catch (cause) {
    call.signal.throwIfAborted();
    const { code } = cause as NodeJS.ErrnoException;
    if (code !== "ERR_STREAM_PREMATURE_CLOSE" && code !== "ECONNRESET" && code !== "EPIPE") throw cause;
  } finally {
    call.signal.removeEventListener("abort", onAbort);
    socket.destroy();
  }
}

/** Tries the loopback address of both families, as a program may listen on either. */
async function dial(netnsPath: string | undefined, port: number, clock: Clock, call: Call): Promise<Socket> {
  let failure: number | undefined;
  for (const family of [ipv4, ipv6]) {
    const outcome = await dialFamily(netnsPath, family, port, clock, call);
    if (outcome instanceof Socket) return outcome;
    failure ??= outcome;
  }
  const why = failure === refused ? "connection refused" : `errno ${failure}`;
  throw new Fault("unavailable", `Cannot connect to port ${port} of the pod: ${why}`);
}

/** The socket, or the error number. */
async function dialFamily(
  netnsPath: string | undefined,
  family: number,
  port: number,
  clock: Clock,
  call: Call,
): Promise<Socket | number> {
  const make = () => {
    const made = libc().socket(family, streamSocket | nonBlocking | SOCK_CLOEXEC, 0);
    return made < 0 ? -errno() : made;
  };
  const fd = netnsPath === undefined ? make() : inNetns(netnsPath, make);
  if (fd < 0) return -fd;
  const address = loopback(family, port);
  const until = clock.monotonic() + connectMs;
  try {
    for (;;) {
      const number = libc().connect(fd, address, address.length) === 0 ? isConnected : errno();
      if (number === isConnected) return new Socket({ fd, readable: true, writable: true, allowHalfOpen: true });
      if (!inProgress.includes(number) || clock.monotonic() > until) {
        libc().close(fd);
        return number;
      }
      await clock.sleep(5, call);
    }
  } catch (error) {
    libc().close(fd);
    throw error;
  }
}

function loopback(family: number, port: number): Buffer {
  const address = Buffer.alloc(family === ipv4 ? 16 : 28);
  address.writeUInt16LE(family, 0);
  address.writeUInt16BE(port, 2);
  if (family === ipv4) address.set([127, 0, 0, 1], 4);
  else address.writeUInt8(1, 23);
  return address;
}
