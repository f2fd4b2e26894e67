// What a request carries, as text, bounded: nobody has to send much to a kubelet.

import { wholeBody } from "../../plugins/kit/os/platform/request-body.ts";

const mostBytes = 64 * 1024;

/** Reads when first called, and gives the same again after that. */
export function bodyOf(request: Request): () => Promise<string> {
  let read: Promise<string> | undefined;
  return () => {
    read ??= (async () => (await wholeBody(request, mostBytes))?.toString("utf8") ?? "")();
    return read;
  };
}
