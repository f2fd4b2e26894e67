// What becomes of an error that nobody waits for, in a program that is to run for years. A connection that ends while nobody listens
// harms nothing: it is told, and life goes on. Anything else may have ended a loop that the node lives from, and a node that only
// seems to work is worse than one that starts anew within a second: it is told in one line with its place, and the process ends.
// Containers run on either way.

import type { Log } from "../../base/log.ts";

/** For programs that stay. Once a process. */
export function handleStrayErrors(log: Log): void {
  const tell = (error: unknown, isHarmless: boolean) => {
    const facts = { err: error, at: placeOf(error) };
    if (isHarmless) return log.error(facts, "a connection broke that nobody listened to; going on");
    log.error(facts, "an error that nobody waited for; ending, to be started anew (containers run on)");
    process.exit(1);
  };
  process.on("unhandledRejection", (error) => tell(error, isBrokenOff(error)));
  // Thrown by the event loop itself where a socket has no listener, so that nothing was interrupted half way.
  process.on("uncaughtException", (error) => tell(error, isBrokenOff(error) || isOfSocket(error)));
}

const isBrokenOff = (error: unknown): boolean =>
  error instanceof Error && "code" in error && error.code === "ERR_STREAM_PREMATURE_CLOSE";

const socketCalls = new Set(["connect", "read", "write", "shutdown", "getaddrinfo"]);

const isOfSocket = (error: unknown): boolean =>
  error instanceof Error && "syscall" in error && socketCalls.has(String(error.syscall));

/** The first line of the stack that names a file: enough to find the place, and one line. */
function placeOf(error: unknown): string | undefined {
  const stack = error instanceof Error ? error.stack : undefined;
  return stack
    ?.split("\n")
    .find((line) => /^\s+at .*(?:file:|\/)/.test(line) && !line.includes("node:"))
    ?.trim();
}
