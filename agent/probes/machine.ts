// The state of one probe on one container: outcomes in, verdict out. Pure but for its own memory.

import type { Probe } from "../../plugins/kit/kube/objects/types.ts";
import type { ProbeVerdict } from "../model/probe-verdict.ts";
import type { ProbeType } from "./results.ts";

export type ProbeOutcome = "success" | "failure";

export class ProbeMachine {
  readonly #type: ProbeType;
  readonly #probe: Probe;
  #last: ProbeOutcome | undefined;
  #run = 0;
  #isOnHold = false;

  constructor(type: ProbeType, probe: Probe) {
    this.#type = type;
    this.#probe = probe;
  }

  /** Nothing more to learn from this container: it is about to be killed, or has started. */
  get isOnHold(): boolean {
    return this.#isOnHold;
  }

  /** The verdict after one more outcome; undefined while a threshold is not reached. */
  step(outcome: ProbeOutcome): ProbeVerdict | undefined {
    this.#run = outcome === this.#last ? this.#run + 1 : 1;
    this.#last = outcome;
    const threshold = outcome === "failure" ? (this.#probe.failureThreshold ?? 3) : (this.#probe.successThreshold ?? 1);
    if (this.#run < threshold) return undefined;
    // A doomed or started container is not asked again; a new one gets a new machine.
    const isFinal = this.#type === "startup" || (this.#type === "liveness" && outcome === "failure");
    if (isFinal) this.#isOnHold = true;
    return outcome;
  }
}

/** When to ask next, in milliseconds from now: the first time after the initial delay, then every period. */
export function firstDelayMs(probe: Probe, startedAtMs: number, nowMs: number): number {
  const delayMs = (probe.initialDelaySeconds ?? 0) * 1000;
  // A clock that was set back must not make it longer.
  return Math.min(delayMs, Math.max(0, startedAtMs + delayMs - nowMs));
}

export function periodMs(probe: Probe): number {
  return (probe.periodSeconds || 10) * 1000;
}

export function timeoutMs(probe: Probe): number {
  return (probe.timeoutSeconds || 1) * 1000;
}
