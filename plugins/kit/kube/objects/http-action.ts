// An HTTP request as probes and life-cycle hooks write it: where it goes, and with which headers.

import type { Container, Probe } from "./types.ts";

type HttpGet = NonNullable<Probe["httpGet"]>;

export interface ActionTarget {
  readonly container: Container;
  readonly podIp: string;
}

export function urlOf(action: HttpGet, target: ActionTarget): URL {
  const host = action.host || target.podIp;
  const port = portOf(action.port, target.container);
  const scheme = (action.scheme ?? "HTTP").toLowerCase();
  const url = new URL(`${scheme}://${host.includes(":") ? `[${host}]` : host}:${port}`);
  const path = action.path ?? "/";
  return new URL(path.startsWith("/") ? path : `/${path}`, url);
}

export function headersOf(action: HttpGet): Record<string, string> {
  const headers: Record<string, string> = { "user-agent": "kube-probe/1.32", accept: "*/*", connection: "close" };
  for (const { name, value } of action.httpHeaders ?? []) {
    // An empty value takes the header away.
    if (value === "") delete headers[name.toLowerCase()];
    else headers[name.toLowerCase()] = value;
  }
  return headers;
}

/** A number, a number as text, or the name of one of the container's ports. */
export function portOf(port: number | string, container: Container): number {
  const number = Number(port);
  const found = Number.isInteger(number)
    ? number
    : (container.ports ?? []).find(({ name }) => name === port)?.containerPort;
  if (found === undefined || found <= 0 || found > 65_535)
    throw new Error(`invalid port number or unknown port name: ${port}`);
  return found;
}
