// What the agent asks of an event recorder: best effort, never throws, never blocks.

import type { KubeObject } from "../../plugins/kit/kube/objects/types.ts";
import type { AgentPod } from "./agent-pod.ts";

export interface Recorder {
  event(
    object: EventSubject,
    type: "Normal" | "Warning",
    reason: string,
    message: string,
    options?: { fieldPath?: string },
  ): void;
}

/** Where a container stands in its pod, for events about it. */
export function about(pod: AgentPod, containerName: string): { fieldPath: string } {
  const { initContainers = [], ephemeralContainers = [] } = pod.spec;
  const is = ({ name }: { name: string }) => name === containerName;
  const list = initContainers.some(is)
    ? "initContainers"
    : ephemeralContainers.some(is)
      ? "ephemeralContainers"
      : "containers";
  return { fieldPath: `spec.${list}{${containerName}}` };
}

/** Any object of the API; only its identity is used. */
export type EventSubject = Pick<KubeObject, "apiVersion" | "kind" | "metadata">;

/** The node, by name alone: its events are found that way whatever its object's uid is. */
export function nodeSubject(nodeName: string): EventSubject {
  return { apiVersion: "v1", kind: "Node", metadata: { name: nodeName, uid: nodeName } };
}

export const noRecorder: Recorder = { event: () => {} };
