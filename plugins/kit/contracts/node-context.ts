// What daemons of a node are handed: who the node is, the cluster's networks, and shared informers. One per agent, offered to
// plugins as a kind of its own.

import type { Call } from "../base/call.ts";
import type { ApiClient } from "../kube/client/api-client.ts";
import type { Clock } from "../base/clock.ts";
import { type Informer, WatchingInformer } from "../kube/informer.ts";
import type { Log } from "../base/log.ts";
import type { ResourceRef } from "../kube/objects/resources.ts";
import type { Pod } from "../kube/objects/types.ts";
import { type Kind, kind } from "../base/plugin.ts";

/** Told of a pod of this node when it has addresses and before anything runs in it; resolves when that may begin. */
export type PodConnected = (pod: Pod, ips: readonly string[], call: Call) => Promise<void>;

export interface NodeContext {
  readonly nodeName: string;
  /** Part of the names of everything in the kernel that exists once per agent: two agents on one host have different ones. */
  readonly instance: string;
  /** With the node's own identity, which reads what concerns the node; informers of other objects have their own. */
  readonly client: ApiClient;
  /** The pods of all nodes, one prefix per family. */
  readonly clusterCidrs: readonly string[];
  /** Where cluster DNS answers; these addresses live on the node itself. */
  readonly clusterDns: readonly string[];
  readonly clusterDomain: string;
  /** Told by whoever makes the way to other nodes: the largest packet that reaches all their pods uncut. */
  readonly tellPodMtu?: (mtu: number) => void;
  /** Whom to tell; daemons add themselves while they run. */
  readonly podConnected: Set<PodConnected>;
  /** Running, shared by all who ask for the same resource; started by the first. */
  informer<T>(ref: ResourceRef): Informer<T>;
}

export const nodeContextKind: Kind<NodeContext> = kind("node-context");

export interface NodeContextOptions extends Omit<NodeContext, "informer" | "podConnected"> {
  /** Who watches a resource; the node itself when absent. */
  readonly clientFor?: (ref: ResourceRef) => ApiClient;
  readonly clock: Clock;
  readonly log: Log;
}

/** Informers work until the call is stopped. */
export function openNodeContext(options: NodeContextOptions, call: Call): NodeContext {
  const { clock, log, clientFor = () => options.client, ...facts } = options;
  const informers = new Map<string, WatchingInformer<unknown>>();
  return {
    ...facts,
    podConnected: new Set(),
    informer<T>(ref: ResourceRef): Informer<T> {
      const key = `${ref.group}/${ref.plural}`;
      const found = informers.get(key);
      if (found) return found as WatchingInformer<T>;
      const informer = new WatchingInformer<unknown>({
        client: clientFor(ref),
        ref,
        clock,
        log,
        transform: withoutManagedFields,
      });
      informers.set(key, informer);
      // It ends only with the call, and handles its own failures.
      void informer.run(call);
      return informer as WatchingInformer<T>;
    },
  };
}

// Often half of an object, and read by nobody on a node.
function withoutManagedFields(object: unknown): unknown {
  const { metadata } = object as { metadata?: { managedFields?: unknown } };
  if (metadata) delete metadata.managedFields;
  return object;
}
