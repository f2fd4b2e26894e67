// Offers the service proxy as a daemon of the node.

import { checkSettings, integer, withDefault } from "../../kit/base/config-check.ts";
import { type Daemon, daemonKind } from "../../kit/contracts/daemon.ts";
import { Fault } from "../../kit/base/fault.ts";
import { nodeContextKind } from "../../kit/contracts/node-context.ts";
import type { Plugin } from "../../kit/base/plugin.ts";
import { serviceProxyDaemon } from "./daemon.ts";
import type { ProxyPorts } from "./proxy-servers.ts";

export const serviceProxy: Plugin<Daemon, ProxyPorts> = {
  kind: daemonKind,
  name: "service-proxy",
  needs: [nodeContextKind],
  keys: {
    healthzPort: "as --proxy-healthz-port",
    metricsPort: "as --proxy-metrics-port",
  },
  configure: readSettings,
  open({ all, settings, log, clock }) {
    const [node] = all(nodeContextKind);
    if (!node) throw new Fault("unavailable", "the service proxy needs a node that knows its cluster");
    return serviceProxyDaemon({ node, ports: settings, log, clock });
  },
};

/** Ports that nobody named are not opened: the agent's flags name them. */
function readSettings(raw: unknown): ProxyPorts {
  const port = withDefault(integer({ min: 0, max: 65535 }), 0);
  return checkSettings(raw, { healthzPort: port, metricsPort: port });
}
