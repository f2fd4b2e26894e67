// The address that a request asks for, as a whole and normalised URL, from its target and the host it names.

import type http2 from "node:http2";
import type { TLSSocket } from "node:tls";
import { Fault } from "../../base/fault.ts";
import type { Incoming } from "./served-request.ts";

// What a URL parser would leave as it is. Nearly all requests are like that, and parsing takes longer than looking.
// Not like that are names that end in a number, which are read as IPv4 addresses, names in Punycode, and ports above 59999.
const octet = "(?:25[0-5]|2[0-4]\\d|1\\d\\d|[1-9]?\\d)";
const plainName = "(?!.*xn--)(?:[a-z0-9][a-z0-9._-]*\\.)?[a-z][a-z0-9_-]*";
const plainHost = new RegExp(`^(?:(?:${octet}\\.){3}${octet}|${plainName})(?::[1-5]?[1-9]\\d{3})?$`);
const ipv6Host = /^\[[0-9a-f:.]+\](?::\d+)?$/i;
const plainTarget = /^\/[A-Za-z0-9_~!$&'()*+,;:@=/?.%-]*$/;
const oddCharacter = /[^A-Za-z0-9_~!$&'()*+,;:@=/?.%-]/g;
const dotSegment = /\/\.{1,2}(?:\/|$)|%2e/i;

/**
 * Path and query as the client sent them. The URL of a request has its dot segments collapsed, encoded ones too, and no fragment; who
 * reads paths itself, or passes them on, needs those that were asked for. What no path may hold is percent-encoded.
 */
export function targetOf({ url = "" }: Pick<Incoming, "url">): string {
  const target = url.replace(/^https?:\/\/[^/?]*/, "");
  if (plainTarget.test(target)) return target;
  return target.replace(oddCharacter, (character) =>
    [...Buffer.from(character, "latin1")].map((byte) => `%${byte.toString(16).padStart(2, "0")}`).join(""),
  );
}

/**
 * Fault `invalid` where there is no telling what is asked for. `sent` is what `targetOf` makes of the message: a target may be a
 * megabyte, and is looked through once.
 */
export function urlOf(incoming: Incoming, sent = targetOf(incoming)): string {
  const target = incoming.url ?? "";
  const { authority, stream } = incoming as Partial<http2.Http2ServerRequest>;
  const host = (stream ? authority : incoming.headers.host) ?? "";
  // Proxies are asked with whole URLs, and so may servers be, in HTTP/1.1.
  if (!stream && /^https?:\/\//.test(target)) return parsed(target, target).href;
  if (!target.startsWith("/") || host === "") throw senseless(target);
  const scheme = stream || (incoming.socket as TLSSocket | undefined)?.encrypted ? "https" : "http";
  const url = `${scheme}://${host}${target}`;
  // Dots within a query stay as they are.
  const queryAt = target.indexOf("?");
  const path = queryAt < 0 ? target : target.slice(0, queryAt);
  if (plainHost.test(host) && sent === target && !dotSegment.test(path)) return url;
  const { href, hostname } = parsed(url, target);
  // A host that is more than one would move the border between host and path. An IPv6 address has many spellings, and one meaning.
  if (!ipv6Host.test(host) && hostname !== host.replace(/:\d+$/, "").toLowerCase()) throw senseless(target);
  return href;
}

function parsed(url: string, target: string): URL {
  const path = target.split("?", 1)[0] ?? "";
  // A URL parser reads these as slashes, which no server of paths does.
  if (path.includes("\\")) throw senseless(target);
  try {
    return new URL(url);
  } catch (error) {
    throw new Fault("invalid", "Cannot serve a request: its target or host is malformed", { cause: error });
  }
}

function senseless(target: string): Fault {
  return new Fault("invalid", `Cannot serve a request for ${JSON.stringify(target.slice(0, 100))}: it is no path`);
}
