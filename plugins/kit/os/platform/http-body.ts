// Bodies between web streams and node's: read only as fast as the reader takes them, broken off when the signal says so.

import type http from "node:http";
import type { Readable } from "node:stream";
import { Fault } from "../../base/fault.ts";
import { TextRequest } from "../../base/text-request.ts";

const readAheadBytes = 64 * 1024;

/**
 * An incoming message as a stream that is paused while its reader is behind. Ends early only with an error. `drop` is what becomes
 * of the rest when the reader wants no more.
 */
export function bodyOf(
  incoming: Readable,
  signal: AbortSignal,
  drop = () => void incoming.destroy(),
): ReadableStream<Uint8Array> {
  let isOver = false;
  const onAbort = () => void incoming.destroy(signal.reason as Error);
  const finish = (how: () => void) => {
    if (isOver) return;
    isOver = true;
    signal.removeEventListener("abort", onAbort);
    how();
  };
  return new ReadableStream<Uint8Array>(
    {
      start(controller) {
        if (signal.aborted) onAbort();
        signal.addEventListener("abort", onAbort, { once: true });
        incoming.on("data", (chunk: Buffer) => {
          if (isOver) return;
          controller.enqueue(new Uint8Array(chunk.buffer, chunk.byteOffset, chunk.byteLength));
          if ((controller.desiredSize ?? 0) <= 0) incoming.pause();
        });
        incoming.on("end", () => finish(() => controller.close()));
        const fail = (error?: Error) =>
          finish(() => controller.error(signal.aborted ? signal.reason : brokenOff(error)));
        incoming.on("error", fail);
        incoming.on("close", () => fail());
        incoming.pause();
      },
      pull() {
        incoming.resume();
      },
      cancel() {
        finish(drop);
      },
    },
    new ByteLengthQueuingStrategy({ highWaterMark: readAheadBytes }),
  );
}

function brokenOff(error: Error | undefined): Fault {
  return new Fault("unavailable", "The connection broke off within the answer", error ? { cause: error } : {});
}

/** What a request sends; a body that came in one piece has a known length and can be sent again. */
export interface OutgoingBody {
  readonly length: number | undefined;
  readonly isRepeatable: boolean;
  send(outgoing: http.ClientRequest): void;
}

export async function outgoingBody(request: Request): Promise<OutgoingBody> {
  if (request instanceof TextRequest) return whole(request.ready);
  if (request.body === null) return whole(undefined);
  const reader = request.body.getReader();
  const first = await reader.read();
  if (first.done) return whole(undefined);
  const second = await reader.read();
  if (second.done) return whole(first.value);
  return {
    length: undefined,
    isRepeatable: false,
    send: (outgoing) => void pump(reader, [first.value, second.value], outgoing),
  };
}

function whole(bytes: Uint8Array | undefined): OutgoingBody {
  return { length: bytes?.length ?? 0, isRepeatable: true, send: (outgoing) => void outgoing.end(bytes) };
}

async function pump(
  reader: ReadableStreamDefaultReader<Uint8Array>,
  begun: readonly Uint8Array[],
  outgoing: http.ClientRequest,
): Promise<void> {
  try {
    for (const chunk of begun) await write(outgoing, chunk);
    for (let next = await reader.read(); !next.done; next = await reader.read()) await write(outgoing, next.value);
    outgoing.end();
  } catch (error) {
    outgoing.destroy(error instanceof Error ? error : new Error(String(error)));
    // The sender of the body learns from the request's failure; this only frees its source.
    reader.cancel(error).catch(() => {});
  }
}

function write(outgoing: http.ClientRequest, chunk: Uint8Array): Promise<void> | undefined {
  if (outgoing.destroyed) throw new Fault("unavailable", "The connection broke off within the request");
  if (outgoing.write(chunk)) return undefined;
  return new Promise((resolve) => {
    const settle = () => {
      outgoing.off("drain", settle);
      outgoing.off("close", settle);
      resolve();
    };
    outgoing.on("drain", settle);
    outgoing.on("close", settle);
  });
}
