// Reads an API path the way kube-apiserver's RequestInfo does: which group, version, namespace, resource, object and subresource it
// names. The path is decoded as a whole before it is split, so that an encoded slash separates segments like any other.

import { badRequest } from "../machinery/status.ts";

export interface ResourcePath {
  readonly group: string;
  readonly version: string;
  /** As authorization sees it: of a Namespace its own name. */
  readonly namespace: string;
  readonly plural: string;
  readonly name: string;
  readonly subresource: string;
  /** What follows the subresource, with its leading slash, undecoded: for proxies. */
  readonly rest: string;
  /** The deprecated forms that put a verb before the resource; nothing is served below `/proxy/` any more. */
  readonly prefix: "" | "watch" | "proxy";
  /** `…/namespaces/{namespace}/{resource}…`, also where the namespace is empty. */
  readonly inNamespace: boolean;
  /** False for paths that can be authorized but that no route has: a doubled slash at the start, no group behind `/apis`. */
  readonly isRoutable: boolean;
}

const namespaceSubresources: ReadonlySet<string | undefined> = new Set(["status", "finalize"]);

/** Undefined when the path is not one of a resource. */
export function parsePath(path: string): ResourcePath | undefined {
  const parts = segmentsOf(decodePath(path));
  const hasGroup = parts[0] === "apis";
  if (!hasGroup && parts[0] !== "api") return undefined;
  let at = hasGroup ? 3 : 2;
  if (parts.length <= at) return undefined;
  const group = hasGroup ? (parts[1] ?? "") : "";
  const version = parts[at - 1] ?? "";
  let prefix: ResourcePath["prefix"] = "";
  if (parts[at] === "watch" || parts[at] === "proxy") {
    if (parts.length === at + 1) return undefined;
    prefix = parts[at] as "watch" | "proxy";
    at++;
  }
  let namespace = "";
  let inNamespace = false;
  if (parts[at] === "namespaces") {
    namespace = parts[at + 1] ?? "";
    inNamespace = parts.length > at + 2 && !namespaceSubresources.has(parts[at + 2]);
    if (inNamespace) at += 2;
  }
  const [plural = "", name = "", subresource = ""] = parts.slice(at);
  return {
    group,
    version,
    namespace,
    plural,
    name,
    subresource: prefix === "proxy" ? "" : subresource,
    rest: subresource === "" ? "" : restAfter(path, at + 3),
    prefix,
    inNamespace,
    isRoutable: /^\/(?!\/|%2f)/i.test(path) && prefix !== "proxy" && (!hasGroup || group !== ""),
  };
}

/** Whether a segment is `.` or `..`: URL parsers collapse those, and would make another path of it than the one that was authorized. */
export function hasDotSegment(path: string): boolean {
  return segmentsOf(decodePath(path)).some((part) => part === "." || part === "..");
}

export function decodePath(path: string): string {
  if (!path.includes("%")) return path;
  try {
    return decodeURIComponent(path);
  } catch {
    throw badRequest(`the path holds a malformed escape: ${path.slice(0, 100)}`);
  }
}

function segmentsOf(decoded: string): string[] {
  let from = 0;
  let to = decoded.length;
  while (from < to && decoded[from] === "/") from++;
  while (to > from && decoded[to - 1] === "/") to--;
  return from === to ? [] : decoded.slice(from, to).split("/");
}

/** What follows so many segments. */
function restAfter(path: string, count: number): string {
  let left = count;
  for (const { 0: separator, index } of path.matchAll(/\/|%2f/gi))
    if (left-- === 0) return `/${path.slice(index + separator.length)}`;
  return "";
}
