// The pod's half of the bridge plugin: addresses and routes on the link inside the namespace, and their check.

import { setTimeout as wait } from "node:timers/promises";
import type { Call } from "../../plugins/kit/base/call.ts";
import {
  type Address,
  formatPrefix,
  isSameAddress,
  networkOf,
  parseAddress,
  parsePrefix,
  type Prefix,
} from "../../plugins/kit/os/net/address.ts";
import type { Link, Route, Space } from "../net/kernel.ts";
import { CniFault, cniCode } from "../spec/error.ts";
import type { ResultIp, ResultRoute } from "../spec/result.ts";

export interface PodAddress {
  readonly prefix: Prefix;
  readonly gateway: Address | undefined;
}

export function podAddresses(ips: readonly ResultIp[]): PodAddress[] {
  return ips.map((ip) => ({
    prefix: parsePrefix(ip.address),
    gateway: ip.gateway ? parseAddress(ip.gateway) : undefined,
  }));
}

/** A route of a result as the kernel takes it; without a gateway of its own it goes by that of its family. */
function podRoute(route: ResultRoute, link: number, addresses: readonly PodAddress[]): Route {
  const destination = parsePrefix(route.dst);
  const { family } = destination.address;
  const gateway = route.gw
    ? parseAddress(route.gw)
    : addresses.find(({ prefix, gateway }) => gateway && prefix.address.family === family)?.gateway;
  return {
    family,
    link,
    ...(destination.length === 0 ? {} : { destination: networkOf(destination) }),
    ...(gateway && route.scope !== 253 ? { gateway } : {}),
    ...(route.mtu ? { mtu: route.mtu } : {}),
    ...(route.advmss ? { advertisedMss: route.advmss } : {}),
    ...(route.priority ? { metric: route.priority } : {}),
    ...(route.table ? { table: route.table } : {}),
    ...(route.scope === undefined ? {} : { scope: route.scope }),
  };
}

export async function configurePod(
  pod: Space,
  link: Link,
  options: { addresses: readonly PodAddress[]; routes: readonly ResultRoute[]; isDadEnabled: boolean },
  call: Call,
): Promise<void> {
  const { addresses } = options;
  if (addresses.some(({ prefix }) => prefix.address.family === 6)) {
    // Some images turn IPv6 off for the whole namespace.
    pod.setSetting(`ipv6/conf/${link.name}/disable_ipv6`, "0");
    if (!options.isDadEnabled) pod.setSetting(`ipv6/conf/${link.name}/accept_dad`, "0");
  }
  await pod.setLink(link.index, { up: true });
  for (const { prefix } of addresses) await pod.addAddress(link.index, prefix, { skipDad: !options.isDadEnabled });
  if (options.isDadEnabled) await settleAddresses(pod, link, call);
  for (const route of options.routes) await pod.addRoute(podRoute(route, link.index, addresses), { replace: true });
}

/** Waits until duplicate address detection has spoken on every address. */
async function settleAddresses(pod: Space, link: Link, call: Call): Promise<void> {
  for (;;) {
    const addresses = await pod.listAddresses(link.index);
    const duplicate = addresses.find((address) => address.hasFailedDad);
    if (duplicate)
      throw new CniFault(
        cniCode.tryAgainLater,
        `Address ${formatPrefix(duplicate.prefix)} is in use by another host on "${link.name}"`,
      );
    if (!addresses.some((address) => address.isTentative)) return;
    await wait(20, undefined, { signal: call.signal });
  }
}

/** Throws what is not as ADD left it. */
export async function checkPod(
  pod: Space,
  link: Link,
  expected: { addresses: readonly PodAddress[]; routes: readonly ResultRoute[] },
): Promise<void> {
  const present = await pod.listAddresses(link.index);
  for (const { prefix } of expected.addresses) {
    if (
      !present.some(
        (found) => isSameAddress(found.prefix.address, prefix.address) && found.prefix.length === prefix.length,
      )
    )
      throw new CniFault(cniCode.internal, `Interface "${link.name}" has lost its address ${formatPrefix(prefix)}`);
  }
  for (const route of expected.routes) {
    const wanted = podRoute(route, link.index, expected.addresses);
    const found = (await pod.listRoutes(wanted.family)).some(
      (candidate) =>
        samePrefix(candidate.destination, wanted.destination) &&
        (!wanted.gateway || (candidate.gateway !== undefined && isSameAddress(candidate.gateway, wanted.gateway))),
    );
    if (!found && !wanted.table)
      throw new CniFault(cniCode.internal, `Interface "${link.name}" has lost its route to ${route.dst}`);
  }
}

function samePrefix(left: Prefix | undefined, right: Prefix | undefined): boolean {
  if (!left || !right) return !left && !right;
  return formatPrefix(networkOf(left)) === formatPrefix(networkOf(right));
}
