// The bridge plugin: joins a pod to a bridge of the host by a veth pair, with the addresses that its IPAM plugin gives.

import { type Call, uninterrupted } from "../../plugins/kit/base/call.ts";
import { isFault } from "../../plugins/kit/base/fault.ts";
import { firstAddress, formatAddress, networkOf, offset, parsePrefix } from "../../plugins/kit/os/net/address.ts";
import { acceptForwarding } from "../../plugins/kit/os/net/forward-accept.ts";
import { randomMac } from "../../plugins/kit/os/net/links.ts";
import type { Kernel, Link, Space } from "../net/kernel.ts";
import { ownerComment } from "../net/owner.ts";
import type { PluginConfig } from "../spec/config.ts";
import { CniFault, cniCode } from "../spec/error.ts";
import { type Delegate, type NetworkPlugin, type PluginArgs, validAttachments } from "../spec/plugin.ts";
import { type CniResult, emptyResult, type ResultIp } from "../spec/result.ts";
import { ensureBridge, ensureGateway, forwardFamilies, gatewayLink, joinVlans, untilForwarding } from "./host-side.ts";
import { guardMac, isMacGuarded, unguardMacs } from "./mac-guard.ts";
import { addSources, hasSources, masqueradeScript, removeSources } from "./masquerade.ts";
import { checkPod, configurePod, podAddresses } from "./pod-side.ts";
import { type BridgeSettings, isLinkName, parseBridge, parseLeaving } from "./settings.ts";

export function bridgePlugin(kernel: Kernel, delegate: Delegate): NetworkPlugin {
  return {
    type: "bridge",

    async add(args, call) {
      const settings = parseBridge(args.config, args);
      if (!isLinkName(args.ifName))
        throw new CniFault(cniCode.invalidEnvironment, `"${args.ifName}" is no interface name`);
      const pod = enter(kernel, args);
      try {
        const given = settings.ipamType ? await delegate(settings.ipamType, args.path).add(args, call) : emptyResult;
        if (settings.ipamType && given.ips.length === 0)
          throw new CniFault(cniCode.internal, `IPAM plugin "${settings.ipamType}" gave out no address`);
        try {
          return await connect(kernel, pod, { args, settings, given }, call);
        } catch (error) {
          await undo(delegate, pod, args, settings);
          throw error;
        }
      } finally {
        pod.close();
      }
    },

    async check(args, call) {
      const settings = parseBridge(args.config, args);
      if (settings.ipamType) await delegate(settings.ipamType, args.path).check(args, call);
      await checkAttachment(kernel, args, settings, call);
    },

    async del(args, call) {
      const settings = parseLeaving(args.config);
      const freed = settings.ipamType ? freeAddresses(delegate, settings.ipamType, args, call) : undefined;
      // An IPAM plugin that is no more, or fails, keeps nothing else from going; the caller hears of it at the end.
      await freed?.catch(() => {});
      if (args.netns !== "") await removeLink(kernel, args);
      const comment = ownerComment(args.containerId, args.ifName);
      const isOurs = (owner: string) => owner === comment;
      if (settings.ipMasq) await removeSources(kernel.nft, settings.network, isOurs, call);
      if (settings.isMacGuarded) await unguardMacs(kernel.nft, settings.network, isOurs, call);
      await freed;
    },

    async status(config, path, call) {
      const settings = parseBridge(config);
      const bridge = await kernel.host.findLink(settings.bridge);
      if (bridge && bridge.kind !== "bridge")
        throw new CniFault(cniCode.notAvailable, `Link "${settings.bridge}" is not a bridge`);
      if (settings.ipamType) await delegate(settings.ipamType, path).status?.(config, path, call);
    },

    async gc(config: PluginConfig, path, call) {
      const settings = parseBridge(config);
      if (settings.ipamType) await delegate(settings.ipamType, path).gc?.(config, path, call);
      const valid = new Set(
        [...validAttachments(config)].map((key) =>
          ownerComment(key.slice(0, key.lastIndexOf("/")), key.slice(key.lastIndexOf("/") + 1)),
        ),
      );
      const isGone = (owner: string) => !valid.has(owner);
      if (settings.ipMasq) await removeSources(kernel.nft, settings.network, isGone, call);
      if (settings.isMacGuarded) await unguardMacs(kernel.nft, settings.network, isGone, call);
    },
  };
}

