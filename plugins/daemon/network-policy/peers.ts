// Who the peers of a policy rule are: pods by selectors, and blocks of addresses. Pure.

import { networkOf, formatPrefix, tryPrefix } from "../../kit/os/net/address.ts";
import type { Namespace, Pod } from "../../kit/kube/objects/types.ts";
import { type LabelSelector, labelSelectorOf } from "../../kit/kube/selector.ts";

export interface PolicyPeer {
  readonly podSelector?: LabelSelector;
  readonly namespaceSelector?: LabelSelector;
  readonly ipBlock?: { readonly cidr: string; readonly except?: readonly string[] };
}

export interface Peers {
  readonly pods: readonly Pod[];
  readonly blocks: readonly { readonly cidr: string; readonly except: readonly string[] }[];
}

function canonical(cidr: string): string | undefined {
  const prefix = tryPrefix(cidr.trim());
  return prefix && formatPrefix(networkOf(prefix));
}

export function resolvePeers(
  peers: readonly PolicyPeer[],
  namespace: string,
  world: { pods: readonly Pod[]; namespaces: readonly Namespace[] },
): Peers {
  const pods = new Set<Pod>();
  const blocks: { cidr: string; except: string[] }[] = [];
  for (const peer of peers) {
    if (peer.ipBlock) {
      const cidr = canonical(peer.ipBlock.cidr);
      if (cidr)
        blocks.push({ cidr, except: disjoint((peer.ipBlock.except ?? []).flatMap((text) => canonical(text) ?? [])) });
      continue;
    }
    const isNamespace = namespaceMatcher(peer, namespace, world.namespaces);
    // Without a pod selector, all pods of the namespaces are meant.
    const selector = labelSelectorOf(peer.podSelector ?? {});
    for (const pod of world.pods)
      if (isNamespace(pod.metadata.namespace ?? "") && selector.matches(pod.metadata.labels)) pods.add(pod);
  }
  return { pods: [...pods], blocks };
}

function namespaceMatcher(peer: PolicyPeer, own: string, namespaces: readonly Namespace[]): (name: string) => boolean {
  if (!peer.namespaceSelector) return (name) => name === own;
  const selector = labelSelectorOf(peer.namespaceSelector);
  const matching = new Set(
    namespaces.filter(({ metadata }) => selector.matches(metadata.labels)).map(({ metadata }) => metadata.name),
  );
  return (name) => matching.has(name);
}

/** Prefixes without those that lie inside another: the kernel refuses overlaps in one set. */
function disjoint(cidrs: readonly string[]): string[] {
  const prefixes = [...new Set(cidrs)].map((cidr) => ({ cidr, prefix: tryPrefix(cidr) }));
  return prefixes
    .filter(
      ({ cidr, prefix }) =>
        !prefixes.some((other) => other.cidr !== cidr && prefix && other.prefix && isInside(prefix, other.prefix)),
    )
    .map(({ cidr }) => cidr);
}

function isInside(
  inner: NonNullable<ReturnType<typeof tryPrefix>>,
  outer: NonNullable<ReturnType<typeof tryPrefix>>,
): boolean {
  if (inner.length <= outer.length || inner.address.family !== outer.address.family) return false;
  return formatPrefix(networkOf({ address: inner.address, length: outer.length })) === formatPrefix(outer);
}
