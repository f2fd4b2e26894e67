// NodeMetrics and PodMetrics, made from the nodes' own summaries: `kubectl top` and autoscalers need nothing installed.

import type { Call } from "../../../plugins/kit/base/call.ts";
import type { Clock } from "../../../plugins/kit/base/clock.ts";
import type { KubeObject, Node, Pod } from "../../../plugins/kit/kube/objects/types.ts";
import { parseLabelSelector } from "../../../plugins/kit/kube/selector.ts";
import type { WatchCache } from "../../storage/watch-cache.ts";
import { inNamespace } from "../../storage/resource-cache.ts";
import type { NodeConnector } from "../connect/connector.ts";
import { unreachable } from "../connect/handlers.ts";
import { timestamp } from "../lifecycle.ts";
import type { Scope } from "../scope.ts";
import type { VirtualResource } from "../virtual.ts";
import { type NodeSummary, NodeSummaries, type UsedResources } from "./node-summaries.ts";

const apiVersion = "metrics.k8s.io/v1beta1";
// The nodes sample on a beat of this length.
const window = "10s";

export interface UsageOptions {
  readonly connector: NodeConnector | undefined;
  readonly cache: WatchCache;
  readonly clock: Clock;
}

export function usageResources({ connector, cache, clock }: UsageOptions): [string, VirtualResource][] {
  const summaries = connector && new NodeSummaries(connector, clock);
  const all = <T>(plural: string, namespace = ""): T[] => {
    const entries = cache.cache({ group: "", plural }).sorted();
    return (namespace === "" ? entries : inNamespace(entries, namespace)).map((entry) => entry.object as unknown as T);
  };
  const ask = (nodes: readonly Node[], call: Call): Promise<(NodeSummary | undefined)[]> => {
    if (!summaries) throw unreachable();
    return Promise.all(nodes.map((node) => summaries.of(node, call)));
  };
  const list = {
    async nodes(scope: Scope): Promise<KubeObject[]> {
      const nodes = all<Node>("nodes").filter((node) => isAskedFor(scope, node));
      const found = await ask(nodes, scope.call);
      return nodes.flatMap((node, index) => {
        const used = found[index]?.node;
        const usage = used && usageOf(used);
        return usage ? [{ ...about("NodeMetrics", node, used, clock), usage }] : [];
      });
    },
    async pods(scope: Scope): Promise<KubeObject[]> {
      const pods = all<Pod>("pods", scope.namespace).filter((pod) => isAskedFor(scope, pod));
      const names = new Set(pods.map(({ spec }) => spec?.nodeName));
      const summariesOfAll = await ask(
        all<Node>("nodes").filter(({ metadata }) => names.has(metadata.name)),
        scope.call,
      );
      const byUid = new Map(
        summariesOfAll.flatMap((summary) => (summary?.pods ?? []).map((pod) => [pod.podRef.uid, pod] as const)),
      );
      return pods.flatMap((pod) => {
        // A kubelet knows a static pod by its own uid, which the pod's mirror bears as an annotation.
        const staticUid = pod.metadata.annotations?.["kubernetes.io/config.mirror"] ?? "";
        const used = (byUid.get(pod.metadata.uid ?? "") ?? byUid.get(staticUid))?.containers ?? [];
        const containers = used.flatMap((one) => {
          const usage = usageOf(one);
          return usage ? [{ name: one.name, usage }] : [];
        });
        // A pod half measured would look as if it used less.
        if (containers.length === 0 || containers.length < used.length) return [];
        return [{ ...about("PodMetrics", pod, used[0] ?? {}, clock), containers }];
      });
    },
  };
  return [
    ["metrics.k8s.io/nodes", { list: list.nodes }],
    ["metrics.k8s.io/pods", { list: list.pods }],
  ];
}

function isAskedFor({ name, request }: Scope, { metadata }: KubeObject): boolean {
  if (name !== "" && metadata.name !== name) return false;
  const selector = request.query.get("labelSelector");
  return !selector || parseLabelSelector(selector).matches(metadata.labels);
}

function usageOf({ cpu, memory }: UsedResources): { cpu: string; memory: string } | undefined {
  if (cpu?.usageNanoCores === undefined || memory?.workingSetBytes === undefined) return undefined;
  return { cpu: `${Math.round(cpu.usageNanoCores)}n`, memory: `${Math.ceil(memory.workingSetBytes / 1024)}Ki` };
}

function about(kind: string, { metadata }: KubeObject, used: UsedResources, clock: Clock): KubeObject {
  const { name, namespace, labels } = metadata;
  return {
    kind,
    apiVersion,
    metadata: {
      name,
      ...(namespace ? { namespace } : {}),
      creationTimestamp: timestamp(clock.now()),
      ...(labels ? { labels } : {}),
    },
    timestamp: used.cpu?.time ?? timestamp(clock.now()),
    window,
  } as KubeObject;
}
