// A container's log: followed, searched, bounded to its last lines.

import { useEffect, useRef, useState } from "preact/hooks";
import { bearer } from "./access.ts";

const most = 2000;
const againMs = 1_000;

interface LogsProps {
  readonly path: string;
  /** It was started anew: what the one before it said can be read. */
  readonly hasPrevious: boolean;
  readonly onRefused: (status: number) => void;
}

export function Logs({ path, hasPrevious, onRefused }: LogsProps) {
  const [lines, setLines] = useState<readonly string[]>([]);
  const [wanted, setWanted] = useState("");
  const [isFollowing, setFollowing] = useState(true);
  const [isPrevious, setPrevious] = useState(false);
  const [said, setSaid] = useState("");
  const place = useRef<HTMLPreElement>(null);
  useEffect(() => {
    const stop = new AbortController();
    let timer: ReturnType<typeof setTimeout> | undefined;
    const begin = async () => {
      setLines([]);
      setSaid("");
      const query = `tailLines=500&${isPrevious ? "previous=true" : `follow=${isFollowing}`}`;
      const refused = (status: number, why: string) => {
        setSaid(why);
        onRefused(status);
      };
      const isBroken = await read(`containerLogs/${path}?${query}`, stop.signal, refused, (more) =>
        setLines((known) => [...known, ...more].slice(-most)),
      );
      if (isBroken && isFollowing && !isPrevious && !stop.signal.aborted)
        timer = setTimeout(() => void begin(), againMs);
    };
    void begin();
    return () => {
      stop.abort();
      clearTimeout(timer);
    };
  }, [path, isFollowing, isPrevious]);
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
        {hasPrevious && (
          <label>
            <input type="checkbox" checked={isPrevious} onChange={() => setPrevious(!isPrevious)} /> before the restart
          </label>
        )}
        <span class="soft">{shown.length} lines</span>
      </div>
      <pre class="log" ref={place} tabIndex={0}>
        {said === "" ? shown.join("\n") : <span class="soft">{said}</span>}
      </pre>
    </section>
  );
}

/** True when the connection broke before the log's end. */
async function read(
  path: string,
  signal: AbortSignal,
  onRefused: (status: number, why: string) => void,
  onLines: (lines: readonly string[]) => void,
): Promise<boolean> {
  try {
    const response = await fetch(path, { headers: bearer(), signal });
    if (!response.ok || !response.body) {
      onRefused(response.status, (await response.text()).trim());
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
