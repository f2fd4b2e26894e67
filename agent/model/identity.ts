// How containers and sandboxes are marked so that the agent finds its own again from the runtime alone, and where their logs lie.

import { join } from "node:path";
import type { Container } from "../../plugins/kit/kube/objects/types.ts";
import type { AgentPod } from "./agent-pod.ts";
import { containerHash } from "./container-hash.ts";

export const labels = {
  podName: "io.kubernetes.pod.name",
  podNamespace: "io.kubernetes.pod.namespace",
  podUid: "io.kubernetes.pod.uid",
  containerName: "io.kubernetes.container.name",
} as const;

export const annotations = {
  hash: "io.kubernetes.container.hash",
  restartCount: "io.kubernetes.container.restartCount",
  terminationMessagePath: "io.kubernetes.container.terminationMessagePath",
  terminationMessagePolicy: "io.kubernetes.container.terminationMessagePolicy",
  preStopHandler: "io.kubernetes.container.preStopHandler",
  ports: "io.kubernetes.container.ports",
  graceSeconds: "io.kubernetes.pod.terminationGracePeriod",
  /** What the container's cgroup was made with, for runtimes that do not tell. */
  resources: "skiff.dev/container.resources",
  /** CPUs that are the container's own. */
  cpus: "skiff.dev/container.cpus",
} as const;

export function podLabels(pod: AgentPod): Record<string, string> {
  const { name, namespace, uid } = pod.metadata;
  return { [labels.podName]: name, [labels.podNamespace]: namespace, [labels.podUid]: uid };
}

export function containerLabels(pod: AgentPod, container: Container): Record<string, string> {
  return { ...podLabels(pod), [labels.containerName]: container.name };
}

export function containerAnnotations(
  pod: AgentPod,
  container: Container,
  restartCount: number,
): Record<string, string> {
  const { preStop } = container.lifecycle ?? {};
  const grace = pod.spec.terminationGracePeriodSeconds;
  return {
    [annotations.hash]: containerHash(container),
    [annotations.restartCount]: String(restartCount),
    [annotations.terminationMessagePath]: container.terminationMessagePath ?? "/dev/termination-log",
    [annotations.terminationMessagePolicy]: container.terminationMessagePolicy ?? "File",
    ...(grace === undefined ? {} : { [annotations.graceSeconds]: String(grace) }),
    ...(preStop ? { [annotations.preStopHandler]: JSON.stringify(preStop) } : {}),
    ...(container.ports ? { [annotations.ports]: JSON.stringify(container.ports) } : {}),
  };
}

/** `<logs>/<namespace>_<pod>_<uid>`; the layout that log collectors know. */
export function podLogDir(logsDir: string, pod: { namespace: string; name: string; uid: string }): string {
  return join(logsDir, `${pod.namespace}_${pod.name}_${pod.uid}`);
}

/** Where the agent makes the files that take a container's termination messages. */
export function messageDir(podsDir: string, podUid: string, containerName: string): string {
  return join(podsDir, podUid, "containers", containerName);
}

export function uidOfLogDir(name: string): string {
  return name.slice(name.lastIndexOf("_") + 1);
}

/** Relative to the pod's log directory. */
export function containerLogPath(containerName: string, restartCount: number): string {
  return join(containerName, `${restartCount}.log`);
}
