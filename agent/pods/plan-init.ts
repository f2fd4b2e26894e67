// The part of the plan that runs init containers in order and keeps sidecars alive. It walks backwards: finished init containers may have
// been removed from the runtime, so the last one that is known says how far the pod came.

import type { Container } from "../../plugins/kit/kube/objects/types.ts";
import { newestOf, type ObservedContainer, type ObservedPod } from "../model/observed.ts";
import { type AgentPod, isSidecar } from "../model/agent-pod.ts";
import { type Decisions, type PlanContext, resizeOf, whyKilled } from "./plan-running.ts";

type Start = Decisions["starts"][number];

/** True when the pod is initialized, so that its regular containers may run. */
export function planInitContainers(
  pod: AgentPod,
  observed: ObservedPod | undefined,
  context: PlanContext,
  decisions: Decisions,
): boolean {
  const containers = pod.spec.initContainers ?? [];
  if (containers.length === 0) return true;
  // A regular container that was made proves that initialization was complete. An ended one does not: it may be of an earlier sandbox.
  const isPodStarted = pod.spec.containers.some((container) => {
    const state = newestOf(observed, container.name)?.state;
    return state === "created" || state === "running";
  });
  const walk: Walk = {
    pod,
    containers,
    context,
    decisions,
    starts: [],
    isInitialized: isPodStarted,
    isPassed: isPodStarted,
  };

  for (let index = containers.length - 1; index >= 0; index--) {
    const container = containers[index] as Container;
    const newest = newestOf(observed, container.name);
    if (!newest) {
      // A sidecar that was passed once and is forgotten by the runtime runs again.
      if (walk.isPassed && isSidecar(container)) walk.starts.push(startOf(container));
      continue;
    }
    if (walk.isPassed && !isSidecar(container)) continue;
    const isTerminal = isSidecar(container)
      ? visitSidecar(walk, index, container, newest)
      : visitInit(walk, index, container, newest);
    if (isTerminal) {
      decisions.killPod = true;
      return false;
    }
    walk.isPassed = true;
  }
  const first = containers[0];
  if (!walk.isPassed && first) walk.starts.push(startOf(first));
  decisions.starts.push(...walk.starts.reverse());
  return walk.isInitialized;
}

interface Walk {
  readonly pod: AgentPod;
  readonly containers: readonly Container[];
  readonly context: PlanContext;
  readonly decisions: Decisions;
  /** In reverse order of the spec, as the walk finds them. */
  readonly starts: Start[];
  isInitialized: boolean;
  /** A later init container (or a regular one) has been seen, so this one must have been passed. */
  isPassed: boolean;
}

function startOf(container: Container): Start {
  return { name: container.name, role: isSidecar(container) ? "sidecar" : "init" };
}

/** This one is through: the pod is initialized if it was the last, else the next one may start. */
function pass(walk: Walk, index: number): void {
  const next = walk.containers[index + 1];
  if (!next) walk.isInitialized = true;
  else if (!walk.isPassed) walk.starts.push(startOf(next));
}

function visitSidecar(walk: Walk, index: number, container: Container, newest: ObservedContainer): boolean {
  const restart = () => walk.starts.push(startOf(container));
  // A plan is only made when no start is under way, so a created container is one that a killed agent left behind.
  if (newest.state === "exited" || newest.state === "created") {
    restart();
    return false;
  }
  if (newest.state === "unknown") {
    kill(walk, container, newest);
    restart();
    return false;
  }
  const startup = walk.context.startup(newest.id);
  if (container.startupProbe && startup !== "success") {
    if (startup === "failure") {
      const message = `Init container ${container.name} failed startup probe, will be restarted`;
      walk.decisions.kills.push({ id: newest.id, name: container.name, reason: "startup-probe", message });
      restart();
    }
    return false;
  }
  pass(walk, index);
  const why = whyKilled(container, newest, walk.context, "Init container");
  if (why) {
    const message = `${why.message}, will be restarted`;
    walk.decisions.kills.push({ id: newest.id, name: container.name, reason: why.reason, message });
    restart();
  } else if (resizeOf(container, newest, walk.context) === "in-place") {
    walk.decisions.resizes.push({ id: newest.id, name: container.name });
  }
  return false;
}

/** True when the pod cannot go on: the container failed and the pod never restarts. */
function visitInit(walk: Walk, index: number, container: Container, newest: ObservedContainer): boolean {
  if (newest.state === "running") return false;
  if (newest.state === "created") {
    walk.starts.push(startOf(container));
    return false;
  }
  const neverRestarts = walk.pod.spec.restartPolicy === "Never";
  if (newest.state === "exited" && newest.exitCode === 0) {
    pass(walk, index);
    return false;
  }
  if (neverRestarts) return true;
  if (newest.state === "unknown") kill(walk, container, newest);
  walk.starts.push(startOf(container));
  return false;
}

function kill(walk: Walk, container: Container, newest: ObservedContainer): void {
  const message = `Init container is in "${newest.state}" state, try killing it before restart`;
  walk.decisions.kills.push({ id: newest.id, name: container.name, reason: "unknown", message });
}
