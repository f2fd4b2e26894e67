// Hands out what only one Service may have: cluster addresses and node ports. What is taken is read from the services that
// exist, so there is nothing to repair after a crash; reservations cover the time until a write shows up.

import { randomInt } from "node:crypto";
import type { KubeObject, Service } from "../../../plugins/kit/kube/objects/types.ts";
import type { AddressRange } from "./address-range.ts";
import { heldAddresses, heldPorts, oneSpelling } from "./holdings.ts";

export interface PortRange {
  readonly first: number;
  readonly last: number;
}

/** Who has what, so often: a service and its reservation overlap, and so do the services of two servers until one of them has lost. */
class Pool {
  readonly #owners = new Map<string, readonly string[]>();

  isFree(value: string, owner: string): boolean {
    return (this.#owners.get(value) ?? []).every((one) => one === owner);
  }

  hold(value: string, owner: string): void {
    this.#owners.set(value, [...(this.#owners.get(value) ?? []), owner]);
  }

  release(value: string, owner: string): void {
    const owners = this.#owners.get(value) ?? [];
    const at = owners.indexOf(owner);
    if (at < 0) return;
    if (owners.length === 1) this.#owners.delete(value);
    else this.#owners.set(value, owners.toSpliced(at, 1));
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
    if (gone && event.type !== "add") this.#each(gone, (pool, value, owner) => pool.release(value, owner));
  }

  #each(object: KubeObject, visit: (pool: Pool, value: string, owner: string) => void): void {
    const service = object as unknown as Service;
    const owner = `${service.metadata.namespace ?? ""}/${service.metadata.name ?? ""}`;
    for (const address of heldAddresses(service)) visit(this.#addressPool, address, owner);
    for (const port of heldPorts(service)) visit(this.#portPool, port, owner);
  }

  /** `owner` is the service's `namespace/name`. Takes the address, or any free one of the range when empty; undefined when it is taken, or all are gone. */
  takeAddress(owner: string, wanted: string, range: AddressRange): string | undefined {
    if (wanted !== "") {
      if (!this.#addressPool.isFree(oneSpelling(wanted), owner)) return undefined;
      this.#addressPool.hold(oneSpelling(wanted), owner);
      return wanted;
    }
    // The low addresses are left to those who ask for one by number, such as the cluster's DNS.
    const low = Math.min(Math.max(16, Math.floor(range.size / 16)), 256, range.size);
    const found =
      this.#search(low + 1, range.size, (index) => this.#addressPool.isFree(oneSpelling(range.at(index)), "")) ??
      this.#search(1, low, (index) => this.#addressPool.isFree(oneSpelling(range.at(index)), ""));
    if (found === undefined) return undefined;
    const address = range.at(found);
    this.#addressPool.hold(oneSpelling(address), owner);
    return address;
  }

  releaseAddress(owner: string, address: string): void {
    this.#addressPool.release(oneSpelling(address), owner);
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

  releasePort(owner: string, port: number): void {
    this.#portPool.release(String(port), owner);
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
