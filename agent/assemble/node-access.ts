// The API as a box that joined a Skiff server may use it: with its node's own certificate, which its agent keeps fresh.

import { existsSync } from "node:fs";
import { join } from "node:path";
import { ApiClient } from "../../plugins/kit/kube/client/api-client.ts";
import { systemClock } from "../../plugins/kit/base/clock.ts";
import { isFault } from "../../plugins/kit/base/fault.ts";
import { httpFetch } from "../../plugins/kit/os/platform/http-client.ts";
import type { Settings } from "../../plugins/kit/base/settings.ts";
import { NodeCredentials } from "../join/credentials.ts";
import { failoverFetch } from "../join/failover.ts";
import { nodeNameFrom } from "./node-config.ts";

/** Undefined on a box that never joined, or whose settings name no server. */
export async function nodeAccess(settings: Settings) {
  const servers = ((settings["server"] as readonly string[] | undefined) ?? []).map((one) => one.replace(/\/+$/, ""));
  const folder = join(String(settings["data-dir"]), "agent", "pki");
  const [server] = servers;
  if (!server || !existsSync(folder)) return undefined;
  const credentials = new NodeCredentials(folder, systemClock);
  const pair = credentials.pair("client");
  const ca = credentials.ca();
  if (!pair || !ca) return undefined;
  const connection = httpFetch({ ca, ...pair });
  const fetch = failoverFetch(servers, connection, (error) => isFault(error, "unavailable"));
  return {
    client: new ApiClient({ fetch, server, clock: systemClock }),
    namespace: "default",
    nodeName: nodeNameFrom(settings),
    stream: async (path: string) => ({ url: `${server}${path}`, headers: {}, tls: { ca, ...pair } }),
    close: () => connection.close(),
  };
}
