// Requests that are passed on: a log to the kubelet that keeps it, a proxied request to the node, pod or service. Headers
// that belong to one connection, or tell who the client is, stay behind.

import type { Call } from "../../../plugins/kit/base/call.ts";
import { Fault, type FaultCode } from "../../../plugins/kit/base/fault.ts";
import type { Answer } from "../../machinery/answer.ts";
import type { ResourcePath } from "../path.ts";
import type { ApiRequest } from "../../machinery/request.ts";
import type { Scope } from "../scope.ts";
import { failure } from "../../machinery/status.ts";
import { maximumBodyBytes } from "../web.ts";
import type { ConnectTarget, NodeConnector } from "./connector.ts";
import { isPassed } from "./pass-headers.ts";
import { resolveLog, resolveTarget } from "./resolve.ts";
import { type LinkBase, linkThrough, rewriteLinks } from "./rewrite-links.ts";

const longestRefusal = 2048;
const reasons: Readonly<Record<number, readonly [string, FaultCode]>> = {
  400: ["BadRequest", "invalid"],
  404: ["NotFound", "not-found"],
  409: ["Conflict", "conflict"],
  429: ["TooManyRequests", "too-many"],
  503: ["ServiceUnavailable", "unavailable"],
  504: ["Timeout", "timeout"],
};

export async function passLog(connector: NodeConnector, path: ResourcePath, scope: Scope): Promise<Answer> {
  const target = resolveLog(scope.services, path, scope.request.query);
  const response = target && (await fetchLog(connector, target, scope.call));
  return {
    status: 200,
    headers: { "content-type": "text/plain", "cache-control": "no-cache, private" },
    body: response?.body ?? undefined,
  };
}

/** A kubelet's refusal becomes a Status with its words, so that kubectl shows them. */
export async function fetchLog(connector: NodeConnector, target: ConnectTarget, call: Call): Promise<Response> {
  const response = await connector.fetch(target, { method: "GET", headers: new Headers() }, call);
  if (response.status !== 200) throw await refusalOf(response);
  return response;
}

async function refusalOf(response: Response): Promise<Fault> {
  const message = (await response.text()).slice(0, longestRefusal).trim() || `the node answered ${response.status}`;
  const [reason, code] = reasons[response.status] ?? ["InternalError", "internal"];
  const status = reasons[response.status] ? response.status : 500;
  return new Fault(code, message, { details: failure(status, reason, message) });
}

export async function passProxy(connector: NodeConnector, path: ResourcePath, scope: Scope): Promise<Answer> {
  const { method, path: asked, query } = scope.request;
  const isRead = method === "GET" || method === "HEAD";
  const target = resolveTarget(scope.services, path, query);
  // Relative links of a page need the slash.
  if (path.rest === "" && isRead)
    return { status: 301, headers: { location: `${asked}/${searchOf(query)}` }, body: "" };
  const headers = new Headers();
  for (const [name, value] of scope.request.headers) if (isPassed(name)) headers.append(name, value);
  const { address } = scope.request.peer;
  if (address) headers.append("x-forwarded-for", address);
  const base = asked.slice(0, asked.length - path.rest.length);
  headers.set("x-forwarded-uri", `${base}${path.rest}`);
  const body = isRead ? null : await bodyFor(scope.request);
  const response = await connector.fetch(target, { method, headers, body }, scope.call);
  const answered: Record<string, string> = {};
  for (const [name, value] of response.headers)
    if (isPassed(name) && !name.startsWith("access-control-")) answered[name] = value;
  const proxied = target.kind === "address" ? new URL(target.url) : undefined;
  // URLs leave out a scheme's usual port, and pages do not.
  const own = proxied ? [proxied.host, `${proxied.hostname}:${proxied.port || usualPort(proxied)}`] : [];
  const links = {
    prefix: base,
    hosts: [...own, scope.request.headers.get("host") ?? ""].filter((host) => host !== ""),
  };
  const location = response.headers.get("location");
  if (location !== null) answered.location = linkThrough(links, location);
  const shown = location === null ? pageThrough(response, links, answered) : response.body;
  return { status: response.status, headers: answered, body: shown ?? undefined };
}

/** Short ones whole, so that their length can be told; others as they come. */
async function bodyFor(request: ApiRequest): Promise<Uint8Array | ReadableStream<Uint8Array> | null> {
  const announced = Number(request.headers.get("content-length") ?? Number.NaN);
  return announced <= maximumBodyBytes ? request.body() : request.stream();
}

const usualPort = ({ protocol }: URL) => (protocol === "https:" ? "443" : "80");

/** A page's links are led through the proxy too; packed ones are unpacked for it. Anything else passes as it is. */
function pageThrough(
  response: Response,
  links: LinkBase,
  answered: Record<string, string>,
): ReadableStream<Uint8Array> | null {
  const type = (response.headers.get("content-type") ?? "").split(";")[0]?.trim().toLowerCase();
  const packing = response.headers.get("content-encoding")?.trim().toLowerCase() ?? "";
  if (type !== "text/html" || !response.body || !["", "gzip", "deflate"].includes(packing)) return response.body;
  delete answered["content-encoding"];
  delete answered.etag;
  const page = response.body as ReadableStream<Uint8Array<ArrayBuffer>>;
  const plain = packing === "" ? page : page.pipeThrough(new DecompressionStream(packing as "gzip" | "deflate"));
  return plain.pipeThrough(rewriteLinks(links));
}

function searchOf(query: URLSearchParams): string {
  const text = query.toString();
  return text === "" ? "" : `?${text}`;
}
