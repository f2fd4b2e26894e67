// One container: its plots, its probes and events, its log, a terminal in it.

import { useEffect, useRef, useState } from "preact/hooks";
import type { PageContainer, PagePod } from "../state.ts";
import { bearer } from "./access.ts";
import { Logs } from "./logs.tsx";
import { linkTo } from "./place.ts";
import { Plots } from "./plots.tsx";
import { Events, Probes } from "./pod.tsx";
import { SignIn } from "./sign-in.tsx";
import { stateWords } from "./words.ts";

interface ContainerProps {
  readonly pod: PagePod;
  readonly container: PageContainer;
}

export function ContainerView({ pod, container }: ContainerProps) {
  const [isTerminal, setTerminal] = useState(false);
  const [refused, setRefused] = useState(false);
  const [round, setRound] = useState(0);
  const path = `${pod.namespace}/${pod.name}/${container.name}`;
  return (
    <>
      <header>
        <h1>
          <a href={linkTo.pod(pod.uid)}>
            {pod.namespace}/{pod.name}
          </a>
          /{container.name}
        </h1>
        <span class={container.isTroubled ? "bad" : container.state === "running" ? "good" : "soft"}>
          {stateWords(container)}
        </span>
        <span class="soft">
          {container.image}
          {container.restarts > 0 && ` · ${container.restarts} ${container.restarts === 1 ? "restart" : "restarts"}`}
        </span>
      </header>
      {container.isTroubled && container.exitCode !== undefined && (
        <LastEnd path={path} exitCode={container.exitCode} restarts={container.restarts} />
      )}
      <Plots points={container.points} />
      {refused && (
        <SignIn
          what="Logs and terminals"
          onToken={() => {
            setRefused(false);
            setRound(round + 1);
          }}
        />
      )}
      <div class="bar">
        <button onClick={() => setTerminal(false)} aria-pressed={!isTerminal}>
          Logs
        </button>
        <button onClick={() => setTerminal(true)} aria-pressed={isTerminal}>
          Terminal
        </button>
      </div>
      {isTerminal ? (
        container.state === "running" ? (
          <TerminalView key={`t${round}`} path={path} />
        ) : (
          <p role="status">A terminal needs a running container, and this one is not running.</p>
        )
      ) : refused ? null : (
        <Logs
          key={`l${round}`}
          path={path}
          hasPrevious={container.restarts > 0}
          onRefused={(status) => setRefused(status === 401 || status === 403)}
        />
      )}
      <Probes containers={[container]} />
      <Events pod={pod} container={container.name} />
    </>
  );
}

/** How a container that failed ended, with the last line that it wrote. */
function LastEnd({ path, exitCode, restarts }: { path: string; exitCode: number; restarts: number }) {
  const [line, setLine] = useState("");
  useEffect(() => {
    const stop = new AbortController();
    fetch(`containerLogs/${path}?tailLines=1`, { headers: bearer(), signal: stop.signal }).then(
      async (response) => setLine(response.ok ? (await response.text()).trim() : ""),
      () => {}, // left, or no answer: the exit code is shown all the same
    );
    return () => stop.abort();
  }, [path, restarts]);
  return (
    <section class="card" aria-label="Last end">
      <strong class="bad">exited with code {exitCode}</strong>
      {line && <pre class="output">{line}</pre>}
    </section>
  );
}

function TerminalView({ path }: { readonly path: string }) {
  const [ended, setEnded] = useState("");
  const place = useRef<HTMLDivElement>(null);
  useEffect(() => {
    let close: (() => void) | undefined;
    let isGone = false;
    void import("./terminal.ts").then(({ openTerminal }) => {
      const link = document.createElement("link");
      link.rel = "stylesheet";
      link.href = "terminal.css";
      document.head.append(link);
      if (place.current && !isGone) close = openTerminal(place.current, path, setEnded);
    });
    return () => {
      isGone = true;
      close?.();
    };
  }, [path]);
  return (
    <section aria-label="Terminal">
      <div class="terminal" ref={place} />
      {ended && (
        <p role="status" class="bad">
          The terminal ended: {ended}. The container may have stopped, or this token may not open terminals.
        </p>
      )}
      <p class="soft">Shift+Tab leaves the terminal.</p>
    </section>
  );
}
