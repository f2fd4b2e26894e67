// The shapes of answers: text, JSON, streams, and Faults as the plain text that upstream's kubelet sends.

import type { FaultCode } from "../../plugins/kit/base/fault.ts";
import { toFault } from "../../plugins/kit/base/fault.ts";

const statuses: Readonly<Record<FaultCode, number>> = {
  "not-found": 404,
  "already-exists": 409,
  conflict: 409,
  expired: 410,
  invalid: 400,
  forbidden: 403,
  unauthorized: 401,
  "too-many": 429,
  unsupported: 501,
  unavailable: 503,
  timeout: 504,
  internal: 500,
};

/** Nothing served here is to be guessed at or framed by a browser. */
const guards = { "x-content-type-options": "nosniff", "cache-control": "no-store" };

export function text(body: string, status = 200, type = "text/plain; charset=utf-8"): Response {
  return new Response(body, { status, headers: { "content-type": type, ...guards } });
}

export function json(value: unknown, status = 200): Response {
  return new Response(JSON.stringify(value), { status, headers: { "content-type": "application/json", ...guards } });
}

export function statusOfError(error: unknown): { status: number; message: string } {
  const { code, message } = toFault(error, "request failed");
  return { status: statuses[code], message };
}

export function failed(error: unknown): Response {
  const { status, message } = statusOfError(error);
  return text(`${message}\n`, status);
}

/** A body as fast as it is read; leaving it ends its source. */
export function streamed(
  pieces: AsyncGenerator<Uint8Array, void>,
  onLeave: () => void,
  type = "text/plain; charset=utf-8",
): Response {
  const body = new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        const next = await pieces.next();
        if (next.done) controller.close();
        else controller.enqueue(next.value);
      },
      async cancel() {
        onLeave();
        await pieces.return();
      },
    },
    { highWaterMark: 0 },
  );
  return new Response(body, { headers: { "content-type": type, ...guards } });
}
