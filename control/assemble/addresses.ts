// Where this server may be reached.

import { networkInterfaces } from "node:os";

export interface ServerAddresses {
  /** The one that pods and nodes are told. */
  readonly address: string;
  readonly all: readonly string[];
}

/** `nodeIp` is as an agent takes it: one address, or one of each family with a comma between. */
export function serverAddresses(nodeIp: unknown, own: readonly string[] = ownAddresses()): ServerAddresses {
  const given = String(nodeIp ?? "")
    .split(",")
    .map((ip) => ip.trim())
    .filter((ip) => ip !== "");
  const all = [...new Set([...given, ...own])];
  return { address: all[0] ?? "127.0.0.1", all };
}

/** Addresses of this machine that others may reach it by. */
function ownAddresses(): string[] {
  return Object.values(networkInterfaces())
    .flatMap((entries) => entries ?? [])
    .filter((entry) => !entry.internal && !(entry.family === "IPv6" && entry.address.startsWith("fe80")))
    .map((entry) => entry.address);
}
