// The cluster: its nodes and workloads, as far as the token may see them.

import { useState } from "preact/hooks";
import type { PageCluster, PageNode, PageWorkload } from "../cluster.ts";
import { useAsked } from "./asked.ts";
import { SignIn } from "./sign-in.tsx";
import { ago, bytes, cores } from "./words.ts";

export function ClusterView() {
  const [round, setRound] = useState(0);
  const { value, trouble } = useAsked<PageCluster>("cluster", round);
  const isRefused = trouble === 401 || trouble === 403;
  return (
    <>
      <header>
        <h1>Cluster</h1>
      </header>
      {isRefused && (
        <SignIn what="The cluster's nodes and workloads" status={trouble} onToken={() => setRound(round + 1)} />
      )}
      {value && !isRefused && (
        <>
          <h2>Nodes</h2>
          <Nodes nodes={value.nodes} />
          <h2>Workloads</h2>
          <Workloads workloads={value.workloads} />
        </>
      )}
    </>
  );
}

function Nodes({ nodes }: { readonly nodes: readonly PageNode[] }) {
  return (
    <div class="card scroll">
      <table aria-label="Nodes">
        <thead>
          <tr>
            <th>Node</th>
            <th>State</th>
            <th class="number">CPU</th>
            <th class="number">Memory</th>
            <th class="wide">Roles</th>
            <th class="wide">Address</th>
            <th class="wide">Version</th>
          </tr>
        </thead>
        <tbody>
          {nodes.map((node) => (
            <tr key={node.name}>
              <td>{node.name}</td>
              <td class={node.isReady ? "good" : "bad"}>
                {node.isReady ? "ready" : "not ready"}
                {node.isCordoned ? ", cordoned" : ""}
              </td>
              <td class="number">
                {node.milliCpu === undefined ? "" : cores(node.milliCpu)} <span class="soft">of {node.cpus}</span>
              </td>
              <td class="number">
                {node.memory === undefined ? "" : bytes(node.memory)}{" "}
                <span class="soft">of {bytes(node.memoryTotal)}</span>
              </td>
              <td class="wide">{node.roles}</td>
              <td class="wide soft">{node.address}</td>
              <td class="wide soft">{node.version}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function Workloads({ workloads }: { readonly workloads: readonly PageWorkload[] }) {
  if (workloads.length === 0) return <p class="soft">None.</p>;
  return (
    <div class="card scroll">
      <table aria-label="Workloads">
        <thead>
          <tr>
            <th>Workload</th>
            <th>Kind</th>
            <th class="number">Ready</th>
            <th class="wide">Made</th>
          </tr>
        </thead>
        <tbody>
          {workloads.map(({ kind, namespace, name, ready, wanted, createdAt }) => (
            <tr key={kind + namespace + name}>
              <td>
                {namespace}/{name}
              </td>
              <td class="soft">{kind}</td>
              <td class={`number ${ready >= wanted ? "good" : "bad"}`}>
                {ready}/{wanted}
              </td>
              <td class="wide soft">{ago(Date.parse(createdAt))}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
