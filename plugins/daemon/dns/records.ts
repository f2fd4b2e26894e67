// The records of the cluster's zone, kept from services and endpoint slices and found without a search. Follows the Kubernetes
// DNS-based service discovery specification, version 1.1.0. Pure memory, no sockets.

import { reverseName, tryAddress } from "../../kit/os/net/address.ts";
import type { EndpointSlice, Service } from "../../kit/kube/objects/types.ts";
import type { RecordData } from "./codec.ts";

interface NamedEndpoint {
  readonly address: string;
  /** The pod's hostname where it asked for one, otherwise its address with dashes. */
  readonly label: string;
}

interface NamedPort {
  readonly name: string;
  readonly protocol: string;
  readonly port: number;
  /** For a headless service: the endpoints that serve the port. */
  readonly endpoints: readonly NamedEndpoint[];
}

export interface ServiceEntry {
  readonly namespace: string;
  readonly name: string;
  readonly externalName: string | undefined;
  readonly clusterIps: readonly string[];
  readonly isHeadless: boolean;
  readonly endpoints: readonly NamedEndpoint[];
  readonly ports: readonly NamedPort[];
}

function dashed(address: string): string {
  return address.replace(/[.:]/g, "-");
}

/** What DNS says of a service; undefined for one that has no records. */
export function entryOf(service: Service, slices: readonly EndpointSlice[]): ServiceEntry | undefined {
  const { namespace, name } = service.metadata;
  const spec = service.spec ?? {};
  if (!namespace || !name) return undefined;
  const isExternal = spec.type === "ExternalName";
  const isHeadless = !isExternal && spec.clusterIP === "None";
  const listed = spec.clusterIPs?.length ? spec.clusterIPs : [spec.clusterIP ?? ""];
  const clusterIps = isExternal || isHeadless ? [] : listed.filter((ip) => tryAddress(ip));
  if (!isExternal && !isHeadless && clusterIps.length === 0) return undefined;
  const ports = isHeadless
    ? headlessPorts(slices, spec.publishNotReadyAddresses === true)
    : (spec.ports ?? []).map((port) => ({
        name: port.name ?? "",
        protocol: (port.protocol ?? "TCP").toLowerCase(),
        port: port.port,
        endpoints: [],
      }));
  return {
    namespace,
    name,
    externalName: isExternal ? spec.externalName?.toLowerCase().replace(/\.$/, "") : undefined,
    clusterIps,
    isHeadless,
    endpoints: isHeadless ? named(slices, spec.publishNotReadyAddresses === true) : [],
    ports,
  };
}

function named(slices: readonly EndpointSlice[], withNotReady: boolean): NamedEndpoint[] {
  const found = new Map<string, NamedEndpoint>();
  for (const slice of slices) {
    for (const endpoint of slice.endpoints ?? []) {
      if (endpoint.conditions?.ready === false && !withNotReady) continue;
      for (const address of endpoint.addresses)
        if (tryAddress(address))
          found.set(address, { address, label: endpoint.hostname?.toLowerCase() || dashed(address) });
    }
  }
  return [...found.values()];
}

function headlessPorts(slices: readonly EndpointSlice[], withNotReady: boolean): NamedPort[] {
  const byPort = new Map<string, { name: string; protocol: string; port: number; slices: EndpointSlice[] }>();
  for (const slice of slices) {
    for (const { name = "", protocol = "TCP", port } of slice.ports ?? []) {
      if (!port) continue;
      const key = `${name}/${protocol}/${port}`;
      const entry = byPort.get(key) ?? { name, protocol: protocol.toLowerCase(), port, slices: [] };
      entry.slices.push(slice);
      byPort.set(key, entry);
    }
  }
  return [...byPort.values()].map(({ slices, ...port }) => ({ ...port, endpoints: named(slices, withNotReady) }));
}

export class ServiceRecords {
  readonly #entries = new Map<string, Map<string, ServiceEntry>>();
  /** Names by reverse name, for PTR; several services may share an endpoint. */
  readonly #reverse = new Map<string, Set<string>>();

  set(key: string, entry: ServiceEntry | undefined): void {
    const [namespace = "", name = ""] = key.split("/");
    const names = this.#entries.get(namespace) ?? new Map<string, ServiceEntry>();
    const before = names.get(name);
    if (before) for (const [reverse, target] of reverses(before)) this.#forget(reverse, target);
    if (entry) {
      names.set(name, entry);
      for (const [reverse, target] of reverses(entry))
        this.#reverse.set(reverse, (this.#reverse.get(reverse) ?? new Set()).add(target));
    } else names.delete(name);
    if (names.size > 0) this.#entries.set(namespace, names);
    else this.#entries.delete(namespace);
  }

  #forget(reverse: string, target: string): void {
    const targets = this.#reverse.get(reverse);
    targets?.delete(target);
    if (targets?.size === 0) this.#reverse.delete(reverse);
  }

  get(namespace: string, name: string): ServiceEntry | undefined {
    return this.#entries.get(namespace)?.get(name);
  }

  hasNamespace(namespace: string): boolean {
    return this.#entries.has(namespace);
  }

  /** Names relative to the zone that the address belongs to. */
  pointersOf(reverse: string): readonly string[] {
    return [...(this.#reverse.get(reverse) ?? [])];
  }
}

function* reverses(entry: ServiceEntry): Generator<[reverse: string, target: string]> {
  const base = `${entry.name}.${entry.namespace}.svc`;
  for (const ip of entry.clusterIps) yield [reverseOf(ip), base];
  for (const { address, label } of entry.endpoints) yield [reverseOf(address), `${label}.${base}`];
}

function reverseOf(ip: string): string {
  const address = tryAddress(ip);
  return address ? reverseName(address) : "";
}

/** A or AAAA data of the addresses. */
export function addressData(addresses: readonly string[]): RecordData[] {
  return addresses.map((address) => ({ type: address.includes(":") ? "AAAA" : "A", address }));
}
