// One pod: its containers, what their probes said last, and what happened to it.

import type { PageContainer, PagePod } from "../state.ts";
import { linkTo } from "./place.ts";
import { ago, since, stateWords } from "./words.ts";

/** In the words of kubectl: what keeps a container from running is told before the phase. */
export function wordFor(pod: PagePod): string {
  const troubled = pod.containers.find((one) => one.isTroubled && one.reason !== "");
  const isPulling = pod.containers.some(({ pull }) => pull !== undefined);
  return pod.reason || troubled?.reason || (isPulling ? "Pulling" : pod.phase);
}

export function isTroubled(pod: PagePod): boolean {
  const isDone = pod.isReady || pod.phase === "Succeeded";
  return !isDone && (pod.phase === "Failed" || pod.phase === "Running" || pod.containers.some((one) => one.isTroubled));
}

export function PodView({ pod }: { readonly pod: PagePod }) {
  return (
    <>
      <header>
        <h1>
          {pod.namespace}/{pod.name}
        </h1>
        <span class={isTroubled(pod) ? "bad" : pod.isReady ? "good" : "soft"}>
          {pod.isReady ? "ready" : wordFor(pod)}
        </span>
        <span class="soft">
          {pod.ip}
          {pod.startedAt && ` · since ${since(Date.parse(pod.startedAt))}`}
        </span>
      </header>
      <h2>Containers</h2>
      <ul class="card plain">
        {pod.containers.map((one) => (
          <li key={one.name}>
            <a href={linkTo.container(pod.uid, one.name)}>{one.name}</a>{" "}
            <span class={one.isTroubled ? "bad" : one.state === "running" ? "good" : "soft"}>{stateWords(one)}</span>{" "}
            <span class="soft">
              {one.image} · {one.restarts} {one.restarts === 1 ? "restart" : "restarts"}
            </span>
          </li>
        ))}
      </ul>
      <Probes containers={pod.containers} />
      <Events pod={pod} container="" />
    </>
  );
}

export function Probes({ containers }: { readonly containers: readonly PageContainer[] }) {
  const rows = containers.flatMap((container) => container.probes.map((probe) => ({ container, probe })));
  if (rows.length === 0) return null;
  return (
    <section aria-label="Probes">
      <h2>Probes</h2>
      <ul class="card plain">
        {rows.map(({ container, probe }) => (
          <li key={container.name + probe.type}>
            {container.name} · {probe.type}{" "}
            <span class={probe.answer === "successful" ? "good" : probe.answer === "waiting" ? "soft" : "bad"}>
              {probe.answer}
            </span>{" "}
            <span class="soft">
              {probe.inARow > 1 ? `${probe.inARow} times in a row` : ""} {probe.at > 0 ? ago(probe.at) : ""}
            </span>
            {probe.output && <pre class="output">{probe.output}</pre>}
          </li>
        ))}
      </ul>
    </section>
  );
}

/** Of one container alone where one is named. */
export function Events({ pod, container }: { readonly pod: PagePod; readonly container: string }) {
  const shown = pod.events.filter(
    (event) => container === "" || event.container === "" || event.container === container,
  );
  return (
    <section aria-label="Events">
      <h2>Events</h2>
      {shown.length === 0 && <p class="soft">None since this node was started.</p>}
      <ul class="card plain" hidden={shown.length === 0}>
        {shown.map((event) => (
          <li key={event.reason + event.message + event.container}>
            <strong class={event.type === "Warning" ? "bad" : ""}>{event.reason}</strong>{" "}
            <span class="soft">
              {event.container && `${event.container} · `}
              {ago(event.lastAt)} {event.count > 1 ? `×${event.count}` : ""}
            </span>
            <div>{event.message}</div>
          </li>
        ))}
      </ul>
    </section>
  );
}
