// Paths of the kubelet's API: taken apart once, decoded, and read as the address of a pod or container.

import { Fault } from "../../plugins/kit/base/fault.ts";

/** Segments without the leading slash; a trailing slash adds an empty one. */
export function segments(path: string): string[] {
  try {
    return path.slice(1).split("/").map(decodeURIComponent);
  } catch {
    throw new Fault("invalid", `the path holds a malformed escape: ${path.slice(0, 100)}`);
  }
}

export interface PodAddress {
  readonly namespace: string;
  readonly pod: string;
  readonly uid?: string;
}

/** `{namespace}/{pod}[/{uid}]`. */
export function podIn(parts: readonly string[]): PodAddress {
  const [namespace, pod, uid] = parts;
  if (!namespace || !pod || parts.length > 3) throw unknown();
  return { namespace, pod, ...(uid ? { uid } : {}) };
}

/** `{namespace}/{pod}/[{uid}/]{container}`. */
export function containerIn(parts: readonly string[]): PodAddress & { readonly container: string } {
  const [namespace, pod] = parts;
  const container = parts.at(-1);
  if (!namespace || !pod || !container || parts.length < 3 || parts.length > 4) throw unknown();
  const uid = parts.length === 4 ? parts[2] : undefined;
  return { namespace, pod, container, ...(uid ? { uid } : {}) };
}

export const unknown = () => new Fault("not-found", "404 page not found");
