// Learns the cluster's address ranges, DNS addresses and domain from the server that the node joined, and remembers them for a start
// without it: a node with others than the rest of the cluster is Ready, but its pods reach nobody.

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { type Call, within } from "../../plugins/kit/base/call.ts";
import type { ApiClient } from "../../plugins/kit/kube/client/api-client.ts";
import { Fault, isFault } from "../../plugins/kit/base/fault.ts";
import type { Log } from "../../plugins/kit/base/log.ts";
import {
  type ClusterNetwork,
  clusterNetworkFlags,
  clusterNetworkFrom,
  clusterNetworkMap,
  flagValue,
  networkData,
  networkFromData,
} from "../../plugins/kit/kube/cluster-network.ts";
import { resources } from "../../plugins/kit/kube/objects/resources.ts";
import type { KubeObject } from "../../plugins/kit/kube/objects/types.ts";
import { writeFileAtomic } from "../../plugins/kit/os/platform/files.ts";
import type { Settings } from "../../plugins/kit/base/settings.ts";

export interface LearnOptions {
  readonly settings: Settings;
  readonly client: ApiClient;
  readonly log: Log;
}

const askMs = 10_000;
/** A node that remembers does not keep its pods waiting for a server that is away. */
const askAgainMs = 3_000;

const fileOf = (dataDir: string) => join(dataDir, "agent", "cluster-network.json");

/** What the node learned when it last reached its server; undefined before, and where the server does not publish it. */
export function rememberedNetwork(dataDir: string): ClusterNetwork | undefined {
  try {
    return networkFromData(JSON.parse(readFileSync(fileOf(dataDir), "utf8")) as Record<string, unknown>);
  } catch {
    return undefined; // none yet, or cut short by a full disk: the server is asked
  }
}

/** The settings with the cluster's own values in place of absent flags. Fault `invalid` names a flag that contradicts them. */
export async function learnClusterNetwork({ settings, client, log }: LearnOptions, call: Call): Promise<Settings> {
  const dataDir = String(settings["data-dir"]);
  const remembered = rememberedNetwork(dataDir);
  let network: ClusterNetwork | undefined;
  try {
    network = await publishedNetwork(client, within(remembered ? askAgainMs : askMs, call));
  } catch (error) {
    call.signal.throwIfAborted();
    network = remembered;
    if (!remembered) {
      log.warn({ err: error }, "cannot read the cluster network from the server; using flags and defaults");
      return settings;
    }
    log.info({ err: error }, "cannot reach the server; using the cluster network of the last start");
  }
  if (!network) {
    log.info({}, "the server publishes no cluster network; using flags and defaults");
    return settings;
  }
  refuseContradictions(settings, network);
  const data = networkData(network);
  if (!remembered || JSON.stringify(networkData(remembered)) !== JSON.stringify(data)) {
    await writeFileAtomic(fileOf(dataDir), `${JSON.stringify(data)}\n`);
    log.info(data, "learned the cluster network from the server");
  }
  return { ...settings, ...data };
}

/** Undefined when the server publishes none, as those of other distributions. */
async function publishedNetwork(client: ApiClient, call: Call): Promise<ClusterNetwork | undefined> {
  try {
    const map = await client.get<KubeObject & { data?: Record<string, string> }>(
      resources.configmaps,
      clusterNetworkMap,
      call,
    );
    return networkFromData(map.data);
  } catch (error) {
    if (isFault(error, "not-found") || isFault(error, "forbidden")) return undefined;
    throw error;
  }
}

function refuseContradictions(settings: Settings, network: ClusterNetwork): void {
  for (const flag of clusterNetworkFlags) {
    if (settings[flag] === undefined) continue;
    // The flag alone beside the cluster's others: a range is compared as a range, not as text.
    const said = { ...networkData(network), ...(flag === "service-cidr" ? { "cluster-dns": "" } : {}) };
    const ours = flagValue(clusterNetworkFrom({ ...said, [flag]: settings[flag] }), flag);
    const theirs = flagValue(network, flag);
    if (ours !== theirs)
      throw new Fault(
        "invalid",
        `Cannot join with --${flag} ${ours}: the cluster uses ${theirs}; leave the flag out, or set it to ${theirs}`,
      );
  }
}