function enter(kernel: Kernel, args: PluginArgs): Space {
  try {
    return kernel.enter(args.netns);
  } catch (error) {
    throw new CniFault(
      cniCode.unknownContainer,
      `Cannot open the network namespace "${args.netns}" of container "${args.containerId}"`,
      { cause: error },
    );
  }
}

async function freeAddresses(delegate: Delegate, type: string, args: PluginArgs, call: Call): Promise<void> {
  await delegate(type, args.path).del(args, call);
}

// The error that led here is what the caller must see, so what fails while undoing is left to the DEL that the runtime sends.
async function undo(delegate: Delegate, pod: Space, args: PluginArgs, settings: BridgeSettings): Promise<void> {
  await pod.deleteLink(args.ifName).catch(() => {});
  if (settings.ipamType)
    await delegate(settings.ipamType, args.path)
      .del(args, uninterrupted)
      .catch(() => {});
}

async function connect(
  kernel: Kernel,
  pod: Space,
  { args, settings, given }: { args: PluginArgs; settings: BridgeSettings; given: CniResult },
  call: Call,
): Promise<CniResult> {
  const { host } = kernel;
  const bridge = await ensureBridge(host, settings);
  const near = await connectVeth(host, pod, { bridge, settings, ifName: args.ifName });
  const ips = given.ips.map((ip) => withGateway({ ...ip, interface: 2 }, settings));
  const addresses = podAddresses(ips);
  const defaults = settings.isDefaultGateway
    ? addresses.flatMap(({ gateway }) =>
        gateway ? [{ dst: gateway.family === 4 ? "0.0.0.0/0" : "::/0", gw: formatAddress(gateway) }] : [],
      )
    : [];
  const routes = [...given.routes, ...defaults.filter((route) => !given.routes.some(({ dst }) => dst === route.dst))];
  let gateway: Link | undefined;
  if (settings.isGateway && addresses.length > 0) {
    const link = await gatewayLink(host, bridge, settings.vlan);
    if (link !== bridge) gateway = link;
    for (const { prefix, gateway: address } of addresses)
      if (address) await ensureGateway(host, link, { address, length: prefix.length }, settings.forceAddress);
    forwardFamilies(host, new Set(addresses.map(({ prefix }) => prefix.address.family)));
  }
  const inside = await pod.getLink(args.ifName);
  if (!settings.isLeftDown)
    await configurePod(pod, inside, { addresses, routes, isDadEnabled: settings.isDadEnabled }, call);
  if (settings.ipMasq) {
    const prefixes = addresses.map(({ prefix }) => prefix);
    await addSources(kernel.nft, masqueradeScript(settings.network, args, prefixes, settings.nonMasquerade), call);
  }
  if (settings.isMacGuarded) {
    const { containerId, ifName } = args;
    await guardMac(kernel.nft, settings.network, { containerId, ifName, port: near.name, mac: inside.mac }, call);
  }
  await acceptForwarding(kernel.nft, bridge.name, call);
  // A port whose far end is down never forwards.
  if (!settings.isLeftDown) await untilForwarding(host, near.name, call);
  if (addresses.length > 0) await pod.announce(inside);
  return {
    interfaces: [
      { name: bridge.name, mac: bridge.mac },
      { name: near.name, mac: near.mac },
      { name: args.ifName, mac: inside.mac, sandbox: args.netns },
      ...(gateway ? [{ name: gateway.name, mac: gateway.mac }] : []),
    ],
    ips,
    routes,
    dns: { ...given.dns, ...args.config.dns },
  };
}

function withGateway(ip: ResultIp, settings: BridgeSettings): ResultIp {
  if (ip.gateway || !settings.isGateway) return ip;
  return { ...ip, gateway: formatAddress(offset(firstAddress(networkOf(parsePrefix(ip.address))), 1)) };
}

