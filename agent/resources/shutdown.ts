// The end of every pod when the machine goes down: group by group from the lowest priority, each with the time that is set for it.

import type { Call } from "../../plugins/kit/base/call.ts";
import type { Clock } from "../../plugins/kit/base/clock.ts";
import type { AgentConfig, ShutdownGroup } from "../config/agent-config.ts";
import type { AgentPod } from "../model/agent-pod.ts";
import type { Verdict } from "../model/verdict.ts";

const criticalPriority = 2_000_000_000;
const pollMs = 20;

/** By priority as set, else those that are critical after all others; empty where pods outlive the machine's end. */
export function shutdownGroups(
  config: Pick<AgentConfig, "shutdownGraceSeconds" | "shutdownGraceCriticalSeconds" | "shutdownGraceByPriority">,
): readonly ShutdownGroup[] {
  const { shutdownGraceSeconds: all, shutdownGraceCriticalSeconds: critical, shutdownGraceByPriority: set } = config;
  if (set.length > 0) return [...set].sort((a, b) => a.priority - b.priority);
  if (all === 0) return [];
  return [
    { priority: 0, seconds: all - critical },
    { priority: criticalPriority, seconds: critical },
  ];
}

/** A pod belongs to the highest group that is not above it; one below them all to the lowest. */
export function groupPods(
  groups: readonly ShutdownGroup[],
  pods: readonly AgentPod[],
): { readonly seconds: number; readonly pods: readonly AgentPod[] }[] {
  const indexOf = ({ spec }: AgentPod) =>
    Math.max(
      0,
      groups.findLastIndex(({ priority }) => priority <= (spec.priority ?? 0)),
    );
  return groups.map(({ seconds }, index) => ({ seconds, pods: pods.filter((pod) => indexOf(pod) === index) }));
}

export interface ShutdownParts {
  readonly pods: () => readonly AgentPod[];
  readonly end: (podUid: string, verdict: Verdict, graceSeconds?: number) => void;
  /** The pod has stopped and given back what it held: a storage driver of a later group may still have to let go of it. */
  readonly isReleased: (podUid: string) => boolean;
  readonly clock: Clock;
}

const message = "Pod was terminated in response to imminent node shutdown.";

/** Ends every pod. Goes on to the next group when all of one are gone or its time is over. */
export async function endByPriority(groups: readonly ShutdownGroup[], parts: ShutdownParts, call: Call): Promise<void> {
  for (const { seconds, pods } of groupPods(groups, parts.pods())) {
    const until = parts.clock.monotonic() + seconds * 1000;
    for (const pod of pods) endPod(pod, parts, Math.min(seconds, pod.spec.terminationGracePeriodSeconds ?? seconds));
    await released(pods, parts, until, call);
  }
}

/** The same for a node that is taken down for good: every pod has the grace period that it asks for, critical ones go last. */
export async function endAllInTurn(parts: ShutdownParts, call: Call): Promise<void> {
  const groups = [
    { priority: 0, seconds: Infinity },
    { priority: criticalPriority, seconds: Infinity },
  ];
  for (const { pods } of groupPods(groups, parts.pods())) {
    for (const pod of pods) endPod(pod, parts);
    await released(pods, parts, Infinity, call);
  }
}

function endPod({ metadata }: AgentPod, { end }: ShutdownParts, graceSeconds?: number): void {
  const condition = { type: "DisruptionTarget", status: "True", reason: "TerminationByKubelet", message };
  end(metadata.uid, { reason: "Terminated", message, condition }, graceSeconds);
}

async function released(
  pods: readonly AgentPod[],
  { clock, isReleased }: ShutdownParts,
  until: number,
  call: Call,
): Promise<void> {
  while (clock.monotonic() < until && !pods.every(({ metadata }) => isReleased(metadata.uid)))
    await clock.sleep(pollMs, call);
}
