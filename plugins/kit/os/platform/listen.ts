// Listening on a port or a unix socket, with errors that name the process that has the port and the flag that chooses another.

import { createServer, type Server } from "node:net";
import { Fault } from "../../base/fault.ts";
import { portOwner } from "./port-owner.ts";

/** On `::` both families are listened to, or IPv4 alone where the kernel has no other. */
export type ListenAddress = { host: string; port: number } | { path: string };

/** `flag` is the one that chooses the port. */
export async function listen(server: Server, where: ListenAddress, flag?: string): Promise<void> {
  try {
    await listenAt(server, where, flag);
  } catch (error) {
    // A kernel without IPv6 has no such place: IPv4 is everywhere there is, then.
    if (!isEverywhere(where) || !hasNoSuchFamily(error)) throw error;
    await listenAt(server, { ...where, host: "0.0.0.0" }, flag);
  }
}

/** Throws what `listen` would: for a start that must not begin to write before it knows that it can go on. */
export async function checkPort(where: { host: string; port: number }, flag: string): Promise<void> {
  if (where.port === 0) return;
  const server = createServer();
  await listen(server, where, flag);
  await new Promise<void>((resolve) => server.close(() => resolve()));
}

function listenAt(server: Server, where: ListenAddress, flag: string | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    const onError = (error: NodeJS.ErrnoException) => reject(describeListenError(error, where, flag));
    server.once("error", onError);
    server.listen(where, () => {
      server.off("error", onError);
      resolve();
    });
  });
}

function isEverywhere(where: ListenAddress): where is { host: string; port: number } {
  return "host" in where && where.host === "::";
}

function hasNoSuchFamily(error: unknown): boolean {
  const { code } = ((error as Fault).cause ?? {}) as NodeJS.ErrnoException;
  return code === "EAFNOSUPPORT" || code === "EADDRNOTAVAIL" || code === "EINVAL";
}

function describeListenError(error: NodeJS.ErrnoException, where: ListenAddress, flag?: string): Fault {
  const place = "path" in where ? where.path : `${where.host}:${where.port}`;
  if (error.code === "EADDRINUSE")
    return new Fault("already-exists", `Cannot listen on ${place}: ${inUse(where, flag)}`, { cause: error });
  if (error.code === "EACCES")
    return new Fault("forbidden", `Cannot listen on ${place}: permission denied`, { cause: error });
  return new Fault("unavailable", `Cannot listen on ${place}: ${error.message}`, { cause: error });
}

function inUse(where: ListenAddress, flag: string | undefined): string {
  const owner = ("port" in where && portOwner(where.port)) || "another program";
  return `the address is in use by ${owner}${flag ? `; stop that one, or choose another port with --${flag}` : ""}`;
}
