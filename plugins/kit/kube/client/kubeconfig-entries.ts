// The entries of a kubeconfig file, and the files that they name.

import { dirname, resolve } from "node:path";
import type { Clock } from "../../base/clock.ts";
import { readBounded } from "../../os/platform/files.ts";

export const largestFile = 4 * 1024 * 1024;

export interface ClusterEntry {
  server?: string;
  "certificate-authority"?: string;
  "certificate-authority-data"?: string;
  "insecure-skip-tls-verify"?: boolean;
  "tls-server-name"?: string;
  "proxy-url"?: string;
}

export interface ExecEntry {
  apiVersion?: string;
  command?: string;
  args?: string[] | null;
  env?: { name: string; value: string }[] | null;
  installHint?: string;
  provideClusterInfo?: boolean;
}

export interface UserEntry {
  "client-certificate"?: string;
  "client-certificate-data"?: string;
  "client-key"?: string;
  "client-key-data"?: string;
  token?: string;
  tokenFile?: string;
  username?: string;
  password?: string;
  as?: string;
  "as-uid"?: string;
  "as-groups"?: string[];
  exec?: ExecEntry;
  "auth-provider"?: unknown;
}

/** Where the files that an entry names are read from, and how. */
export interface Place {
  readonly path: string;
  readonly clock: Clock;
}

/** The content of a member that is either in the file (base64) or in a file that it names, relative to the kubeconfig. */
export function fileOrData<K extends string>(
  entry: { [key in K | `${K}-data`]?: string },
  key: K,
  place: Place,
): string | undefined {
  const data = (entry as Record<string, string | undefined>)[`${key}-data`];
  if (data) return Buffer.from(data, "base64").toString("utf8");
  const named = (entry as Record<string, string | undefined>)[key];
  return named ? readBounded(resolve(dirname(place.path), named), largestFile).toString("utf8") : undefined;
}
