// Reads a kubeconfig file and opens the way to its cluster: the server's address and a `fetch` that carries the user's credentials.

import { dirname, resolve } from "node:path";
import type { Call } from "../call.ts";
import { type Clock, systemClock } from "../clock.ts";
import { Fault } from "../fault.ts";
import type { Fetch } from "../fetch.ts";
import { readBounded } from "../platform/files.ts";
import type { UpgradeRequest, UpgradeResult } from "../platform/http-client.ts";
import { readYaml } from "../yaml.ts";
import { AuthenticatedFetch } from "./authenticated-fetch.ts";
import { credentialsOf } from "./credentials.ts";
import { checkKubeconfig } from "./kubeconfig-shape.ts";

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

interface Named {
  name?: string;
}

interface KubeconfigFile {
  "current-context"?: string;
  clusters?: (Named & { cluster?: ClusterEntry })[];
  users?: (Named & { user?: UserEntry })[];
  contexts?: (Named & { context?: { cluster?: string; user?: string; namespace?: string } })[];
}

export interface Kubeconfig {
  /** Without a slash at the end. */
  readonly server: string;
  /** `default` unless the context names another. */
  readonly namespace: string;
  readonly fetch: Fetch;
  upgrade(request: UpgradeRequest, call: Call): Promise<UpgradeResult>;
  /** What a connection made by others needs: whom to trust, and how to prove who we are, now. */
  proof(call: Call): Promise<ConnectionProof>;
  close(): void;
}

/** The names are those of `node:tls`, but for the headers. */
export interface ConnectionProof {
  readonly headers: Readonly<Record<string, string>>;
  readonly ca?: string;
  readonly cert?: string;
  readonly key?: string;
  readonly servername?: string;
  readonly rejectUnauthorized: boolean;
}

/** Where the files that an entry names are read from, and how. */
export interface Place {
  readonly path: string;
  readonly clock: Clock;
}

/** API servers end every request but watches within a minute, and begin those at once. */
const answerTimeoutMs = 70_000;
const largestFile = 4 * 1024 * 1024;

/** Opens the context named, or the current one. Files and programs that credentials come from are asked again as they age. */
export async function loadKubeconfig(
  path: string,
  options: { context?: string; clock?: Clock } = {},
): Promise<Kubeconfig> {
  const parsed = readYaml(readBounded(path, largestFile).toString("utf8"), path);
  checkKubeconfig(parsed, path);
  const file = parsed as KubeconfigFile | undefined;
  const place = { path, clock: options.clock ?? systemClock };
  const { cluster, user, namespace } = select(file ?? {}, options.context, path);
  if (cluster["proxy-url"]) throw new Fault("unsupported", `Cannot use ${path}: proxy-url is not supported`);
  if (user["auth-provider"])
    throw new Fault("unsupported", `Cannot use ${path}: auth-provider is not supported; use an exec plugin`);
  const server = serverOf(cluster, path);
  const ca = fileOrData(cluster, "certificate-authority", place);
  const servername = cluster["tls-server-name"];
  const insecureSkipVerify = cluster["insecure-skip-tls-verify"];
  const credentials = credentialsOf(user, cluster, place);
  const fetch = new AuthenticatedFetch({ ca, servername, insecureSkipVerify, answerTimeoutMs }, credentials);
  return {
    server,
    namespace,
    fetch: (request) => fetch.fetch(request),
    upgrade: (request, call) => fetch.upgrade(request, call),
    async proof(call) {
      const { headers, cert, key } = await credentials.current(call);
      return {
        headers,
        ...(ca ? { ca } : {}),
        ...(cert && key ? { cert, key } : {}),
        ...(servername ? { servername } : {}),
        rejectUnauthorized: insecureSkipVerify !== true,
      };
    },
    close: () => fetch.close(),
  };
}

function select(file: KubeconfigFile, wanted: string | undefined, path: string) {
  const find = <T extends Named>(what: string, list: readonly T[] | undefined, name: string | undefined): T => {
    const found = (list ?? []).find((entry) => entry.name === name);
    if (!found) throw new Fault("invalid", `Cannot use ${path}: there is no ${what} "${name ?? ""}"`);
    return found;
  };
  const name = wanted ?? file["current-context"];
  if (!name) throw new Fault("invalid", `Cannot use ${path}: it has no current-context`);
  const context = find("context", file.contexts, name).context ?? {};
  return {
    cluster: find("cluster", file.clusters, context.cluster).cluster ?? {},
    user: context.user ? (find("user", file.users, context.user).user ?? {}) : {},
    namespace: context.namespace || "default",
  };
}

function serverOf(cluster: ClusterEntry, path: string): string {
  const text = cluster.server ?? "";
  const server = text.includes("://") ? text : `http://${text}`;
  if (text === "" || !URL.canParse(server))
    throw new Fault("invalid", `Cannot use ${path}: "${text}" is not a server's address`);
  return server.replace(/\/+$/, "");
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
