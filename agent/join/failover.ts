// One fetch over several servers: the one that answered last is asked first; when it cannot be reached, the next ones are.

import type { Fetch } from "../../plugins/kit/base/fetch.ts";

/**
 * A request made from another follows its signal only while that other one is alive, and nobody else keeps it: so each answer's
 * body does, or a watch that is told to stop would never hear of it.
 */
const askedBy = new WeakMap<ReadableStream, Request>();

/** Only a connection that never came about moves on: a request that reached a server is never sent twice. */
export function failoverFetch(
  servers: readonly string[],
  fetch: Fetch,
  isUnreachable: (error: unknown) => boolean,
): Fetch {
  let preferred = 0;
  return async (request) => {
    // A body can be read once: keep it for the next server.
    const body = request.body ? await request.arrayBuffer() : undefined;
    const { pathname, search } = new URL(request.url);
    let last: unknown;
    for (let step = 0; step < servers.length; step++) {
      const index = (preferred + step) % servers.length;
      const url = `${servers[index]}${pathname}${search}`;
      const { method, headers, signal } = request;
      try {
        const answer = await fetch(new Request(url, { method, headers, signal, ...(body ? { body } : {}) }));
        preferred = index;
        if (answer.body) askedBy.set(answer.body, request);
        return answer;
      } catch (error) {
        last = error;
        if (!isUnreachable(error) || signal.aborted) throw error;
      }
    }
    throw last;
  };
}
