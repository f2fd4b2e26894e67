// `skiff agent`: a node alone.

import { within } from "../../plugins/kit/base/call.ts";
import { ApiClient } from "../../plugins/kit/kube/client/api-client.ts";
import { systemClock } from "../../plugins/kit/base/clock.ts";
import type { CommandContext } from "../../plugins/kit/os/command-line.ts";
import { openInstance, tellReady, whenReady } from "../../plugins/kit/os/instance.ts";
import type { Settings } from "../../plugins/kit/base/settings.ts";
import { learnClusterNetwork } from "../join/cluster-network.ts";
import { openMembership } from "./membership.ts";
import { nodeNameFrom } from "./node-config.ts";
import { openNode } from "./node.ts";

/** Runs until it is stopped. */
export async function agentCommand(settings: Settings, { log, signal }: CommandContext): Promise<void> {
  const startedAt = performance.now();
  const instance = await openInstance(settings, log);
  const nodeName = nodeNameFrom(settings);
  const membership = await openMembership(settings, nodeName, log, systemClock, { signal });
  const { userPlugins } = instance;
  const { api } = membership.node;
  const client = api && new ApiClient({ ...api, log, clock: systemClock, userAgent: "skiff-agent" });
  const learned = client ? await learnClusterNetwork({ settings, client, log }, { signal }) : settings;
  const node = await openNode({ settings: learned, ...membership.node, userPlugins, log, clock: systemClock });
  const renewing = membership.run({ signal });
  if (membership.node.api) await whenReady(node.agent, systemClock, signal);
  await tellReady({ node: nodeName, runtime: node.runtimeName, startedAt }, "", signal);
  await node.close(within(60_000));
  await renewing;
  membership.close();
  instance.release();
}
