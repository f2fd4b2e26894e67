// The portmap plugin: host ports of a pod, by nftables. Chained behind the plugin that gave the pod its addresses.

import type { Call } from "../../plugins/kit/base/call.ts";
import { isFault } from "../../plugins/kit/base/fault.ts";
import { formatAddress, parsePrefix, type Prefix } from "../../plugins/kit/os/net/address.ts";
import { dropConnections } from "../../plugins/kit/os/net/conntrack.ts";
import type { Kernel } from "../net/kernel.ts";
import { elementsOf, ownerComment, printElement } from "../net/owner.ts";
import { CniFault, cniCode } from "../spec/error.ts";
import { type NetworkPlugin, type PluginArgs, validAttachments } from "../spec/plugin.ts";
import type { CniResult } from "../spec/result.ts";
import { parseMappings, type PortMapping } from "./mappings.ts";
import { addElement, deleteElement, hostPortSets, hostPortTable, portElements, tableScript } from "./rules.ts";

const udp = 17;

interface Present {
  readonly set: string;
  readonly key: string;
  readonly comment: string;
}

export function portmapPlugin(kernel: Kernel): NetworkPlugin {
  return {
    type: "portmap",

    async add(args, call) {
      const previous = requirePrevious(args);
      const mappings = parseMappings(args.config);
      if (mappings.length === 0) return previous;
      const elements = portElements(mappings, podPrefixes(previous, args), args.config.snat !== false);
      const comment = commentOf(args);
      const present = await readPresent(kernel, call);
      // Whoever held one of these ports is gone without a DEL, or this is a repeated ADD: the newest holder is right.
      const replaced = present.filter(({ set, key }) =>
        elements.some((element) => element.set === set && element.key === key),
      );
      const script = [
        tableScript(),
        ...replaced.map(deleteElement),
        ...elements.map((element) => addElement(element, comment)),
      ];
      await kernel.nft.run(script.join("\n"), call);
      allowLocalAccess(kernel, previous);
      await forgetFlows(mappings);
      return previous;
    },

    async check(args, call) {
      const previous = requirePrevious(args);
      const mappings = parseMappings(args.config);
      const comment = commentOf(args);
      const present = await readPresent(kernel, call);
      for (const { set, key } of portElements(mappings, podPrefixes(previous, args), args.config.snat !== false))
        if (!present.some((found) => found.set === set && found.key === key && found.comment === comment))
          throw new CniFault(
            cniCode.internal,
            `Container "${args.containerId}" has lost its host port mapping "${key}"`,
          );
    },

    async del(args, call) {
      const comment = commentOf(args);
      const removed = await remove(kernel, (owner) => owner === comment, call);
      if (removed.some(({ key }) => key.includes("udp"))) await forgetFlows(mappingsOrNone(args));
    },

    async status() {},

    async gc(config, _path, call) {
      const valid = new Set(
        [...validAttachments(config)].map((key) =>
          ownerComment(key.slice(0, key.lastIndexOf("/")), key.slice(key.lastIndexOf("/") + 1), config.name),
        ),
      );
      await remove(kernel, (owner) => owner.startsWith(`${config.name}:`) && !valid.has(owner), call);
    },
  };
}

// The table serves all networks, so the owner's name begins with the network.
function commentOf(args: PluginArgs): string {
  return ownerComment(args.containerId, args.ifName, args.config.name);
}

function requirePrevious(args: PluginArgs): CniResult {
  if (!args.previous)
    throw new CniFault(
      cniCode.invalidConfig,
      "portmap must be chained behind a plugin that gives addresses: there is no prevResult",
    );
  return args.previous;
}

function podPrefixes(previous: CniResult, args: PluginArgs): Prefix[] {
  const own = previous.ips.filter(({ interface: index }) => {
    const link = index === undefined ? undefined : previous.interfaces[index];
    return (
      !link ||
      (link.sandbox !== undefined && link.sandbox !== "" && link.name === args.ifName) ||
      previous.interfaces.length === 0
    );
  });
  return own.map(({ address }) => parsePrefix(address));
}

async function readPresent(kernel: Kernel, call: Call): Promise<Present[]> {
  try {
    const listed = await kernel.nft.list(`list table ${hostPortTable}`, call);
    return listed.flatMap((entry) => {
      const holder = (entry.map ?? entry.set) as { name: string } | undefined;
      if (!holder || !hostPortSets.some((name) => name === holder.name)) return [];
      return elementsOf(entry).map(({ value, comment }) => ({ set: holder.name, key: printElement(value), comment }));
    });
  } catch (error) {
    if (isFault(error, "not-found")) return [];
    throw error;
  }
}

async function remove(kernel: Kernel, isGone: (owner: string) => boolean, call: Call): Promise<Present[]> {
  const stale = (await readPresent(kernel, call)).filter(({ comment }) => isGone(comment));
  if (stale.length > 0) await kernel.nft.run(stale.map(deleteElement).join("\n"), call);
  return stale;
}

/** Lets 127.0.0.1:hostPort reach the pod: the kernel drops such packets on the way out unless the link allows them. */
function allowLocalAccess(kernel: Kernel, previous: CniResult): void {
  const link = previous.interfaces.find(({ sandbox }) => !sandbox);
  if (link) kernel.host.setSetting(`ipv4/conf/${link.name}/route_localnet`, "1");
}

/** A UDP client that talked to the port before goes on by the old path until its flow is forgotten. */
async function forgetFlows(mappings: readonly PortMapping[]): Promise<void> {
  const ports = new Map(
    mappings.filter(({ protocol }) => protocol === "udp").map((mapping) => [mapping.hostPort, mapping.hostIp]),
  );
  if (ports.size === 0) return;
  for (const family of [4, 6] as const) {
    await dropConnections(family, ({ original }) => {
      if (original.protocol !== udp || !ports.has(original.destinationPort)) return false;
      const hostIp = ports.get(original.destinationPort);
      return !hostIp || formatAddress(hostIp) === formatAddress(original.destination);
    });
  }
}

function mappingsOrNone(args: PluginArgs): PortMapping[] {
  try {
    return parseMappings(args.config);
  } catch {
    // DEL completes whatever the configuration says; the elements are gone already.
    return [];
  }
}
