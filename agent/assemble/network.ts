// The node's network services: what daemons are told of the node, and the daemons themselves.

import { type RemovableNetwork, removeNetwork } from "../../cni/invoke/remove-network.ts";
import type { Call } from "../../plugins/kit/base/call.ts";
import { networkDaemons } from "../../plugins/builtins.ts";
import { ApiClient } from "../../plugins/kit/kube/client/api-client.ts";
import type { Clock } from "../../plugins/kit/base/clock.ts";
import type { Daemon } from "../../plugins/kit/contracts/daemon.ts";
import { EventRecorder } from "../../plugins/kit/kube/events.ts";
import type { Fetch } from "../../plugins/kit/base/fetch.ts";
import { hookKind, type PodHook } from "../../plugins/kit/contracts/hook.ts";
import type { Log } from "../../plugins/kit/base/log.ts";
import { networkProblems } from "../../plugins/kit/os/net/preflight.ts";
import { daemonReading, type NodeDaemon } from "../../plugins/kit/kube/node-daemon.ts";
import type { ResourceRef } from "../../plugins/kit/kube/objects/resources.ts";
import { nodeContextKind, openNodeContext } from "../../plugins/kit/contracts/node-context.ts";
import type { AnyPlugin } from "../../plugins/kit/base/plugin.ts";
import { nodeSubject } from "../model/recorder.ts";

export interface NetworkServices {
  readonly nodeName: string;
  readonly instance: string;
  readonly clusterCidrs: readonly string[];
  readonly clusterDns: readonly string[];
  readonly clusterDomain: string;
  readonly tellPodMtu?: (mtu: number) => void;
  readonly api: {
    readonly fetch: Fetch;
    readonly server?: string;
    readonly daemons?: Readonly<Record<NodeDaemon, Fetch>>;
  };
  readonly log: Log;
  readonly clock: Clock;
}

/** Tells what this kernel lacks for the network, with the fix, in the log and as events of the node; nothing waits for it. */
function tellProblems(nodeName: string, recorder: EventRecorder, log: Log, call: Call): void {
  const node = nodeSubject(nodeName);
  networkProblems(call).then(
    (problems) => {
      for (const { problem, fix } of problems) {
        log.warn({ fix }, problem);
        recorder.event(node, "Warning", "NetworkProblem", `${problem} (fix: ${fix})`);
      }
    },
    (error: unknown) => log.debug({ err: error }, "the network of this host could not be looked at"),
  );
}

export function networkPlugins({ api: { daemons, ...api }, ...facts }: NetworkServices): AnyPlugin[] {
  const context: AnyPlugin = {
    kind: nodeContextKind,
    name: "agent",
    open(host) {
      const stop = new AbortController();
      host.onClose(() => stop.abort());
      const { nodeName, log, clock } = facts;
      const client = new ApiClient({ ...api, log, clock, userAgent: "skiff-network" });
      const clientFor = (ref: ResourceRef) => {
        const daemon = daemonReading(ref);
        if (!daemon || !daemons) return client;
        return new ApiClient({ ...api, fetch: daemons[daemon], log, clock, userAgent: `skiff-${daemon}` });
      };
      const recorder = new EventRecorder({ client, component: "skiff-network", host: nodeName, clock, log });
      host.onClose(() => recorder.close());
      tellProblems(nodeName, recorder, log, { signal: stop.signal });
      return openNodeContext({ ...facts, client, clientFor }, { signal: stop.signal });
    },
  };
  return [context, connectedHook, ...networkDaemons] as AnyPlugin[];
}

/** A pod starts when every daemon that minds has made its rules for the pod's addresses. */
const connectedHook: AnyPlugin = {
  kind: hookKind,
  name: "network",
  needs: [nodeContextKind],
  open({ all }): PodHook {
    const [node] = all(nodeContextKind);
    return {
      name: "network",
      async connected(pod, ips, call) {
        await Promise.all([...(node?.podConnected ?? [])].map((tell) => tell(pod, ips, call)));
      },
    };
  },
};

/** Leaves the host's network as it was before: every daemon's rules and routes, then the pods' bridge. */
export async function removeNetworkServices(
  installed: readonly Daemon[],
  network: RemovableNetwork,
  log: Log,
  call: Call,
): Promise<void> {
  const steps = [...installed].reverse().map((daemon) => async () => daemon.remove?.(call));
  for (const step of [...steps, () => removeNetwork(network, call)]) {
    try {
      await step();
    } catch (error) {
      // The rest must still go.
      log.warn({ err: error }, "part of the network could not be removed");
    }
  }
}
