// What the plan decides for a container that runs: whether it is killed or resized. Shared by init and regular containers.

import type { Container } from "../../plugins/kit/kube/objects/types.ts";
import type { ContainerRole } from "../model/agent-pod.ts";
import { containerHash } from "../model/container-hash.ts";
import type { ObservedContainer, ObservedResources } from "../model/observed.ts";
import type { ProbeVerdict } from "../model/probe-verdict.ts";

export interface PlanContext {
  readonly nowMs: number;
  /** The latest result for a container id; undefined when it was never probed. */
  liveness(containerId: string): ProbeVerdict | undefined;
  startup(containerId: string): ProbeVerdict | undefined;
  /** Milliseconds that a restart must still wait, and the whole delay for the message. */
  backOff(container: Container, finishedAt: number): { remainingMs: number; delayMs: number };
  /** What the container's cgroup should say; undefined when the runtime cannot tell or change it. */
  resources?(container: Container): ObservedResources | undefined;
}

/** What the plan has decided so far; init and regular containers add to it. */
export interface Decisions {
  killPod: boolean;
  kills: {
    id: string;
    name: string;
    reason: "unknown" | "startup-probe" | "liveness-probe" | "resize" | "definition";
    message: string;
  }[];
  starts: { name: string; role: ContainerRole }[];
  resizes: { id: string; name: string }[];
}

/** Why a running container must go: its definition changed or a probe gave up on it. */
export function whyKilled(
  container: Container,
  running: ObservedContainer,
  context: PlanContext,
  noun: string,
): { reason: "definition" | "liveness-probe" | "startup-probe"; message: string } | undefined {
  if (running.hash !== "" && running.hash !== containerHash(container)) {
    return { reason: "definition", message: `${noun} ${container.name} definition changed` };
  }
  if (context.liveness(running.id) === "failure") {
    return { reason: "liveness-probe", message: `${noun} ${container.name} failed liveness probe` };
  }
  if (context.startup(running.id) === "failure") {
    return { reason: "startup-probe", message: `${noun} ${container.name} failed startup probe` };
  }
  return undefined;
}

/** Whether the container's cgroup differs from its spec, and whether changing it needs a restart. */
export function resizeOf(
  container: Container,
  running: ObservedContainer,
  context: PlanContext,
): "none" | "in-place" | "restart" {
  const actual = running.resources;
  const wanted = context.resources?.(container);
  if (!actual || !wanted) return "none";
  const differs = (a: number | undefined, b: number | undefined) => a !== undefined && b !== undefined && a !== b;
  const cpu = differs(actual.cpuShares, wanted.cpuShares) || differs(actual.cpuQuota, wanted.cpuQuota);
  const memory = differs(actual.memoryLimitBytes, wanted.memoryLimitBytes);
  if (!cpu && !memory) return "none";
  const needsRestart = (container.resizePolicy ?? []).some(
    (policy) =>
      policy.restartPolicy === "RestartContainer" &&
      ((policy.resourceName === "cpu" && cpu) || (policy.resourceName === "memory" && memory)),
  );
  return needsRestart ? "restart" : "in-place";
}
