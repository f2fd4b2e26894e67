// Which headers travel on. What belongs to one connection, or tells who the client is, stays here.

import type { IncomingMessage } from "node:http";

const kept = new Set([
  "authorization",
  "connection",
  "content-length",
  "host",
  "keep-alive",
  "proxy-authenticate",
  "proxy-authorization",
  "proxy-connection",
  "te",
  "trailer",
  "transfer-encoding",
  "upgrade",
]);
/** What follows is a token: no protocol to speak, and nothing to be shown to anyone. */
export const tokenProtocol = "base64url.bearer.authorization.k8s.io.";

export function isPassed(name: string): boolean {
  const lower = name.toLowerCase();
  return !kept.has(lower) && !lower.startsWith("impersonate-") && !lower.startsWith("x-remote-") && lower[0] !== ":";
}

/** Of an upgrade: as of any request, with whom it is asked for, with the protocol that is asked for; a token among its names is taken out. */
export function upgradeHeaders(
  { headers, rawHeaders }: IncomingMessage,
  address: string,
): Record<string, string | string[]> {
  const passed: Record<string, string | string[]> = {};
  for (let at = 0; at + 1 < rawHeaders.length; at += 2) {
    const name = (rawHeaders[at] ?? "").toLowerCase();
    if (!isPassed(name) || name === "sec-websocket-protocol") continue;
    passed[name] = [...[passed[name] ?? []].flat(), rawHeaders[at + 1] ?? ""];
  }
  const protocols = (headers["sec-websocket-protocol"] ?? "")
    .split(",")
    .map((name) => name.trim())
    .filter((name) => name !== "" && !name.startsWith(tokenProtocol));
  if (protocols.length > 0) passed["sec-websocket-protocol"] = protocols.join(", ");
  const before = [passed["x-forwarded-for"] ?? []].flat();
  if (address !== "") passed["x-forwarded-for"] = [...before, address].join(", ");
  return { ...passed, connection: "Upgrade", upgrade: headers.upgrade ?? "" };
}
