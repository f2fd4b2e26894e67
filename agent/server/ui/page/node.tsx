// The node at a glance: how it is, what it uses, and its pods.

import { useState } from "preact/hooks";
import type { PagePod, PageState } from "../state.ts";
import { linkTo } from "./place.ts";
import { Plots } from "./plots.tsx";
import { isTroubled, wordFor } from "./pod.tsx";
import { bytes, cores, since, stateWords } from "./words.ts";

export function NodeView({ state, isLost }: { readonly state: PageState; readonly isLost: boolean }) {
  const { node } = state;
  return (
    <>
      <header>
        <h1>{node.name}</h1>
        <span class={isLost || node.trouble ? "bad" : "good"}>
          {isLost ? "does not answer" : node.trouble || "healthy"}
        </span>
        <span class="soft">
          {node.version} · up {since(node.bootedAt)} · load {node.load.map((one) => one.toFixed(2)).join(" ")}
          {node.disk && ` · disk ${bytes(node.disk.free)} free of ${bytes(node.disk.total)}`}
          {node.temperatures.map(({ zone, celsius }) => ` · ${zone} ${celsius.toFixed(1)} °C`)}
        </span>
        {(node.throttled & 0xf) > 0 && <strong class="bad">throttled or under-voltage</strong>}
      </header>
      <Plots points={node.points} most={{ cores: node.cpus, memory: node.memoryTotal }} />
      <h2>
        Pods <span class="soft">{state.pods.length}</span>
      </h2>
      <Pods pods={state.pods} />
    </>
  );
}

function Pods({ pods }: { readonly pods: readonly PagePod[] }) {
  const [wanted, setWanted] = useState("");
  if (pods.length === 0) return <p class="soft">No pods run here yet.</p>;
  const found = pods.filter(({ namespace, name }) => `${namespace}/${name}`.includes(wanted));
  // Those that need somebody first; the order among the others stays.
  const shown = found.toSorted((a, b) => Number(isTroubled(b)) - Number(isTroubled(a)));
  return (
    <>
      {pods.length > 8 && (
        <input
          type="search"
          placeholder="Search"
          aria-label="Search pods"
          value={wanted}
          onInput={(event) => setWanted(event.currentTarget.value)}
        />
      )}
      <div class="card scroll">
        <table class="rows">
          <thead>
            <tr>
              <th>Pod</th>
              <th>Container</th>
              <th>State</th>
              <th class="wide">Probes</th>
              <th class="number">Restarts</th>
              <th class="number">CPU</th>
              <th class="number">Memory</th>
              <th class="wide">Address</th>
            </tr>
          </thead>
          <tbody>
            {shown.map((pod) =>
              pod.containers.map((_, index) => <Row key={pod.uid + index} pod={pod} index={index} />),
            )}
          </tbody>
        </table>
      </div>
    </>
  );
}

function Row({ pod, index }: { readonly pod: PagePod; readonly index: number }) {
  const one = pod.containers[index];
  if (!one) return null;
  const failing = one.probes.filter(({ answer }) => answer === "failed" || answer === "unknown");
  return (
    <tr class={index === 0 ? "first" : ""}>
      <td class="name">
        {index === 0 && (
          <>
            <a href={linkTo.pod(pod.uid)}>
              {pod.namespace}/{pod.name}
            </a>{" "}
            <span class={isTroubled(pod) ? "bad" : "soft"}>{wordFor(pod)}</span>
          </>
        )}
      </td>
      <td>
        <a href={linkTo.container(pod.uid, one.name)}>{one.name}</a>{" "}
        {one.role !== "regular" && <span class="soft">{one.role}</span>}
      </td>
      <td class={one.isTroubled ? "bad" : one.state === "running" ? "good" : "soft"}>{stateWords(one)}</td>
      <td class={`wide ${failing.length > 0 ? "bad" : "soft"}`}>
        {failing.length > 0 ? failing.map(({ type }) => type).join(", ") : one.probes.length > 0 ? "passing" : ""}
      </td>
      <td class="number" data-label="restarts">
        {one.restarts}
      </td>
      <td class="number" data-label="CPU">
        {one.state === "running" ? cores(one.milliCpu) : "–"}
      </td>
      <td class="number" data-label="memory">
        {one.state === "running" ? bytes(one.memory) : "–"}
      </td>
      <td class="wide soft">{index === 0 && pod.ip}</td>
    </tr>
  );
}
