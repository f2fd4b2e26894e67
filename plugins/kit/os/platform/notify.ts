// Tells systemd how this service is (sd_notify): ready, stopping, alive. Does nothing where nobody asked to be told.

const afUnix = 1;
const sockDgram = 2;
const longestPath = 107;

/** Sends the state, such as `READY=1`, to the socket that the service manager named. False when there is none or it is gone. */
export async function notifyServiceManager(
  state: string,
  socketPath: string | undefined = process.env["NOTIFY_SOCKET"],
): Promise<boolean> {
  if (!socketPath || Buffer.byteLength(socketPath) > longestPath) return false;
  const { libc, SOCK_CLOEXEC } = await import("../net/libc.ts");
  const descriptor = libc().socket(afUnix, sockDgram | SOCK_CLOEXEC, 0);
  if (descriptor < 0) return false;
  const address = addressOf(socketPath);
  const message = Buffer.from(state);
  const sent = libc().sendto(descriptor, message, message.length, 0, address, address.length);
  libc().close(descriptor);
  return Number(sent) === message.length;
}

/** How often the service manager wants to hear `WATCHDOG=1`: half of its limit, undefined when it does not. */
export function watchdogIntervalMs(
  environment: Readonly<Record<string, string | undefined>> = process.env,
): number | undefined {
  const { WATCHDOG_USEC: limit, WATCHDOG_PID: pid } = environment;
  const microseconds = Number(limit);
  if (!limit || !(microseconds > 0) || (pid && pid !== String(process.pid))) return undefined;
  return microseconds / 2000;
}

let isTold = false;

/**
 * Tells the service manager that the program has started and how it is, then as often as it asked that the event loop still turns, and
 * when the signal comes that the program is stopping. A program that hangs falls silent and is started anew. Told again, only the
 * status is news.
 */
export async function keepServiceManagerTold(status: string, signal: AbortSignal): Promise<void> {
  if (!process.env["NOTIFY_SOCKET"]) return;
  await notifyServiceManager(`READY=1\nSTATUS=${status}`);
  if (isTold) return;
  isTold = true;
  const everyMs = watchdogIntervalMs();
  if (everyMs !== undefined) setInterval(() => void notifyServiceManager("WATCHDOG=1"), everyMs).unref();
  signal.addEventListener("abort", () => void notifyServiceManager("STOPPING=1"), { once: true });
}

/** A sockaddr_un; a path that begins with `@` is one of the abstract names, which begin with a zero byte. */
function addressOf(path: string): Buffer {
  const name = Buffer.from(path);
  if (path.startsWith("@")) name[0] = 0;
  const family = Buffer.alloc(2);
  family.writeUInt16LE(afUnix);
  return Buffer.concat([family, name, ...(path.startsWith("@") ? [] : [Buffer.of(0)])]);
}
