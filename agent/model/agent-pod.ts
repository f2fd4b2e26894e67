// AgentPod is a pod as the agent keeps it: identity and spec are always there, checked once where pods enter the agent.

import type { Container, ObjectMeta, Pod, PodSpec } from "../../plugins/kit/kube/objects/types.ts";

export type AgentPod = Omit<Pod, "metadata" | "spec"> & {
  metadata: ObjectMeta & { name: string; namespace: string; uid: string };
  spec: PodSpec;
};

/** Where a container stands in the spec; a sidecar is an init container that restarts always. */
export type ContainerRole = "init" | "sidecar" | "regular" | "ephemeral";

/** `namespace/name`, for logs and messages. */
export function podName(pod: AgentPod): string {
  return `${pod.metadata.namespace}/${pod.metadata.name}`;
}

/** `name_namespace(uid)`, the form that upstream's messages use. */
export function podFormat(pod: AgentPod): string {
  return `${pod.metadata.name}_${pod.metadata.namespace}(${pod.metadata.uid})`;
}

export function isSidecar(container: Container): boolean {
  return container.restartPolicy === "Always";
}

/** Every container with its role: init containers (sidecars among them), then regular, then ephemeral ones. */
export function* containersOf(pod: AgentPod): Iterable<{ container: Container; role: ContainerRole; index: number }> {
  for (const [index, container] of (pod.spec.initContainers ?? []).entries()) {
    yield { container, role: isSidecar(container) ? "sidecar" : "init", index };
  }
  for (const [index, container] of pod.spec.containers.entries()) yield { container, role: "regular", index };
  for (const [index, container] of (pod.spec.ephemeralContainers ?? []).entries()) {
    yield { container, role: "ephemeral", index };
  }
}

export function findContainer(pod: AgentPod, name: string): { container: Container; role: ContainerRole } | undefined {
  for (const found of containersOf(pod)) if (found.container.name === name) return found;
  return undefined;
}

const configSource = "kubernetes.io/config.source";
const configHash = "kubernetes.io/config.hash";
const configMirror = "kubernetes.io/config.mirror";

/** A pod that came from a manifest folder or URL, not from the API. */
export function isStaticPod(pod: Pod): boolean {
  const source = pod.metadata.annotations?.[configSource];
  return source !== undefined && source !== "api";
}

/** The API object that stands for a static pod. */
export function isMirrorPod(pod: Pod): boolean {
  return pod.metadata.annotations?.[configMirror] !== undefined;
}

export const configAnnotations = { source: configSource, hash: configHash, mirror: configMirror } as const;

/** Critical pods are admitted before and evicted after all others. */
export function isCriticalPod(pod: AgentPod): boolean {
  return isStaticPod(pod) || isMirrorPod(pod) || (pod.spec.priority ?? 0) >= 2_000_000_000;
}

type PullPolicy = NonNullable<Container["imagePullPolicy"]>;

interface ImageVolume {
  readonly reference: string;
  readonly pullPolicy?: PullPolicy;
}

/** Images that the container mounts as volumes, with how they are pulled. */
export function imageVolumesOf(pod: AgentPod, container: Container): ImageVolume[] {
  const mounted = new Set((container.volumeMounts ?? []).map(({ name }) => name));
  return (pod.spec.volumes ?? []).flatMap(({ name, image }) =>
    image?.reference && mounted.has(name)
      ? [{ reference: image.reference, ...(image.pullPolicy ? { pullPolicy: image.pullPolicy as PullPolicy } : {}) }]
      : [],
  );
}
