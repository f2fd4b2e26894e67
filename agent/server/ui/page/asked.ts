// Asks the node for a document again and again, with the token where there is one.

import { useEffect, useState } from "preact/hooks";
import { bearer } from "./access.ts";

export interface Answer<T> {
  readonly value?: T;
  /** The last status that was not good; 0 when nothing answered, undefined when all is well. */
  readonly trouble?: number;
}

const beatMs = 2_000;

export function useAsked<T>(path: string, round = 0): Answer<T> {
  const [answer, setAnswer] = useState<Answer<T>>({});
  useEffect(() => {
    const stop = new AbortController();
    let timer: ReturnType<typeof setTimeout> | undefined;
    const look = async () => {
      try {
        const response = await fetch(path, { headers: bearer(), signal: stop.signal });
        const value = response.ok ? ((await response.json()) as T) : undefined;
        setAnswer((known) => (value === undefined ? { ...known, trouble: response.status } : { value }));
      } catch {
        if (!stop.signal.aborted) setAnswer((known) => ({ ...known, trouble: 0 }));
      }
      // Nobody looks at a page in the background.
      if (!stop.signal.aborted) timer = setTimeout(() => whenSeen(look, stop.signal), beatMs);
    };
    // A refusal is news once: what is asked for with another token is not refused yet.
    setAnswer(({ value }) => (value === undefined ? {} : { value }));
    void look();
    return () => {
      stop.abort();
      clearTimeout(timer);
    };
  }, [path, round]);
  return answer;
}

function whenSeen(then: () => Promise<void>, signal: AbortSignal): void {
  if (document.visibilityState === "visible") void then();
  else document.addEventListener("visibilitychange", () => void then(), { once: true, signal });
}
