// The overlay daemon: follows Node objects and keeps this node's way to the pods of the others.

import type { Call } from "../../kit/base/call.ts";
import type { Clock } from "../../kit/base/clock.ts";
import type { Daemon } from "../../kit/contracts/daemon.ts";
import { isFault } from "../../kit/base/fault.ts";
import type { Log } from "../../kit/base/log.ts";
import { enableForwarding } from "../../kit/os/net/forwarding.ts";
import { openRoutes } from "../../kit/os/net/links.ts";
import type { NodeContext } from "../../kit/contracts/node-context.ts";
import { resources } from "../../kit/kube/objects/resources.ts";
import type { Node } from "../../kit/kube/objects/types.ts";
import { Wake } from "../wake.ts";
import { applyOverlay, connectedPrefixes, type OverlaySettings, removeOverlay } from "./apply.ts";
import { describePlan, type OverlayMode, planOverlay, siteOf } from "./plan.ts";

export interface OverlayDaemonOptions {
  readonly node: NodeContext;
  readonly settings: OverlaySettings & { readonly mode: OverlayMode };
  readonly clock: Clock;
  readonly log: Log;
}

/** How often the kernel is compared although no Node changed: links and routes may change under us. */
const lookMs = 15_000;
const gatherMs = 50;

export function overlayDaemon(options: OverlayDaemonOptions): Daemon {
  return { name: "overlay", run: (call) => run(options, call), remove: () => removeOverlay(options.settings) };
}

async function run({ node, settings, clock, log }: OverlayDaemonOptions, call: Call): Promise<void> {
  const nodes = node.informer<Node>(resources.nodes);
  const wake = new Wake(clock, call);
  // Heartbeats change a Node all the time; only sites matter.
  const sites = () => nodes.list().map(siteOf);
  const print = () =>
    JSON.stringify(sites(), (_key, value: unknown) => (typeof value === "bigint" ? value.toString() : value));
  let seen = "";
  const end = nodes.onEvent(() => {
    if (print() !== seen) wake.ring();
  });
  try {
    await wake.for(nodes.synced);
    let last = "";
    while (!call.signal.aborted) {
      seen = print();
      const plan = planOverlay(sites(), node.nodeName, settings.mode, await connected(settings.device));
      try {
        for (const family of new Set(plan.routes.map(({ destination }) => destination.address.family)))
          enableForwarding(family);
        const mtu = await applyOverlay(plan, settings);
        if (mtu) node.tellPodMtu?.(mtu);
        const text = describePlan(plan);
        if (text !== last) log.info({ routes: text }, "routes to the pods of other nodes are set");
        last = text;
      } catch (error) {
        if (isFault(error, "unsupported")) throw error;
        log.warn({ err: error }, "the way to other nodes could not be set; will try again");
      }
      if (await wake.next(lookMs)) await clock.sleep(gatherMs, call).catch(() => {});
    }
  } finally {
    end();
    wake.close();
  }
}

async function connected(device: string) {
  const routes = openRoutes();
  try {
    return await connectedPrefixes(routes, device);
  } finally {
    routes.close();
  }
}
