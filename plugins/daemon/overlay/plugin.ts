// Offers the overlay as a daemon of the node.

import { type Daemon, daemonKind } from "../../kit/daemon.ts";
import { Fault } from "../../kit/fault.ts";
import { nodeContextKind } from "../../kit/node-context.ts";
import type { Plugin } from "../../kit/plugin.ts";
import { overlayDefaults, type OverlaySettings } from "./apply.ts";
import { overlayDaemon } from "./daemon.ts";
import type { OverlayMode } from "./plan.ts";

type Settings = Partial<OverlaySettings> & { readonly mode: OverlayMode };

export const overlay: Plugin<Daemon, Settings> = {
  kind: daemonKind,
  name: "overlay",
  needs: [nodeContextKind],
  configure: readSettings,
  open({ all, settings, log, clock }) {
    const [node] = all(nodeContextKind);
    if (!node) throw new Fault("unavailable", "the overlay needs a node that knows its cluster");
    const defaults = overlayDefaults(node.instance, node.clusterCidrs);
    return overlayDaemon({ node, settings: { ...defaults, ...settings }, log, clock });
  },
};

function readSettings(raw: unknown): Settings {
  const settings = (raw ?? {}) as Record<string, unknown>;
  for (const [key, value] of Object.entries(settings)) {
    const isRight =
      (key === "mode" && ["auto", "vxlan", "host-gw"].includes(String(value))) ||
      (key === "device" && typeof value === "string" && value.length <= 15) ||
      (key === "vni" && Number.isInteger(value) && Number(value) > 0 && Number(value) < 2 ** 24) ||
      (key === "port" && Number.isInteger(value) && Number(value) > 0 && Number(value) < 65536);
    if (!isRight)
      throw new Fault("invalid", `overlay.${key} is unknown or has a wrong value: ${JSON.stringify(value)}`);
  }
  return { mode: "auto", ...settings };
}
