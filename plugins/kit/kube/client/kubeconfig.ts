// Reads a kubeconfig file and opens the way to its cluster: the server's address and a `fetch` that carries the user's credentials.

import type { Call } from "../../base/call.ts";
import { type Clock, systemClock } from "../../base/clock.ts";
import { Fault } from "../../base/fault.ts";
import type { Fetch } from "../../base/fetch.ts";
import { readBounded } from "../../os/platform/files.ts";
import type { UpgradeRequest, UpgradeResult } from "../../os/platform/http-client.ts";
import { readYaml } from "../../base/yaml.ts";
import { AuthenticatedFetch } from "./authenticated-fetch.ts";
import { credentialsOf } from "./credentials.ts";
import { type ClusterEntry, fileOrData, largestFile, type UserEntry } from "./kubeconfig-entries.ts";
import { checkKubeconfig } from "./kubeconfig-shape.ts";

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

/** API servers end every request but watches within a minute, and begin those at once. */
const answerTimeoutMs = 70_000;

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
