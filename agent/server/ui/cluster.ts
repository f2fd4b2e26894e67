// The cluster for the page: its nodes and workloads, as the user who looks may see them.

import type { Call } from "../../../plugins/kit/base/call.ts";
import type { ApiClient } from "../../../plugins/kit/kube/client/api-client.ts";
import { isFault } from "../../../plugins/kit/base/fault.ts";
import { type ResourceRef, resources } from "../../../plugins/kit/kube/objects/resources.ts";
import type { KubeObject, Node } from "../../../plugins/kit/kube/objects/types.ts";
import { parseQuantity, quantityMilli, quantityValue } from "../../../plugins/kit/kube/quantity.ts";

export interface PageNode {
  readonly name: string;
  readonly isReady: boolean;
  readonly isCordoned: boolean;
  readonly roles: string;
  readonly version: string;
  readonly address: string;
  readonly cpus: number;
  readonly memoryTotal: number;
  /** Absent until the node has told it. */
  readonly milliCpu?: number;
  readonly memory?: number;
}

export interface PageWorkload {
  readonly kind: string;
  readonly namespace: string;
  readonly name: string;
  readonly ready: number;
  readonly wanted: number;
  readonly createdAt: string;
}

export interface PageCluster {
  readonly nodes: readonly PageNode[];
  readonly workloads: readonly PageWorkload[];
}

interface Counts {
  readonly spec?: { readonly replicas?: number; readonly completions?: number };
  readonly status?: {
    readonly readyReplicas?: number;
    readonly numberReady?: number;
    readonly desiredNumberScheduled?: number;
    readonly succeeded?: number;
  };
}

interface Kind {
  readonly ref: ResourceRef;
  readonly kind: string;
  readonly counts: (object: Counts) => { readonly ready: number; readonly wanted: number };
}

const replicas: Kind["counts"] = ({ spec, status }) => ({
  ready: status?.readyReplicas ?? 0,
  wanted: spec?.replicas ?? 1,
});

const kinds: readonly Kind[] = [
  { ref: resources.deployments, kind: "Deployment", counts: replicas },
  { ref: resources.statefulsets, kind: "StatefulSet", counts: replicas },
  {
    ref: resources.daemonsets,
    kind: "DaemonSet",
    counts: ({ status }) => ({ ready: status?.numberReady ?? 0, wanted: status?.desiredNumberScheduled ?? 0 }),
  },
  {
    ref: resources.jobs,
    kind: "Job",
    counts: ({ spec, status }) => ({ ready: status?.succeeded ?? 0, wanted: spec?.completions ?? 1 }),
  },
];

const metrics: ResourceRef = {
  group: "metrics.k8s.io",
  version: "v1beta1",
  plural: "nodes",
  kind: "NodeMetrics",
  namespaced: false,
};

export async function clusterState(client: ApiClient, call: Call): Promise<PageCluster> {
  const [nodes, usages, ...lists] = await Promise.all([
    listed<Node>(client, resources.nodes, call),
    listed<KubeObject & { usage?: { cpu?: string; memory?: string } }>(client, metrics, call),
    ...kinds.map(({ ref }) => listed<KubeObject & Counts>(client, ref, call)),
  ]);
  const usageOf = new Map(usages.map(({ metadata, usage }) => [metadata.name, usage]));
  const workloads = kinds.flatMap(({ kind, counts }, index) =>
    (lists[index] ?? []).map((object) => ({
      kind,
      namespace: object.metadata.namespace ?? "",
      name: object.metadata.name ?? "",
      ...counts(object),
      createdAt: String(object.metadata.creationTimestamp ?? ""),
    })),
  );
  return { nodes: nodes.map((node) => nodeOf(node, usageOf.get(node.metadata.name))), workloads };
}

/** What the user may not list, or what is not served here, is left out. */
async function listed<T extends KubeObject>(client: ApiClient, ref: ResourceRef, call: Call): Promise<readonly T[]> {
  try {
    return (await client.list<T>(ref, {}, call)).items;
  } catch (error) {
    if (isFault(error, "forbidden", "not-found", "unavailable")) return [];
    throw error;
  }
}

function nodeOf({ metadata, spec, status }: Node, usage: { cpu?: string; memory?: string } | undefined): PageNode {
  const prefix = "node-role.kubernetes.io/";
  const roles = Object.keys(metadata.labels ?? {}).flatMap((label) =>
    label.startsWith(prefix) ? label.slice(prefix.length) : [],
  );
  const { cpu = "0", memory = "0" } = status?.capacity ?? {};
  return {
    name: metadata.name ?? "",
    isReady: status?.conditions?.some(({ type, status: is }) => type === "Ready" && is === "True") ?? false,
    isCordoned: spec?.unschedulable === true,
    roles: roles.sort().join(", "),
    version: status?.nodeInfo?.kubeletVersion ?? "",
    address: status?.addresses?.find(({ type }) => type === "InternalIP")?.address ?? "",
    cpus: Number(quantityMilli(parseQuantity(cpu))) / 1000,
    memoryTotal: Number(quantityValue(parseQuantity(memory))),
    ...(usage?.cpu ? { milliCpu: Number(quantityMilli(parseQuantity(usage.cpu))) } : {}),
    ...(usage?.memory ? { memory: Number(quantityValue(parseQuantity(usage.memory))) } : {}),
  };
}
