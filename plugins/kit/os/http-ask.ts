// HTTP requests for probes and hooks: no keep-alive, no certificate checks, redirects followed on the same host only, bounded bodies.

import { type ClientRequest, type IncomingMessage, request as httpRequest } from "node:http";
import { request as httpsRequest } from "node:https";
import type { Call } from "../base/call.ts";

const mostRequests = 10;
/** Those that Go's client follows. */
const redirects = new Set([301, 302, 303, 307, 308]);
const longestBody = 10 * 1024;

export interface HttpAsk {
  readonly url: URL;
  readonly headers: Readonly<Record<string, string>>;
}

export interface HttpAnswer {
  readonly statusCode: number;
  readonly body: string;
}

/** An answer began, and broke off. */
export class BrokenAnswer extends Error {}

/** A redirect to another host is the answer. Rejects with a message in Go's words when there is none. */
export async function httpAsk(ask: HttpAsk, call: Call): Promise<HttpAnswer> {
  let { url } = ask;
  for (let requests = 0; requests < mostRequests; requests++) {
    const { answer, location } = await once(url, ask.headers, call);
    if (!location || !redirects.has(answer.statusCode)) return answer;
    const next = new URL(location, url);
    if (next.hostname !== url.hostname) return answer;
    url = next;
  }
  throw new Error(`Get "${url.href}": stopped after ${mostRequests} redirects`);
}

function once(
  url: URL,
  headers: Readonly<Record<string, string>>,
  call: Call,
): Promise<{ answer: HttpAnswer; location: string | undefined }> {
  return new Promise((resolve, reject) => {
    const options = { method: "GET", headers, agent: false, rejectUnauthorized: false, signal: call.signal } as const;
    let hasBegun = false;
    const broken = () => {
      const late = "context deadline exceeded (Client.Timeout or context cancellation while reading body)";
      reject(new BrokenAnswer(call.signal.aborted ? late : "unexpected EOF"));
    };
    const onResponse = (response: IncomingMessage) => {
      hasBegun = true;
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
      response.on("error", broken);
    };
    let sent: ClientRequest;
    try {
      sent = url.protocol === "https:" ? httpsRequest(url, options, onResponse) : httpRequest(url, options, onResponse);
    } catch (error) {
      reject(new Error(`Get "${url.href}": ${(error as Error).message}`, { cause: error }));
      return;
    }
    sent.on("error", (error: NodeJS.ErrnoException) => {
      if (hasBegun) broken();
      else reject(new Error(explain(url, error, call), { cause: error }));
    });
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
