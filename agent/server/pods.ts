// The lists of pods: those the agent was told to run, and those that the runtime runs.

import type { AgentView } from "./contract.ts";

export function podList(view: AgentView): object {
  return {
    kind: "PodList",
    apiVersion: "v1",
    metadata: {},
    items: view.pods().map(({ metadata, spec, status }) => ({ metadata, spec, status: status ?? {} })),
  };
}

export function runningPods(view: AgentView): object {
  const items = view.observed().flatMap(({ uid, name, namespace, containers }) => {
    const running = containers.filter(({ state }) => state === "running");
    if (running.length === 0) return [];
    const spec = { containers: running.map((one) => ({ name: one.name, image: one.image, resources: {} })) };
    return [{ metadata: { name, namespace, uid, creationTimestamp: null }, spec, status: {} }];
  });
  return { kind: "PodList", apiVersion: "v1", metadata: {}, items };
}
