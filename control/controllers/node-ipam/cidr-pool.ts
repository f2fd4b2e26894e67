// Blocks of equal size cut from one range of addresses (IPv4 or IPv6), each given out at most once.

import ipaddr from "ipaddr.js";
import { Fault } from "../../../plugins/kit/base/fault.ts";

export class CidrPool {
  readonly #base: bigint;
  readonly #bits: number;
  readonly #blockSize: number;
  readonly #count: number;
  readonly #used = new Set<number>();
  #next = 0;

  constructor(cidr: string, blockSize?: number) {
    let parsed: [ipaddr.IPv4 | ipaddr.IPv6, number];
    try {
      parsed = ipaddr.parseCIDR(cidr);
    } catch (error) {
      throw new Fault("invalid", `Cannot use "${cidr}" as the cluster's range: it is not a CIDR such as 10.42.0.0/16`, {
        cause: error,
      });
    }
    const [address, size] = parsed;
    this.#bits = address.kind() === "ipv4" ? 32 : 128;
    this.#blockSize = blockSize ?? (this.#bits === 32 ? Math.max(24, size) : Math.max(64, size));
    if (this.#blockSize < size)
      throw new Fault("invalid", `Cannot cut /${this.#blockSize} blocks from ${cidr}: the range is smaller`);
    const host = BigInt(this.#bits - size);
    this.#base = (toNumber(address) >> host) << host;
    this.#count = 2 ** Math.min(30, this.#blockSize - size);
  }

  /** Marks a block as used; false when it is not one of this pool's. */
  occupy(cidr: string): boolean {
    const index = this.#indexOf(cidr);
    if (index === undefined) return false;
    this.#used.add(index);
    return true;
  }

  release(cidr: string): void {
    const index = this.#indexOf(cidr);
    if (index !== undefined) this.#used.delete(index);
  }

  /** A free block, taken; undefined when none is left. Blocks just released come last. */
  take(): string | undefined {
    for (let step = 0; step < this.#count; step++) {
      const index = (this.#next + step) % this.#count;
      if (this.#used.has(index)) continue;
      this.#used.add(index);
      this.#next = (index + 1) % this.#count;
      return this.#cidrAt(index);
    }
    return undefined;
  }

  #cidrAt(index: number): string {
    const value = this.#base + (BigInt(index) << BigInt(this.#bits - this.#blockSize));
    const bytes: number[] = [];
    for (let shift = this.#bits - 8; shift >= 0; shift -= 8) bytes.push(Number((value >> BigInt(shift)) & 255n));
    return `${ipaddr.fromByteArray(bytes).toString()}/${this.#blockSize}`;
  }

  #indexOf(cidr: string): number | undefined {
    if (!ipaddr.isValidCIDR(cidr)) return undefined;
    const [address, size] = ipaddr.parseCIDR(cidr);
    const isSameKind = (address.kind() === "ipv4" ? 32 : 128) === this.#bits;
    if (!isSameKind || size !== this.#blockSize) return undefined;
    const index = Number((toNumber(address) - this.#base) >> BigInt(this.#bits - this.#blockSize));
    return index >= 0 && index < this.#count ? index : undefined;
  }
}

function toNumber(address: ipaddr.IPv4 | ipaddr.IPv6): bigint {
  return address.toByteArray().reduce((value, byte) => (value << 8n) | BigInt(byte), 0n);
}
