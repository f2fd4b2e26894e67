// A connection to a kubelet: over the line that its node holds open, and where that does not answer soon, straight to the node's address
// as well; whichever comes first. After a change of the node's address the tunnel is dead without having been closed.

import net from "node:net";
import type { Duplex } from "node:stream";
import type { Call } from "../../../plugins/kit/base/call.ts";
import type { Clock } from "../../../plugins/kit/base/clock.ts";
import type { NodeLines } from "./node-lines.ts";

export interface KubeletAddress {
  readonly host: string;
  readonly port: number;
}

/** A node that is well connects back within a round trip or two. */
const doubtMs = 2_000;

export async function dialKubelet(
  lines: NodeLines,
  node: string,
  address: KubeletAddress,
  clock: Clock,
  call: Call,
): Promise<Duplex> {
  const doubt = Promise.withResolvers<void>();
  const cancel = clock.after(doubtMs, doubt.resolve);
  // Not cancelled when the direct connection was quicker: an answer shows that the tunnel is alive.
  const byLine = lines.dial(node, call);
  byLine.catch(() => doubt.resolve());
  const stop = new AbortController();
  const straight = doubt.promise.then(() => connect(address, { signal: AbortSignal.any([call.signal, stop.signal]) }));
  let first: Duplex | undefined;
  const unlessFirst = (stream: Duplex) => {
    if (stream !== first) stream.destroy();
  };
  try {
    first = await Promise.any([byLine, straight]);
    return first;
  } catch (error) {
    // What the line said: nodes that have one often cannot be connected to at all.
    throw (error as AggregateError).errors[0];
  } finally {
    cancel();
    stop.abort();
    doubt.resolve();
    for (const way of [byLine, straight]) way.then(unlessFirst, () => {});
  }
}

function connect({ host, port }: KubeletAddress, { signal }: Call): Promise<Duplex> {
  return new Promise((resolve, reject) => {
    if (signal.aborted) return reject(signal.reason as Error);
    const socket = net.connect({ host, port, noDelay: true });
    const onAbort = () => void socket.destroy(signal.reason as Error);
    signal.addEventListener("abort", onAbort, { once: true });
    socket.once("error", reject);
    socket.once("connect", () => {
      signal.removeEventListener("abort", onAbort);
      socket.off("error", reject);
      resolve(socket);
    });
  });
}
