// The way to a cluster's API for the commands that look at it: whose identity it carries, and how streams are opened with it.

import type { Call } from "../../plugins/kit/base/call.ts";
import { ApiClient } from "../../plugins/kit/kube/client/api-client.ts";
import { loadKubeconfig } from "../../plugins/kit/kube/client/kubeconfig.ts";
import { systemClock } from "../../plugins/kit/base/clock.ts";

/** Where a stream is dialled to, and with what. */
interface StreamWay {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly tls: Readonly<Record<string, string | boolean | undefined>>;
}

export interface ClusterAccess {
  readonly client: ApiClient;
  /** Where a pod is looked for when no namespace is named. */
  readonly namespace: string;
  /** Set when the identity is a node's: it sees its own node and the pods on it, and nothing else. */
  readonly nodeName?: string;
  stream(path: string, call: Call): Promise<StreamWay>;
  close(): void;
}

export async function accessByKubeconfig(path: string): Promise<ClusterAccess> {
  const config = await loadKubeconfig(path);
  return {
    client: new ApiClient({ fetch: config.fetch, server: config.server, clock: systemClock }),
    namespace: config.namespace,
    async stream(at, call) {
      const { headers, ...tls } = await config.proof(call);
      return { url: `${config.server}${at}`, headers, tls };
    },
    close: () => config.close(),
  };
}
