// Offers the overlay as a daemon of the node.

import {
  checkSettings,
  integer,
  oneOf,
  optional,
  present,
  string,
  that,
  withDefault,
} from "../../kit/base/config-check.ts";
import { type Daemon, daemonKind } from "../../kit/contracts/daemon.ts";
import { Fault } from "../../kit/base/fault.ts";
import { nodeContextKind } from "../../kit/contracts/node-context.ts";
import type { Plugin } from "../../kit/base/plugin.ts";
import { overlayDefaults, type OverlaySettings } from "./apply.ts";
import { overlayDaemon } from "./daemon.ts";
import type { OverlayMode } from "./plan.ts";

type Settings = Partial<OverlaySettings> & { readonly mode: OverlayMode };

export const overlay: Plugin<Daemon, Settings> = {
  kind: daemonKind,
  name: "overlay",
  needs: [nodeContextKind],
  keys: {
    mode: "auto (routes where nodes share a link, a tunnel elsewhere), vxlan or host-gw (default: auto)",
    device: "name of the tunnel's interface (default: skiff-vxlan)",
    vni: "number of the tunnel's network, the same on all nodes (default: made from the cluster's addresses)",
    port: "UDP port of the tunnel, the same on all nodes (default: 8472)",
  },
  configure: readSettings,
  open({ all, settings, log, clock }) {
    const [node] = all(nodeContextKind);
    if (!node) throw new Fault("unavailable", "the overlay needs a node that knows its cluster");
    const defaults = overlayDefaults(node.instance, node.clusterCidrs);
    return overlayDaemon({ node, settings: { ...defaults, ...settings }, log, clock });
  },
};

function readSettings(raw: unknown): Settings {
  const settings = checkSettings(raw, {
    mode: withDefault(oneOf("auto", "vxlan", "host-gw"), "auto"),
    device: optional(that(string, (name) => name.length <= 15, "at most 15 characters long")),
    vni: optional(integer({ min: 1, max: 2 ** 24 - 1 })),
    port: optional(integer({ min: 1, max: 65535 })),
  });
  return present(settings);
}
