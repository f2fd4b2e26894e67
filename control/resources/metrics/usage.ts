// metrics.k8s.io: what nodes and pods use right now. Never kept: made from what the nodes say.

import type { ResourceDefinition } from "../definition.ts";
import { column, nameColumn } from "../print.ts";

interface Usage {
  readonly cpu: string;
  readonly memory: string;
}

const shared = {
  group: "metrics.k8s.io",
  version: "v1beta1",
  singular: "",
  verbs: ["get", "list"],
} as const;

const usageColumns = [
  nameColumn,
  column("CPU", "What it uses of CPUs."),
  column("Memory", "Its working set."),
  column("Window", "The time that the CPU use is the average of."),
];

export const nodeMetrics: ResourceDefinition = {
  ...shared,
  plural: "nodes",
  kind: "NodeMetrics",
  namespaced: false,
  columns: usageColumns,
  cells(object) {
    const { cpu = "", memory = "" } = (object.usage as Usage | undefined) ?? {};
    return [object.metadata.name, cpu, memory, object.window];
  },
};

export const podMetrics: ResourceDefinition = {
  ...shared,
  plural: "pods",
  kind: "PodMetrics",
  namespaced: true,
  columns: usageColumns,
  cells(object) {
    const containers = (object.containers as { usage: Usage }[] | undefined) ?? [];
    const all = (of: (usage: Usage) => string) => containers.map(({ usage }) => of(usage)).join("+");
    return [object.metadata.name, all(({ cpu }) => cpu), all(({ memory }) => memory), object.window];
  },
};
