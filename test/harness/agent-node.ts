// A whole agent in this process for tests: on any runtime, with an API server in the same process or without one.

import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Agent, openAgent } from "../../agent/assemble/agent.ts";
import { type AgentConfig, agentConfig } from "../../agent/config/agent-config.ts";
import type { Runtime } from "../../cri/api/contract.ts";
import type { Clock } from "../../plugins/kit/base/clock.ts";
import { type Log, noLog } from "../../plugins/kit/base/log.ts";
import type { Pod } from "../../plugins/kit/kube/objects/types.ts";
import { nodePlugins } from "../../plugins/builtins.ts";
import type { TestApi } from "./api-server.ts";
import { admin } from "./api-server.ts";
import { busyboxImageName } from "./images.ts";

export interface TestNode {
  readonly agent: Agent;
  readonly dataDir: string;
  readonly nodeName: string;
}

interface Teardown {
  teardown(then: () => Promise<void>): void;
}

export interface TestNodeOptions {
  readonly api?: TestApi;
  readonly config?: Partial<AgentConfig>;
  /** Of an earlier node; a new one, removed at the end, unless told. */
  readonly dataDir?: string;
  readonly log?: Log;
  readonly clock?: Clock;
}

export async function startNode(t: Teardown, runtime: Runtime, options: TestNodeOptions = {}): Promise<TestNode> {
  const dataDir = options.dataDir ?? (await mkdtemp(join(tmpdir(), "skiff-agent-")));
  const config = agentConfig({
    nodeName: "node",
    nodeIps: ["127.0.0.1"],
    clusterDns: ["10.43.0.10"],
    dataDir,
    ...options.config,
  });
  const agent = await openAgent({
    config,
    runtime,
    ...(options.api ? { api: { fetch: options.api.server.fetchAs(admin) } } : {}),
    plugins: nodePlugins,
    log: options.log ?? noLog,
    ...(options.clock ? { clock: options.clock } : {}),
  });
  t.teardown(async () => {
    await agent.close();
    if (!options.dataDir) await rm(dataDir, { recursive: true, force: true });
  });
  return { agent, dataDir, nodeName: config.nodeName };
}

/** Makes a namespace as the control plane would. */
export async function makeNamespaces(api: TestApi, ...names: string[]): Promise<void> {
  for (const name of names)
    await api.ask("POST", "/api/v1/namespaces", { apiVersion: "v1", kind: "Namespace", metadata: { name } });
}

/** A pod that is bound already, so that no scheduler is needed. */
export function boundPod(
  name: string,
  spec: Record<string, unknown> = {},
  metadata: Record<string, unknown> = {},
): object {
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name, namespace: "default", ...metadata },
    spec: {
      nodeName: "node",
      terminationGracePeriodSeconds: 1,
      automountServiceAccountToken: false,
      containers: [{ name: "main", image: busyboxImageName, command: ["sleep", "1000000"] }],
      ...spec,
    },
  };
}

export const conditionOf = (pod: Pod | undefined, type: string): string | undefined =>
  pod?.status?.conditions?.find((condition) => condition.type === type)?.status;
