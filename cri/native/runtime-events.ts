// Life-cycle steps of containers and sandboxes, told to whoever listens at the moment.

import type { ContainerEventResponse, ContainerEventType } from "../api/gen/runtime.js";
import type { Call } from "../../plugins/kit/base/call.ts";

/** A listener that is so far behind starts anew from a relist. */
const maxQueued = 10_000;

type Step = { id: string; sandboxId: string; type: ContainerEventType };

export class RuntimeEvents {
  readonly #listeners = new Set<(step: ContainerEventResponse) => void>();
  readonly #describe: (step: Step) => ContainerEventResponse;

  constructor(describe: (step: Step) => ContainerEventResponse) {
    this.#describe = describe;
  }

  emit(step: Step): void {
    if (this.#listeners.size === 0) return;
    const event = this.#describe(step);
    for (const listener of this.#listeners) listener(event);
  }

  /** Every step from the call on, until stopped. */
  async *listen(call: Call): AsyncGenerator<ContainerEventResponse, void, void> {
    const queue: ContainerEventResponse[] = [];
    let wake = () => {};
    const listener = (event: ContainerEventResponse) => {
      if (queue.length < maxQueued) queue.push(event);
      wake();
    };
    const onAbort = () => wake();
    this.#listeners.add(listener);
    call.signal.addEventListener("abort", onAbort);
    try {
      while (!call.signal.aborted) {
        const next = queue.shift();
        if (next) {
          yield next;
          continue;
        }
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
      }
    } finally {
      this.#listeners.delete(listener);
      call.signal.removeEventListener("abort", onAbort);
    }
  }
}
