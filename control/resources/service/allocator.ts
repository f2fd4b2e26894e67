// Hands out what only one Service may have: cluster addresses and node ports. What is taken is read from the services that
// exist, so there is nothing to repair after a crash; reservations cover the time until a write shows up.

import { randomInt } from "node:crypto";
import type { KubeObject, Service } from "../../../plugins/kit/objects/types.ts";
import type { AddressRange } from "./address-range.ts";

export interface PortRange {
  readonly first: number;
  readonly last: number;
}

interface Holder {
  /** `namespace/name` of who has it. */
  readonly owner: string;
  count: number;
}

/** Counts holders of each value, so that a service and its reservation may overlap. */
class Pool {
  readonly #held = new Map<string, Holder>();

  isFree(value: string, owner: string): boolean {
    const holder = this.#held.get(value);
    return holder === undefined || holder.owner === owner;
  }

  hold(value: string, owner: string): void {
    const holder = this.#held.get(value);
    if (holder) holder.count++;
    else this.#held.set(value, { owner, count: 1 });
  }

  release(value: string): void {
    const holder = this.#held.get(value);
    if (holder && --holder.count === 0) this.#held.delete(value);
  }
}

export class ServiceAllocator {
  /** One or two, of different families; the first is the default. */
  readonly ranges: readonly AddressRange[];
  readonly #ports: PortRange;
  readonly #addressPool = new Pool();
  readonly #portPool = new Pool();

  constructor(ranges: readonly AddressRange[], ports: PortRange) {
    this.ranges = ranges;
    this.#ports = ports;
  }

  /** Told of every service that is there and of each change. */
  onEvent(event: { type: "add" | "update" | "delete"; object: KubeObject; previous?: KubeObject | undefined }): void {
    if (event.type !== "delete") this.#each(event.object, (pool, value, owner) => pool.hold(value, owner));
    const gone = event.type === "delete" ? (event.previous ?? event.object) : event.previous;
    if (gone && event.type !== "add") this.#each(gone, (pool, value) => pool.release(value));
  }

  #each(object: KubeObject, visit: (pool: Pool, value: string, owner: string) => void): void {
    const { spec, metadata } = object as unknown as Service;
    const owner = `${metadata.namespace ?? ""}/${metadata.name ?? ""}`;
    for (const address of spec?.clusterIPs ?? [])
      if (address !== "None" && address !== "") visit(this.#addressPool, address, owner);
    for (const port of heldPorts(spec)) visit(this.#portPool, String(port), owner);
  }

  /** Takes the address, or any free one of the range when empty; undefined when it is taken, or all are gone. */
  takeAddress(owner: string, wanted: string, range: AddressRange): string | undefined {
    if (wanted !== "") {
      if (!this.#addressPool.isFree(wanted, owner)) return undefined;
      this.#addressPool.hold(wanted, owner);
      return wanted;
    }
    // The low addresses are left to those who ask for one by number, such as the cluster's DNS.
    const low = Math.min(Math.max(16, Math.floor(range.size / 16)), 256, range.size);
    const found =
      this.#search(low + 1, range.size, (index) => this.#addressPool.isFree(range.at(index), "")) ??
      this.#search(1, low, (index) => this.#addressPool.isFree(range.at(index), ""));
    if (found === undefined) return undefined;
    const address = range.at(found);
    this.#addressPool.hold(address, owner);
    return address;
  }

  releaseAddress(address: string): void {
    this.#addressPool.release(address);
  }

  isNodePort(port: number): boolean {
    return port >= this.#ports.first && port <= this.#ports.last;
  }

  get portRangeText(): string {
    return `${this.#ports.first}-${this.#ports.last}`;
  }

  takePort(owner: string, wanted: number): number | undefined {
    const port =
      wanted === 0
        ? this.#search(this.#ports.first, this.#ports.last, (one) => this.#portPool.isFree(String(one), ""))
        : this.#portPool.isFree(String(wanted), owner)
          ? wanted
          : undefined;
    if (port !== undefined) this.#portPool.hold(String(port), owner);
    return port;
  }

  releasePort(port: number): void {
    this.#portPool.release(String(port));
  }

  /** From a random place, once around. */
  #search(first: number, last: number, isFree: (value: number) => boolean): number | undefined {
    const count = last - first + 1;
    if (count <= 0) return undefined;
    const start = randomInt(count);
    for (let step = 0; step < count; step++) {
      const value = first + ((start + step) % count);
      if (isFree(value)) return value;
    }
    return undefined;
  }
}

/** Node ports by number; one number may serve TCP and UDP of the same service. */
function heldPorts(spec: Service["spec"]): Set<number> {
  const ports = new Set<number>();
  for (const port of spec?.ports ?? []) if (port.nodePort) ports.add(port.nodePort);
  if (spec?.healthCheckNodePort) ports.add(spec.healthCheckNodePort);
  return ports;
}
