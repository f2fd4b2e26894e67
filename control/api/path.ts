// Reads an API path: which group, version, resource, object and subresource it speaks of.

import { badRequest } from "./status.ts";

export interface ResourcePath {
  readonly group: string;
  readonly version: string;
  readonly namespace: string;
  readonly plural: string;
  readonly name: string;
  readonly subresource: string;
  /** What follows the subresource, with its leading slash, undecoded: for proxies. */
  readonly rest: string;
  /** The old `/watch/` prefix. */
  readonly isWatch: boolean;
}

const namespaceParts = new Set(["status", "finalize"]);

/** Undefined when the path is not one of a resource. */
export function parsePath(path: string): ResourcePath | undefined {
  const parts = path.split("/");
  let at: number;
  let group = "";
  if (parts[1] === "api") at = 2;
  else if (parts[1] === "apis") {
    group = parts[2] ?? "";
    at = 3;
    if (group === "") return undefined;
  } else return undefined;
  const version = parts[at] ?? "";
  if (version === "") return undefined;
  at++;
  let isWatch = false;
  if (parts[at] === "watch" && parts.length > at + 1) {
    isWatch = true;
    at++;
  }
  // The old form of a proxy: `/api/v1/proxy/nodes/n/…` for `/api/v1/nodes/n/proxy/…`.
  const isProxy = group === "" && version === "v1" && parts[at] === "proxy" && parts.length > at + 2;
  if (isProxy) at++;
  let namespace = "";
  if (
    parts[at] === "namespaces" &&
    parts.length > at + 2 &&
    parts[at + 2] !== "" &&
    !namespaceParts.has(parts[at + 2] ?? "")
  ) {
    namespace = segment(parts[at + 1] ?? "");
    at += 2;
  }
  const plural = segment(parts[at] ?? "");
  if (plural === "") return undefined;
  if (isProxy) {
    const rest = parts.length > at + 2 ? `/${parts.slice(at + 2).join("/")}` : "";
    const name = segment(parts[at + 1] ?? "");
    return { group: "", version, namespace, plural, name, subresource: "proxy", rest, isWatch };
  }
  const name = segment(parts[at + 1] ?? "");
  const subresource = segment(parts[at + 2] ?? "");
  const rest = parts.length > at + 3 ? `/${parts.slice(at + 3).join("/")}` : "";
  if (plural === "namespaces" && group === "" && namespace === "" && name !== "") namespace = name;
  return { group: segment(group), version: segment(version), namespace, plural, name, subresource, rest, isWatch };
}

function segment(text: string): string {
  if (!text.includes("%")) return text;
  try {
    return decodeURIComponent(text);
  } catch {
    throw badRequest(`the path holds a malformed escape: ${text.slice(0, 100)}`);
  }
}
