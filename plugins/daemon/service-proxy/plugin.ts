// Offers the service proxy as a daemon of the node.

import { type Daemon, daemonKind } from "../../kit/daemon.ts";
import { Fault } from "../../kit/fault.ts";
import { nodeContextKind } from "../../kit/node-context.ts";
import type { Plugin } from "../../kit/plugin.ts";
import { portProblem } from "../../kit/settings.ts";
import { serviceProxyDaemon } from "./daemon.ts";
import type { ProxyPorts } from "./proxy-servers.ts";

export const serviceProxy: Plugin<Daemon, ProxyPorts> = {
  kind: daemonKind,
  name: "service-proxy",
  needs: [nodeContextKind],
  configure: readSettings,
  open({ all, settings, log, clock }) {
    const [node] = all(nodeContextKind);
    if (!node) throw new Fault("unavailable", "the service proxy needs a node that knows its cluster");
    return serviceProxyDaemon({ node, ports: settings, log, clock });
  },
};

/** Ports that nobody named are not opened: the agent's flags name them. */
function readSettings(raw: unknown): ProxyPorts {
  const ports: Record<string, number> = { healthzPort: 0, metricsPort: 0 };
  for (const [key, value] of Object.entries((raw ?? {}) as Record<string, unknown>)) {
    if (!(key in ports) || typeof value !== "number" || portProblem(value))
      throw new Fault("invalid", `service-proxy.${key} is unknown or has a wrong value: ${JSON.stringify(value)}`);
    ports[key] = value;
  }
  return ports as unknown as ProxyPorts;
}
