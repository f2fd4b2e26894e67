// The identities of a node's network daemons. They read what nodes themselves may not, such as the pods of other nodes; each node
// asks for its own certificates of them, from a signer that serves nodes alone.

import type { ResourceRef } from "./objects/resources.ts";

export const nodeDaemonSigner = "skiff.dev/node-daemon";

/** `service-proxy` is also cluster DNS and the overlay, which read the same objects. */
export const nodeDaemons = ["service-proxy", "network-policy"] as const;
export type NodeDaemon = (typeof nodeDaemons)[number];

/** The group that roles are bound to: the organization of the certificate. */
export const daemonGroup = (daemon: NodeDaemon): string => `skiff:${daemon}`;
/** The user, who says which node it is. */
export const daemonUser = (daemon: NodeDaemon, nodeName: string): string => `skiff:${daemon}:${nodeName}`;

const readers: Readonly<Record<string, NodeDaemon>> = {
  "/services": "service-proxy",
  "/nodes": "service-proxy",
  "discovery.k8s.io/endpointslices": "service-proxy",
  "/pods": "network-policy",
  "/namespaces": "network-policy",
  "networking.k8s.io/networkpolicies": "network-policy",
};

/** Who watches the resource; undefined for what the node reads itself. */
export const daemonReading = ({ group, plural }: ResourceRef): NodeDaemon | undefined => readers[`${group}/${plural}`];
