// HTTP requests for probes and hooks: no keep-alive, no certificate checks, redirects followed on the same host only, bounded bodies.

import { type ClientRequest, type IncomingMessage, request as httpRequest } from "node:http";
import { request as httpsRequest } from "node:https";
import type { Call } from "./call.ts";

const mostRedirects = 10;
const longestBody = 10 * 1024;

export interface HttpAsk {
  readonly url: URL;
  readonly headers: Readonly<Record<string, string>>;
}

export interface HttpAnswer {
  readonly statusCode: number;
  readonly body: string;
  /** Set when a redirect to another host was not followed. */
  readonly redirectedTo?: string;
}

/** Rejects with a message in Go's words when there is no answer. */
export async function httpAsk(ask: HttpAsk, call: Call): Promise<HttpAnswer> {
  let { url } = ask;
  for (let hop = 0; hop <= mostRedirects; hop++) {
    const { answer, location } = await once(url, ask.headers, call);
    if (!location || answer.statusCode < 300 || answer.statusCode > 399) return answer;
    const next = new URL(location, url);
    if (next.hostname !== url.hostname) return { ...answer, redirectedTo: next.href };
    url = next;
  }
  throw new Error(`Get "${url.href}": stopped after ${mostRedirects} redirects`);
}

function once(
  url: URL,
  headers: Readonly<Record<string, string>>,
  call: Call,
): Promise<{ answer: HttpAnswer; location: string | undefined }> {
  return new Promise((resolve, reject) => {
    const options = { method: "GET", headers, agent: false, rejectUnauthorized: false, signal: call.signal } as const;
    const onResponse = (response: IncomingMessage) => {
      const chunks: Buffer[] = [];
      let size = 0;
      const finish = () => {
        const body = Buffer.concat(chunks).subarray(0, longestBody).toString("utf8");
        resolve({ answer: { statusCode: response.statusCode ?? 0, body }, location: response.headers.location });
        response.destroy();
      };
      response.on("data", (chunk: Buffer) => {
        if (size < longestBody) chunks.push(chunk);
        size += chunk.length;
        if (size >= longestBody) finish();
      });
      response.on("end", finish);
      response.on("error", finish);
    };
    let sent: ClientRequest;
    try {
      sent = url.protocol === "https:" ? httpsRequest(url, options, onResponse) : httpRequest(url, options, onResponse);
    } catch (error) {
      reject(new Error(`Get "${url.href}": ${(error as Error).message}`, { cause: error }));
      return;
    }
    sent.on("error", (error: NodeJS.ErrnoException) => reject(new Error(explain(url, error, call), { cause: error })));
    sent.end();
  });
}

function explain(url: URL, error: NodeJS.ErrnoException, call: Call): string {
  const get = `Get "${url.href}": `;
  if (call.signal.aborted) return `${get}context deadline exceeded (Client.Timeout exceeded while awaiting headers)`;
  const address = `${url.hostname}:${url.port || (url.protocol === "https:" ? 443 : 80)}`;
  return get + dialError(address, error);
}

/** A failed connection in the words that users know from upstream. */
export function dialError(address: string, error: NodeJS.ErrnoException): string {
  const reasons: Record<string, string> = {
    ECONNREFUSED: "connection refused",
    EHOSTUNREACH: "no route to host",
    ENETUNREACH: "network is unreachable",
    ETIMEDOUT: "i/o timeout",
  };
  const reason = reasons[error.code ?? ""];
  if (reason) return `dial tcp ${address}: connect: ${reason}`;
  return error.code === "ECONNRESET" ? "EOF" : error.message;
}
