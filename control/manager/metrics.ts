// What the controllers did, as Prometheus text under the names that dashboards for kube-controller-manager ask for.

import { type ControllerManager, durationLimits } from "./manager.ts";

export function controllerMetrics(manager: Pick<ControllerManager, "status">): string {
  const lines: string[] = [];
  const all = manager.status();
  const family = (name: string, type: string, help: string) =>
    lines.push(`# HELP ${name} ${help}`, `# TYPE ${name} ${type}`);
  family("workqueue_depth", "gauge", "Keys that wait to be worked on.");
  for (const { name, depth } of all) lines.push(`workqueue_depth{name="${name}"} ${depth}`);
  family("workqueue_adds_total", "counter", "Keys put in line.");
  for (const { name, counters } of all) lines.push(`workqueue_adds_total{name="${name}"} ${counters.adds}`);
  family("workqueue_retries_total", "counter", "Keys put in line again because their work failed.");
  for (const { name, counters } of all) lines.push(`workqueue_retries_total{name="${name}"} ${counters.failures}`);
  family("workqueue_work_duration_seconds", "histogram", "How long the work on a key took.");
  for (const { name, counters } of all) {
    let below = 0;
    durationLimits.forEach((limit, place) => {
      below += counters.durations[place] ?? 0;
      lines.push(`workqueue_work_duration_seconds_bucket{name="${name}",le="${limit}"} ${below}`);
    });
    lines.push(
      `workqueue_work_duration_seconds_bucket{name="${name}",le="+Inf"} ${counters.reconciles}`,
      `workqueue_work_duration_seconds_sum{name="${name}"} ${counters.busyMs / 1000}`,
      `workqueue_work_duration_seconds_count{name="${name}"} ${counters.reconciles}`,
    );
  }
  return `${lines.join("\n")}\n`;
}
