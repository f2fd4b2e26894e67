// The node's end of the line to one server: holds it open, and connects the server with the kubelet here whenever it asks.

import net from "node:net";
import { networkInterfaces } from "node:os";
import type { Duplex } from "node:stream";
import type { Call } from "../../plugins/kit/base/call.ts";
import type { Clock } from "../../plugins/kit/base/clock.ts";
import { Fault } from "../../plugins/kit/base/fault.ts";
import { joinStreams } from "../../plugins/kit/base/join-streams.ts";
import type { Log } from "../../plugins/kit/base/log.ts";
import {
  failedMessage,
  lineSplitter,
  nodeLineBeatMs,
  nodeLinePath,
  nodeLineProtocol,
  nodeLineSilenceMs,
  parseMessage,
} from "../../plugins/kit/kube/node-line.ts";
import type { HttpFetch } from "../../plugins/kit/os/platform/http-client.ts";

export interface NodeLineOptions {
  readonly server: string;
  /** With the node's own certificate; asked each time, since that is renewed. */
  readonly connection: () => HttpFetch;
  readonly kubeletPort: number;
  readonly clock: Clock;
  readonly log: Log;
}

/** How often it is checked whether the address that the line began at is still this node's. */
const lookMs = 5_000;
const firstRetryMs = 1_000;
const longestRetryMs = 60_000;

/** Runs until it is stopped; a server that cannot be reached is tried again, ever less often. */
export async function keepNodeLine(options: NodeLineOptions, call: Call): Promise<void> {
  const { server, clock, log } = options;
  let retryMs = firstRetryMs;
  while (!call.signal.aborted) {
    try {
      const line = await open(options, nodeLinePath, call);
      retryMs = firstRetryMs;
      await listen(options, line, call);
    } catch (error) {
      if (!call.signal.aborted) log.debug({ err: error, server }, "the line to the server could not be opened");
      retryMs = Math.min(retryMs * 2, longestRetryMs);
    }
    await clock.sleep(retryMs * (0.5 + Math.random() / 2), call).catch(() => {}); // stopped: the loop ends
  }
}

async function open({ server, connection }: NodeLineOptions, path: string, call: Call): Promise<Duplex> {
  const headers = { connection: "Upgrade", upgrade: nodeLineProtocol };
  const result = await connection().upgrade({ url: `${server}${path}`, headers }, call);
  if (!result.upgraded) throw new Fault("unavailable", `${server} answered ${result.response.status} to ${path}`);
  if (result.head.length > 0) result.socket.unshift(result.head);
  return result.socket;
}

/** Resolves when the line is gone. */
function listen(options: NodeLineOptions, line: Duplex, call: Call): Promise<void> {
  const { clock } = options;
  const { promise, resolve } = Promise.withResolvers<void>();
  let heardAt = clock.monotonic();
  const split = lineSplitter((text) => {
    const message = parseMessage(text);
    if (message?.say === "dial") void connect(options, line, message.id, call);
  });
  line.on("data", (chunk: Buffer) => {
    heardAt = clock.monotonic();
    split(chunk);
  });
  const beat = () => {
    if (clock.monotonic() - heardAt > nodeLineSilenceMs) return line.destroy();
    line.write("\n");
    cancel = clock.after(nodeLineBeatMs, beat);
  };
  let cancel = clock.after(nodeLineBeatMs, beat);
  // A connection from an address that the node has lost stays silent, and would be waited for.
  const look = () => {
    if (hasLostAddress(line)) return line.destroy();
    cancelLook = clock.after(lookMs, look);
  };
  let cancelLook = clock.after(lookMs, look);
  const hangUp = () => void line.destroy();
  call.signal.addEventListener("abort", hangUp, { once: true });
  line.on("error", () => {}); // "close" follows, and is what counts
  line.once("end", hangUp);
  line.once("close", () => {
    cancel();
    cancelLook();
    call.signal.removeEventListener("abort", hangUp);
    resolve();
  });
  return promise;
}

function hasLostAddress(line: Duplex): boolean {
  const { localAddress } = line as Partial<net.Socket>;
  if (!localAddress) return false;
  const begun = localAddress.replace(/^::ffff:/, "").replace(/%.*$/, "");
  return !Object.values(networkInterfaces()).some((entries) => entries?.some(({ address }) => address === begun));
}

/** The kubelet first: a server that is told "failed" need not wait. */
async function connect(options: NodeLineOptions, line: Duplex, id: string, call: Call): Promise<void> {
  let kubelet: net.Socket | undefined;
  try {
    kubelet = await dialKubelet(options.kubeletPort);
    const far = await open(options, `${nodeLinePath}/${id}`, call);
    // Nobody waits for their end: the server and the kubelet learn of it themselves.
    void joinStreams(far, kubelet, options.clock);
  } catch (error) {
    kubelet?.destroy();
    options.log.debug({ err: error }, "a connection that the server asked for could not be made");
    if (!line.destroyed) line.write(failedMessage(id));
  }
}

function dialKubelet(port: number): Promise<net.Socket> {
  return new Promise((resolve, reject) => {
    const socket = net.connect({ host: "127.0.0.1", port, noDelay: true });
    socket.once("error", reject);
    socket.once("connect", () => {
      socket.off("error", reject);
      resolve(socket);
    });
  });
}
