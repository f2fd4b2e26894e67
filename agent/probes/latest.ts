// The newest answer of each probe, in its own words, for as long as its pod is here.

import type { ProbeAnswer } from "./counts.ts";
import type { ProbeType } from "./results.ts";

export interface LatestAnswer {
  readonly container: string;
  readonly type: ProbeType;
  readonly answer: ProbeAnswer;
  readonly output: string;
  /** Wall time in milliseconds. */
  readonly at: number;
  /** How many times in a row it has answered the same. */
  readonly inARow: number;
}

const mostOutput = 1024;

export class LatestAnswers {
  readonly #byPod = new Map<string, Map<string, LatestAnswer>>();

  set(podUid: string, { output, ...told }: Omit<LatestAnswer, "inARow">): void {
    const answers = this.#byPod.get(podUid) ?? new Map<string, LatestAnswer>();
    this.#byPod.set(podUid, answers);
    const key = `${told.container}/${told.type}`;
    const before = answers.get(key);
    const inARow = before?.answer === told.answer ? before.inARow + 1 : 1;
    answers.set(key, { ...told, output: output.slice(0, mostOutput), inARow });
  }

  of(podUid: string): readonly LatestAnswer[] {
    return [...(this.#byPod.get(podUid)?.values() ?? [])];
  }

  remove(podUid: string): void {
    this.#byPod.delete(podUid);
  }
}
