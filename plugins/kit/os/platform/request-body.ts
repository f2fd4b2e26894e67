// Reads a request's whole body straight from its connection. Web streams in between cost more than a short request itself.

import { Fault } from "../../base/fault.ts";
import { ServedRequest } from "./served-request.ts";

/**
 * The body, at most so many bytes: Fault `too-many` beyond, `invalid` when it breaks off. What `look` throws at a part of it, in their
 * order, refuses the whole, and the rest is not kept.
 * Undefined for requests that did not come over a connection, or whose body someone else reads.
 */
export function wholeBody(
  request: Request,
  mostBytes: number,
  look?: (part: Uint8Array) => void,
): Promise<Buffer> | undefined {
  const incoming = request instanceof ServedRequest ? request.unread : undefined;
  if (!incoming) return undefined;
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let length = 0;
    const onEnd = () => {
      // Every request is closed some time; an error made for that would cost as much as the reading.
      incoming.off("close", onClose);
      resolve(chunks.length === 1 ? (chunks[0] as Buffer) : Buffer.concat(chunks, length));
    };
    const onError = (error: Error) => reject(broken(error.message));
    const onClose = () => reject(broken("the connection was closed"));
    incoming.on("data", (chunk: Buffer) => {
      length += chunk.length;
      try {
        if (length > mostBytes) throw new Fault("too-many", `the request body is larger than ${mostBytes} bytes`);
        look?.(chunk);
        chunks.push(chunk);
      } catch (error) {
        // The rest is read and dropped, so that the client gets to see the refusal.
        incoming.removeAllListeners("data").removeListener("end", onEnd).resume();
        chunks.length = 0;
        reject(error);
      }
    });
    incoming.once("error", onError);
    incoming.once("close", onClose);
    incoming.once("end", onEnd);
  });
}

function broken(why: string): Fault {
  return new Fault("invalid", `the request body could not be read: ${why}`);
}
