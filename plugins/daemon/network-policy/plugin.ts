// Offers network policies as a daemon of the node.

import { type Daemon, daemonKind } from "../../kit/daemon.ts";
import { Fault } from "../../kit/fault.ts";
import { nodeContextKind } from "../../kit/node-context.ts";
import type { Plugin } from "../../kit/plugin.ts";
import { networkPolicyDaemon } from "./daemon.ts";

export const networkPolicy: Plugin<Daemon, undefined> = {
  kind: daemonKind,
  name: "network-policy",
  needs: [nodeContextKind],
  open({ all, log, clock }) {
    const [node] = all(nodeContextKind);
    if (!node) throw new Fault("unavailable", "network policies need a node that knows its cluster");
    return networkPolicyDaemon({ node, log, clock });
  },
};
