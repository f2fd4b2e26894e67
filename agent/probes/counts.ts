// How often each probe was asked and what it said, for as long as its pod is here.

import type { AgentPod } from "../model/agent-pod.ts";
import type { ProbeType } from "./results.ts";

export type ProbeAnswer = "successful" | "failed" | "unknown";

export interface ProbeCount {
  readonly namespace: string;
  readonly pod: string;
  readonly uid: string;
  readonly container: string;
  readonly type: ProbeType;
  readonly answer: ProbeAnswer;
  count: number;
}

/** How long a probe took, whatever it said: in how many buckets' limits, altogether, and how often. */
export interface ProbeDurations {
  readonly namespace: string;
  readonly pod: string;
  readonly container: string;
  readonly type: ProbeType;
  readonly counts: number[];
  sum: number;
  total: number;
}

/** In seconds. */
export const probeBuckets: readonly number[] = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];

export class ProbeCounts {
  readonly #byPod = new Map<string, Map<string, ProbeCount>>();
  readonly #durations = new Map<string, Map<string, ProbeDurations>>();

  add({ metadata }: AgentPod, container: string, type: ProbeType, answer: ProbeAnswer): void {
    const { uid, namespace, name } = metadata;
    const counts = this.#byPod.get(uid) ?? new Map<string, ProbeCount>();
    this.#byPod.set(uid, counts);
    const key = `${container}/${type}/${answer}`;
    const known = counts.get(key);
    if (known) known.count++;
    else counts.set(key, { namespace, pod: name, uid, container, type, answer, count: 1 });
  }

  took({ metadata }: AgentPod, container: string, type: ProbeType, seconds: number): void {
    const { uid, namespace, name: pod } = metadata;
    const all = this.#durations.get(uid) ?? new Map<string, ProbeDurations>();
    this.#durations.set(uid, all);
    const key = `${container}/${type}`;
    const counts = probeBuckets.map(() => 0);
    const known = all.get(key) ?? { namespace, pod, container, type, counts, sum: 0, total: 0 };
    all.set(key, known);
    known.sum += seconds;
    known.total++;
    probeBuckets.forEach((limit, index) => {
      if (seconds <= limit) known.counts[index] = (known.counts[index] ?? 0) + 1;
    });
  }

  durations(): ProbeDurations[] {
    return [...this.#durations.values()].flatMap((all) => [...all.values()]);
  }

  remove(podUid: string): void {
    this.#byPod.delete(podUid);
    this.#durations.delete(podUid);
  }

  all(): ProbeCount[] {
    return [...this.#byPod.values()].flatMap((counts) => [...counts.values()]);
  }
}
