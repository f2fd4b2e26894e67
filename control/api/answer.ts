// Answer is what the API path produces, before it becomes a web Response or bytes on a socket.

import type { Sink } from "../../plugins/kit/sink-response.ts";
import type { Status } from "./status.ts";

type Body =
  | Uint8Array
  | readonly Uint8Array[]
  | string
  | undefined
  | ((sink: Sink) => void)
  | ReadableStream<Uint8Array>;

export interface Answer {
  status: number;
  headers: Record<string, string>;
  body: Body;
}

const jsonType = "application/json";

export function jsonAnswer(value: unknown, status = 200, type = jsonType): Answer {
  return bytesAnswer(`${JSON.stringify(value)}\n`, status, type);
}

export function bytesAnswer(body: Uint8Array | readonly Uint8Array[] | string, status = 200, type = jsonType): Answer {
  return { status, headers: { "content-type": type, "cache-control": "no-cache, private" }, body };
}

export function textAnswer(body: string, status = 200, type = "text/plain; charset=utf-8"): Answer {
  return {
    status,
    headers: { "content-type": type, "cache-control": "no-cache, private", "x-content-type-options": "nosniff" },
    body,
  };
}

/** For paths that lead nowhere. */
export const pageNotFound = (): Answer => textAnswer("404 page not found\n", 404);

export function statusAnswer(status: Status): Answer {
  const answer = jsonAnswer(status, status.code ?? 200);
  const retry = status.details?.retryAfterSeconds;
  if (retry !== undefined) answer.headers["retry-after"] = String(retry);
  return answer;
}

/** Adds `Warning: 299` headers; several share one header line, as HTTP allows. */
export function addWarnings(answer: Answer, warnings: readonly string[]): Answer {
  if (warnings.length > 0)
    answer.headers.warning = [...new Set(warnings)].map((text) => `299 - ${quoteHeader(text)}`).join(", ");
  return answer;
}

function quoteHeader(text: string): string {
  // Control characters and non-ASCII cannot stand in a header.
  const clean = text.replace(/[^\x20-\x7e]/g, "?").slice(0, 1024);
  return `"${clean.replace(/["\\]/g, "\\$&")}"`;
}
