// `/metrics/resource`: CPU and memory of node, pods and containers, as autoscalers read them.

import { Exposition, labelText } from "./exposition.ts";
import type { Snapshot } from "./usage.ts";

export function resourceMetrics({ node, pods }: Snapshot): string {
  const out = new Exposition();
  const seconds = (ns: bigint | undefined) => Number(ns ?? 0n) / 1e9;
  const cpuHelp = (of: string) => `[STABLE] Cumulative cpu time consumed by the ${of} in core-seconds`;
  const memoryHelp = (of: string) => `[STABLE] Current working set of the ${of} in bytes`;
  const swapHelp = (of: string) => `[ALPHA] Current amount of the ${of} swap usage in bytes`;
  for (const { pod, containers } of pods) {
    for (const { container, sample } of containers) {
      const labels = labelText({
        container: container.name,
        namespace: pod.metadata.namespace,
        pod: pod.metadata.name,
      });
      out.add(
        "container_cpu_usage_seconds_total",
        "counter",
        cpuHelp("container"),
        labels,
        seconds(sample.cpu?.usageNs),
        sample.at,
      );
      out.add(
        "container_memory_working_set_bytes",
        "gauge",
        memoryHelp("container"),
        labels,
        sample.memory?.workingSetBytes ?? 0,
        sample.at,
      );
      out.add(
        "container_start_time_seconds",
        "gauge",
        "[STABLE] Start time of the container since unix epoch in seconds",
        labels,
        container.startedAt / 1000,
      );
      out.add(
        "container_swap_usage_bytes",
        "gauge",
        swapHelp("container"),
        labels,
        sample.memory?.swapBytes ?? 0,
        sample.at,
      );
    }
  }
  out.add("node_cpu_usage_seconds_total", "counter", cpuHelp("node"), "", seconds(node.cpuNs.total), node.at);
  out.add("node_memory_working_set_bytes", "gauge", memoryHelp("node"), "", node.memory.workingSetBytes, node.at);
  out.add("node_swap_usage_bytes", "gauge", swapHelp("node"), "", node.memory.swapUsedBytes, node.at);
  for (const { pod, sample } of pods) {
    const labels = labelText({ namespace: pod.metadata.namespace, pod: pod.metadata.name });
    out.add("pod_cpu_usage_seconds_total", "counter", cpuHelp("pod"), labels, seconds(sample.cpu?.usageNs), sample.at);
    out.add(
      "pod_memory_working_set_bytes",
      "gauge",
      memoryHelp("pod"),
      labels,
      sample.memory?.workingSetBytes ?? 0,
      sample.at,
    );
    out.add("pod_swap_usage_bytes", "gauge", swapHelp("pod"), labels, sample.memory?.swapBytes ?? 0, sample.at);
  }
  out.add(
    "resource_scrape_error",
    "gauge",
    "[STABLE] 1 if there was an error while getting container metrics, 0 otherwise",
    "",
    0,
  );
  return out.toString();
}
