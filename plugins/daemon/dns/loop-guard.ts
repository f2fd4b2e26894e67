// Keeps questions from going round: every list of upstream servers is asked once for a name that nobody else knows. If that question
// arrives here, the list leads back to us and is not asked any more, until it is another one.

import { randomBytes } from "node:crypto";
import type { Log } from "../../kit/base/log.ts";
import { type Question, recordType } from "./codec.ts";
import type { Upstream } from "./forward.ts";

export interface LoopGuardOptions {
  /** The same array as long as nothing has changed. */
  readonly listed: () => readonly Upstream[];
  /** Sends the question on. Its answer does not matter. */
  readonly ask: (question: Question, query: Buffer) => void;
  readonly log: Log;
}

export class LoopGuard {
  readonly #options: LoopGuardOptions;
  #probed: readonly Upstream[] = [];
  #name = "";
  #isLooping = false;

  constructor(options: LoopGuardOptions) {
    this.#options = options;
  }

  /** Whom to ask now; a list that is new is probed on the way. */
  upstreams(): readonly Upstream[] {
    const now = this.#options.listed();
    if (now !== this.#probed) {
      this.#probed = now;
      this.#isLooping = false;
      if (now.length > 0) this.#probe();
    }
    return this.#isLooping ? [] : now;
  }

  /** Whether a question that arrived here is our own, come round. */
  notices(name: string): boolean {
    if (this.#name === "" || name !== this.#name) return false;
    if (!this.#isLooping)
      this.#options.log.warn(
        { upstreams: this.#probed.map(({ address }) => address) },
        "the node's name servers lead back to cluster DNS; names outside the cluster are not resolved until they are others",
      );
    this.#isLooping = true;
    return true;
  }

  #probe(): void {
    // Another name each time: the answer to the last one may be kept on the way.
    this.#name = `${randomBytes(8).toString("hex")}.skiff-loop-probe`;
    const labels = this.#name.split(".").flatMap((label) => [Buffer.from([label.length]), Buffer.from(label)]);
    const raw = Buffer.concat([...labels, Buffer.from([0, 0, recordType.A, 0, 1])]);
    const query = Buffer.concat([Buffer.from([0, 0, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0]), raw]);
    const question = { id: 0, isRecursionDesired: true, name: this.#name, type: recordType.A, class: 1, raw };
    this.#options.ask({ ...question, edns: undefined }, query);
  }
}
