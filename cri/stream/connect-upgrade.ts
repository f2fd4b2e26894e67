// The client's side of an HTTP upgrade: a raw connection, or the Fault that the server's refusal means.

import http from "node:http";
import https from "node:https";
import type { Duplex } from "node:stream";
import type { ConnectionOptions } from "node:tls";
import type { Call } from "../../plugins/kit/base/call.ts";
import { Fault, toFault } from "../../plugins/kit/base/fault.ts";
import { faultOfResponse } from "./outcome.ts";

export interface StreamTarget {
  /** `http:` or `https:`. */
  readonly url: string | URL;
  readonly headers?: Readonly<Record<string, string | readonly string[]>>;
  /** Certificates and the authority to trust, for `https:`. */
  readonly tls?: ConnectionOptions;
}

const longestRefusal = 64 * 1024;

/** Resolves with the connection after a 101; what came behind the answer can be read from it. */
export function connectUpgrade(
  { url, headers, tls }: StreamTarget,
  upgrade: Readonly<Record<string, string | readonly string[]>>,
  call: Call,
): Promise<{ socket: Duplex; headers: http.IncomingHttpHeaders }> {
  const target = new URL(url);
  const doing = `Cannot open a stream to ${target.protocol}//${target.host}`;
  return new Promise((resolve, reject) => {
    if (call.signal.aborted) return reject(toFault(call.signal.reason, doing));
    const request = (target.protocol === "https:" ? https : http).request(target, {
      method: "POST",
      // A shared agent would wait for a free connection, and these are never given back.
      agent: false,
      headers: { ...headers, ...upgrade, connection: "Upgrade", "content-length": "0" } as http.OutgoingHttpHeaders,
      ...(target.protocol === "https:" ? { ALPNProtocols: ["http/1.1"], ...tls } : {}),
    });
    const onAbort = () => {
      reject(toFault(call.signal.reason, doing));
      request.destroy();
    };
    call.signal.addEventListener("abort", onAbort, { once: true });
    const settled = () => call.signal.removeEventListener("abort", onAbort);
    request.once("upgrade", (response, socket, head) => {
      settled();
      if (head.length > 0) socket.unshift(head);
      resolve({ socket, headers: response.headers });
    });
    request.once("response", (response) => {
      settled();
      readBody(response, (body) => reject(faultOfResponse(response.statusCode ?? 500, body, doing)));
    });
    request.once("error", (error) => {
      settled();
      reject(new Fault("unavailable", `${doing}: ${error.message}`, { cause: error }));
    });
    request.end();
  });
}

function readBody(response: http.IncomingMessage, then: (body: string) => void): void {
  let body = "";
  response.on("data", (chunk: Buffer) => {
    body += chunk.toString();
    if (body.length > longestRefusal) response.destroy();
  });
  response.once("close", () => then(body));
}
