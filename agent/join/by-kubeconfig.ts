// A node whose identity somebody else looks after: a kubeconfig says who it is. What is left to do is the kubelet's own API, which the cluster
// is asked to sign a certificate for.

import { join } from "node:path";
import type { Call } from "../../plugins/kit/base/call.ts";
import { ApiClient } from "../../plugins/kit/kube/client/api-client.ts";
import { loadKubeconfig } from "../../plugins/kit/kube/client/kubeconfig.ts";
import type { Clock } from "../../plugins/kit/base/clock.ts";
import type { Fetch } from "../../plugins/kit/base/fetch.ts";
import type { Log } from "../../plugins/kit/base/log.ts";
import type { NodeDaemon } from "../../plugins/kit/kube/node-daemon.ts";
import { NodeCredentials, type Pair } from "./credentials.ts";
import { daemonIdentities } from "./daemon-identity.ts";
import { ServingCertificate, type ServingNames } from "./serving-certificate.ts";

export interface KubeconfigOptions {
  readonly path: string;
  readonly nodeName: string;
  readonly dataDir: string;
  readonly clock: Clock;
  readonly log: Log;
}

export interface KubeconfigMember {
  readonly fetch: Fetch;
  readonly server: string;
  /** Absent where the kubeconfig names no authority: then daemons ask with the kubeconfig's own identity. */
  readonly daemons?: Readonly<Record<NodeDaemon, Fetch>>;
  /** Whose client certificates are believed: those of the authority that the kubeconfig names. */
  readonly ca: string;
  serving(): Pair;
  onServing(then: () => void): () => void;
  /** Keeps the serving certificate fresh until stopped. */
  run(names: () => ServingNames, call: Call): Promise<void>;
  close(): void;
}

const lookMs = 60_000;
/** Where nobody signs such requests, they are not made again and again. */
const afterFailureMs = 6 * 3_600_000;

export async function joinByKubeconfig(options: KubeconfigOptions, call: Call): Promise<KubeconfigMember> {
  const { path, nodeName, dataDir, clock, log } = options;
  const { fetch, server, proof, close } = await loadKubeconfig(path);
  const { ca } = await proof(call);
  const credentials = new NodeCredentials(join(dataDir, "agent", "pki"), clock);
  const certificate = new ServingCertificate(nodeName, credentials, clock);
  const identity = { nodeName, servers: [server], nodeFetch: fetch, credentials, clock, log };
  const daemons = ca ? daemonIdentities({ ...identity, ca }) : undefined;
  return {
    fetch,
    server,
    ...(daemons ? { daemons: daemons.fetches } : {}),
    // Without an authority nobody's certificate is believed but the node's own; bearer tokens still are.
    ca: ca ?? certificate.pair().cert,
    serving: () => certificate.pair(),
    onServing: (then) => certificate.onRenewed(then),
    async run(names, runCall) {
      const renewing = daemons?.run(runCall);
      const api = new ApiClient({ fetch, server, clock, log, userAgent: "skiff-agent" });
      while (!runCall.signal.aborted) {
        let pauseMs = lookMs;
        try {
          await certificate.renew(api, names(), runCall);
        } catch (error) {
          if (runCall.signal.aborted) break;
          pauseMs = afterFailureMs;
          log.warn(
            { err: error, node: nodeName },
            "the cluster has not signed a certificate for this kubelet: API servers that check it cannot show logs",
          );
        }
        await clock.sleep(pauseMs, runCall).catch(() => {});
      }
      await renewing;
    },
    close() {
      daemons?.close();
      close();
    },
  };
}
