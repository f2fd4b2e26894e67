// The node's own name servers, read from resolv.conf and again when it changes.

import { readFileSync, statSync } from "node:fs";
import { tryAddress } from "../../kit/os/net/address.ts";
import type { Upstream } from "./forward.ts";

export function parseNameservers(text: string): string[] {
  return text
    .split("\n")
    .map((line) =>
      line
        .replace(/[#;].*$/, "")
        .trim()
        .split(/\s+/),
    )
    .filter(([key]) => key === "nameserver")
    .map(([, address = ""]) => address)
    .filter((address) => tryAddress(address.replace(/%.*$/, "")));
}

const none: readonly Upstream[] = [];

/** The upstreams of a file, never ourselves: the same array until the file is written, when it is looked at again. */
export function upstreamsOf(path: string, isOurs: (address: string) => boolean): () => readonly Upstream[] {
  let seen = "";
  let upstreams = none;
  return () => {
    try {
      const { mtimeMs, size } = statSync(path);
      const now = `${mtimeMs} ${size}`;
      if (now !== seen) {
        upstreams = parseNameservers(readFileSync(path, "utf8"))
          .filter((address) => !isOurs(address))
          .map((address) => ({ address, port: 53 }));
        seen = now;
      }
    } catch {
      // No file, no upstreams: only the cluster's own names are answered.
      upstreams = none;
      seen = "";
    }
    return upstreams;
  };
}
