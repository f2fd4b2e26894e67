// A container's log: followed, searched, bounded to its last lines.

import { useEffect, useRef, useState } from "preact/hooks";
import { bearer } from "./access.ts";

const most = 2000;
const againMs = 1_000;

export function Logs({ path, onRefused }: { readonly path: string; readonly onRefused: (status: number) => void }) {
  const [lines, setLines] = useState<readonly string[]>([]);
  const [wanted, setWanted] = useState("");
  const [isFollowing, setFollowing] = useState(true);
  const place = useRef<HTMLPreElement>(null);
  useEffect(() => {
    const stop = new AbortController();
    let timer: ReturnType<typeof setTimeout> | undefined;
    const begin = async () => {
      setLines([]);
      const isBroken = await read(path, isFollowing, stop.signal, onRefused, (more) =>
        setLines((known) => [...known, ...more].slice(-most)),
      );
      if (isBroken && isFollowing && !stop.signal.aborted) timer = setTimeout(() => void begin(), againMs);
    };
    void begin();
    return () => {
      stop.abort();
      clearTimeout(timer);
    };
  }, [path, isFollowing]);
  useEffect(() => {
    if (isFollowing) place.current?.scrollTo(0, place.current.scrollHeight);
  }, [lines]);
  const shown = wanted === "" ? lines : lines.filter((line) => line.toLowerCase().includes(wanted.toLowerCase()));
  return (
    <section aria-label="Logs">
      <div class="bar">
        <input
          type="search"
          placeholder="Search"
          aria-label="Search the log"
          value={wanted}
          onInput={(event) => setWanted(event.currentTarget.value)}
        />
        <label>
          <input type="checkbox" checked={isFollowing} onChange={() => setFollowing(!isFollowing)} /> follow
        </label>
        <span class="soft">{shown.length} lines</span>
      </div>
      <pre class="log" ref={place} tabIndex={0}>
        {shown.join("\n")}
      </pre>
    </section>
  );
}

/** True when the connection broke before the log's end. */
async function read(
  path: string,
  follow: boolean,
  signal: AbortSignal,
  onRefused: (status: number) => void,
  onLines: (lines: readonly string[]) => void,
): Promise<boolean> {
  try {
    const response = await fetch(`containerLogs/${path}?tailLines=500&follow=${follow}`, { headers: bearer(), signal });
    if (!response.ok || !response.body) {
      onRefused(response.status);
      return false;
    }
    const decoder = new TextDecoder();
    const reader = response.body.getReader();
    let rest = "";
    for (;;) {
      const { done, value } = await reader.read();
      if (done) break;
      const parts = (rest + decoder.decode(value, { stream: true })).split("\n");
      rest = parts.pop() ?? "";
      onLines(parts);
    }
    return false;
  } catch {
    // Left, or the connection broke: what was shown stays until it can be asked for again.
    return true;
  }
}
