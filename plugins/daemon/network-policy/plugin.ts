// Offers network policies as a daemon of the node.

import { type Daemon, daemonKind } from "../../kit/contracts/daemon.ts";
import { Fault } from "../../kit/base/fault.ts";
import { nodeContextKind } from "../../kit/contracts/node-context.ts";
import type { Plugin } from "../../kit/base/plugin.ts";
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