async function connectVeth(
  host: Space,
  pod: Space,
  { bridge, settings, ifName }: { bridge: Link; settings: BridgeSettings; ifName: string },
): Promise<Link> {
  const name = `veth${randomMac().replaceAll(":", "").slice(4)}`;
  try {
    await host.createVeth({
      name,
      master: bridge.index,
      mtu: settings.mtu ?? bridge.mtu,
      peer: { name: ifName, space: pod, ...(settings.mac ? { mac: settings.mac } : {}) },
    });
  } catch (error) {
    if (isFault(error, "already-exists"))
      throw new CniFault(
        cniCode.internal,
        `Cannot make interface "${ifName}" in the pod: one of that name is there already`,
        { cause: error },
      );
    throw error;
  }
  const near = await host.getLink(name);
  if (settings.hairpin || settings.isPortIsolated)
    await host.setBridgePort(near.index, { hairpin: settings.hairpin, isolated: settings.isPortIsolated });
  await joinVlans(host, near, settings);
  await host.setLink(near.index, { up: true });
  return near;
}

async function removeLink(kernel: Kernel, args: PluginArgs): Promise<void> {
  let pod: Space;
  try {
    pod = kernel.enter(args.netns);
  } catch (error) {
    // The namespace is gone, and its links with it.
    if (isFault(error, "not-found", "invalid")) return;
    throw error;
  }
  try {
    const link = await pod.findLink(args.ifName);
    const made = args.previous?.interfaces.find(({ name, sandbox }) => name === args.ifName && sandbox)?.mac;
    // A path such as /proc/<pid>/ns/net may lead to a stranger by now: only what ADD made is removed.
    if (link?.kind === "veth" && (!made || made === link.mac)) await pod.deleteLink(args.ifName);
  } catch (error) {
    // A file that is no namespace any more (after a reboot) holds no link either.
    if (!isFault(error, "invalid")) throw error;
  } finally {
    pod.close();
  }
}

async function checkAttachment(kernel: Kernel, args: PluginArgs, settings: BridgeSettings, call: Call): Promise<void> {
  const previous = args.previous;
  if (!previous) throw new CniFault(cniCode.invalidConfig, "Cannot check: the configuration has no prevResult");
  const lost = (what: string) => new CniFault(cniCode.internal, `Container "${args.containerId}": ${what}`);
  const bridge = await kernel.host.findLink(settings.bridge);
  if (!bridge) throw lost(`bridge "${settings.bridge}" is gone`);
  const wanted = previous.interfaces.find((link) => link.name === args.ifName && link.sandbox);
  if (!wanted) throw lost(`the result names no interface "${args.ifName}"`);
  const near = previous.interfaces.find(
    (link) => !link.sandbox && link.name !== settings.bridge && link.name.startsWith("veth"),
  );
  if (near && (await kernel.host.findLink(near.name))?.master !== bridge.index)
    throw lost(`"${near.name}" is not a port of bridge "${settings.bridge}"`);
  const pod = enter(kernel, args);
  try {
    const link = await pod.findLink(args.ifName);
    if (!link) throw lost(`interface "${args.ifName}" is gone`);
    if (wanted.mac && wanted.mac !== link.mac)
      throw lost(`interface "${args.ifName}" has MAC ${link.mac}, not ${wanted.mac}`);
    const index = previous.interfaces.indexOf(wanted);
    const addresses = podAddresses(previous.ips.filter((ip) => ip.interface === undefined || ip.interface === index));
    await checkPod(pod, link, { addresses, routes: previous.routes });
    const prefixes = addresses.map(({ prefix }) => prefix);
    const comment = ownerComment(args.containerId, args.ifName);
    if (settings.ipMasq && !(await hasSources(kernel.nft, settings.network, comment, prefixes, call)))
      throw lost("its addresses are not masqueraded any more");
    if (settings.isMacGuarded && !(await isMacGuarded(kernel.nft, settings.network, comment, call)))
      throw lost("its MAC is not guarded any more");
  } finally {
    pod.close();
  }
}
