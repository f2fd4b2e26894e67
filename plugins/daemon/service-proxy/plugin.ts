// Offers the service proxy as a daemon of the node.

import { type Daemon, daemonKind } from "../../kit/daemon.ts";
import { Fault } from "../../kit/fault.ts";
import { nodeContextKind } from "../../kit/node-context.ts";
import type { Plugin } from "../../kit/plugin.ts";
import { serviceProxyDaemon } from "./daemon.ts";

export const serviceProxy: Plugin<Daemon, undefined> = {
  kind: daemonKind,
  name: "service-proxy",
  needs: [nodeContextKind],
  open({ all, log, clock }) {
    const [node] = all(nodeContextKind);
    if (!node) throw new Fault("unavailable", "the service proxy needs a node that knows its cluster");
    return serviceProxyDaemon({ node, log, clock });
  },
};
