// What the checks of the Pod Security Standards share: how they see a pod, and how they word what they forbid.

import type { Container, ObjectMeta, PodSpec } from "../../kit/kube/objects/types.ts";

export interface PodView {
  readonly metadata: ObjectMeta;
  readonly spec: PodSpec;
  readonly containers: readonly Container[];
}

/** Undefined when the pod is fine. */
export interface Finding {
  readonly reason: string;
  readonly detail: string;
}

export interface Check {
  readonly id: string;
  readonly level: "baseline" | "restricted";
  /** The stricter check stands in for these. */
  readonly overrides?: readonly string[];
  /** From this minor version on, pods in a user namespace of their own (`hostUsers: false`) are not held to it. */
  readonly withoutUserNamespacesSince?: number;
  run(pod: PodView): Finding | undefined;
}

export function podView(metadata: ObjectMeta, spec: PodSpec): PodView {
  const ephemeral = (spec.ephemeralContainers ?? []) as unknown as Container[];
  return { metadata, spec, containers: [...(spec.initContainers ?? []), ...(spec.containers ?? []), ...ephemeral] };
}

export const quoted = (names: readonly string[]): string => names.map((name) => JSON.stringify(name)).join(", ");

export const plural = (count: number, one: string, many: string): string => (count === 1 ? one : many);

/** `container "a"` or `containers "a", "b"`. */
export const containersNamed = (names: readonly string[]): string =>
  `${plural(names.length, "container", "containers")} ${quoted(names)}`;

export const finding = (reason: string, detail: string): Finding => ({ reason, detail });

/** The names of the containers that a test finds bad. */
export function badContainers(pod: PodView, isBad: (container: Container) => boolean): string[] {
  return pod.containers.filter(isBad).map((container) => container.name);
}

export const isWindows = (pod: PodView): boolean => pod.spec.os?.name === "windows";

/** `pod`, `container "a"`, or both with `and`. */
export function setters(isPod: boolean, containers: readonly string[]): string {
  return [...(isPod ? ["pod"] : []), ...(containers.length > 0 ? [containersNamed(containers)] : [])].join(" and ");
}
