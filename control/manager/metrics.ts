// What the controllers did, as Prometheus text under the names that rules and boards for kube-controller-manager ask for.

import type { ControllerManager, ControllerStatus } from "./manager.ts";

export function controllerMetrics(manager: Pick<ControllerManager, "status" | "durationsText">): string {
  const lines: string[] = [];
  const all = manager.status();
  const family = (name: string, type: string, help: string, valueOf: (one: ControllerStatus) => number) => {
    lines.push(`# HELP workqueue_${name} ${help}\n# TYPE workqueue_${name} ${type}\n`);
    for (const one of all) lines.push(`workqueue_${name}{name="${one.name}"} ${valueOf(one)}\n`);
  };
  family("depth", "gauge", "Keys that wait to be worked on.", ({ depth }) => depth);
  family("adds_total", "counter", "Keys put in line.", ({ adds }) => adds);
  const retries = "Keys put in line again because their work failed.";
  family("retries_total", "counter", retries, ({ failures }) => failures);
  const unfinished = "How long all work that is under way has taken so far.";
  family("unfinished_work_seconds", "gauge", unfinished, ({ runningSeconds }) =>
    runningSeconds.reduce((sum, seconds) => sum + seconds, 0),
  );
  const longest = "How long the longest work that is under way has taken so far.";
  family("longest_running_processor_seconds", "gauge", longest, ({ runningSeconds }) => Math.max(0, ...runningSeconds));
  return lines.join("") + manager.durationsText();
}
