// Hands container events of a runtime in this process to any number of listeners, each at its own pace.

import type { Call } from "../../plugins/kit/base/call.ts";
import { Fault } from "../../plugins/kit/base/fault.ts";
import type { ContainerEventResponse } from "./gen/runtime.js";

// A listener this far behind is cut off: it must relist anyway, and its queue must not eat the node.
const longestQueue = 10_000;

interface Listener {
  readonly queue: ContainerEventResponse[];
  wake: () => void;
  ended: Fault | undefined;
}

export class EventFeed {
  readonly #listeners = new Set<Listener>();

  emit(event: ContainerEventResponse): void {
    for (const listener of this.#listeners) {
      listener.queue.push(event);
      if (listener.queue.length > longestQueue) {
        this.#end(listener, new Fault("too-many", "container events: the listener is too far behind"));
      }
      listener.wake();
    }
  }

  /** Listens from this moment on, not only from the first `next()`. Ends quietly when stopped. */
  listen(call: Call): AsyncIterable<ContainerEventResponse> {
    const listener: Listener = { queue: [], wake: () => {}, ended: undefined };
    this.#listeners.add(listener);
    const stop = () => {
      this.#listeners.delete(listener);
      listener.wake();
    };
    if (call.signal.aborted) stop();
    else call.signal.addEventListener("abort", stop, { once: true });
    return this.#events(listener, stop, call);
  }

  /** Ends every listener as a lost runtime would. */
  close(): void {
    for (const listener of this.#listeners) this.#end(listener, new Fault("unavailable", "the runtime was closed"));
  }

  async *#events(listener: Listener, stop: () => void, call: Call): AsyncGenerator<ContainerEventResponse> {
    try {
      while (!call.signal.aborted) {
        const event = listener.queue.shift();
        if (event) yield event;
        else if (listener.ended) throw listener.ended;
        else await new Promise<void>((resolve) => (listener.wake = resolve));
      }
    } finally {
      stop();
      call.signal.removeEventListener("abort", stop);
    }
  }

  #end(listener: Listener, fault: Fault): void {
    this.#listeners.delete(listener);
    listener.ended = fault;
    listener.wake();
  }
}
