// Answer is what the API path produces, before it becomes a web Response or bytes on a socket.

import type { Sink } from "../../plugins/kit/base/sink-response.ts";
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
  /** To be called when the answer is sent, or its client is gone; set only on bytes that go to a connection. */
  sent?: () => void;
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

/** Upstream's limits: with more than so much text in all, each warning is cut, and those beyond are left out. */
const mostWarningCharacters = 4096;
const mostCharactersWhenCut = 256;

/** Adds `Warning: 299` headers; several share one header line, as HTTP allows. */
export function addWarnings(answer: Answer, warnings: readonly string[]): Answer {
  if (warnings.length === 0) return answer;
  const texts = new Set<string>();
  let length = 0;
  for (const text of warnings) {
    if (length > mostWarningCharacters) break;
    if (!texts.has(text)) length += text.length;
    texts.add(text);
  }
  const shown = length > mostWarningCharacters ? firstOf(texts) : [...texts];
  answer.headers.warning = shown.map((text) => `299 - ${quoteHeader(text)}`).join(", ");
  return answer;
}

function firstOf(texts: Iterable<string>): string[] {
  const shown: string[] = [];
  let length = 0;
  for (const text of texts) {
    if (length >= mostWarningCharacters) break;
    const cut = text.slice(0, mostCharactersWhenCut);
    shown.push(cut);
    length += cut.length;
  }
  return shown;
}

function quoteHeader(text: string): string {
  // Control characters and non-ASCII cannot stand in a header.
  const clean = text.replace(/[^\x20-\x7e]/g, "?");
  return `"${clean.replace(/["\\]/g, "\\$&")}"`;
}
