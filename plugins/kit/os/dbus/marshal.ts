// Values to the bytes of a D-Bus message, in little endian.

import { Fault } from "../../base/fault.ts";
import { alignmentOf, type DbusType, parseSignature } from "./signature.ts";
import { type DbusValue, mostMessageBytes, Variant } from "./values.ts";

const deepest = 64;

/** The bytes of the values, one for each type of the signature; Fault `invalid` for one that does not fit. */
export function marshal(signature: string, values: readonly DbusValue[]): Buffer {
  const types = parseSignature(signature);
  if (types.length !== values.length)
    throw new Fault("invalid", `Cannot write a D-Bus message: "${signature}" takes ${types.length} values`);
  const writer = new Writer();
  for (const [index, type] of types.entries()) writer.write(type, values[index] as DbusValue, 0);
  return writer.bytes();
}

/** Smallest and largest of each integer that is a number. */
const ranges: Readonly<Record<string, readonly [least: number, most: number]>> = {
  y: [0, 0xff],
  n: [-0x8000, 0x7fff],
  q: [0, 0xffff],
  i: [-0x80000000, 0x7fffffff],
  u: [0, 0xffffffff],
  h: [0, 0xffffffff],
};

class Writer {
  #buffer = Buffer.alloc(256);
  #length = 0;

  bytes(): Buffer {
    return this.#buffer.subarray(0, this.#length);
  }

  write(type: DbusType, value: DbusValue, depth: number): void {
    if (depth > deepest) throw new Fault("invalid", "Cannot write a D-Bus message: its values lie too deep");
    this.#align(alignmentOf(type));
    switch (type.kind) {
      case "basic":
        return this.#basic(type.code, value);
      case "variant": {
        if (!(value instanceof Variant)) throw misfit("a variant", value);
        const [inner, more] = parseSignature(value.signature);
        if (!inner || more) throw new Fault("invalid", `A variant has one type, not "${value.signature}"`);
        this.#basic("g", value.signature);
        return this.write(inner, value.value, depth + 1);
      }
      case "array":
        return this.#array(type.item, value, depth);
      case "struct":
        if (!Array.isArray(value) || value.length !== type.fields.length)
          throw misfit(`a struct of ${type.fields.length}`, value);
        for (const [index, field] of type.fields.entries()) this.write(field, value[index] as DbusValue, depth + 1);
        return;
      case "entry": {
        const [key, item] = value as readonly [DbusValue, DbusValue];
        this.write(type.key, key, depth + 1);
        return this.write(type.value, item, depth + 1);
      }
    }
  }

  #array(item: DbusType, value: DbusValue, depth: number): void {
    const lengthAt = this.#reserve(4);
    // The padding before the first item does not count, and is there without items, too.
    this.#align(alignmentOf(item));
    const startsAt = this.#length;
    if (item.kind === "basic" && item.code === "y") {
      if (!(value instanceof Uint8Array)) throw misfit("bytes", value);
      this.#put(value);
    } else if (item.kind === "entry") {
      if (!(value instanceof Map)) throw misfit("a Map", value);
      for (const entry of value) this.write(item, entry as DbusValue[], depth + 1);
    } else {
      if (!Array.isArray(value)) throw misfit("an array", value);
      for (const one of value as readonly DbusValue[]) this.write(item, one, depth + 1);
    }
    this.#buffer.writeUInt32LE(this.#length - startsAt, lengthAt);
  }

  #basic(code: string, value: DbusValue): void {
    const range = ranges[code];
    if (range) return this.#integer(code, value, range);
    if (code === "b") {
      if (typeof value !== "boolean") throw misfit("a boolean", value);
      this.#length32(value ? 1 : 0);
    } else if (code === "d") {
      if (typeof value !== "number") throw misfit("a number", value);
      const at = this.#reserve(8);
      this.#buffer.writeDoubleLE(value, at);
    } else if (code === "x" || code === "t") {
      const [least, most] = code === "x" ? [-(1n << 63n), (1n << 63n) - 1n] : [0n, (1n << 64n) - 1n];
      if (typeof value !== "bigint" || value < least || value > most) throw misfit(`a bigint for "${code}"`, value);
      const at = this.#reserve(8);
      this.#buffer.writeBigUInt64LE(BigInt.asUintN(64, value), at);
    } else this.#text(code, value);
  }

  #integer(code: string, value: DbusValue, [least, most]: readonly [number, number]): void {
    if (typeof value !== "number" || !Number.isInteger(value) || value < least || value > most)
      throw misfit(`an integer for "${code}"`, value);
    const size = alignmentOf({ kind: "basic", code });
    const at = this.#reserve(size);
    if (least < 0) this.#buffer.writeIntLE(value, at, size);
    else this.#buffer.writeUIntLE(value, at, size);
  }

  #text(code: string, value: DbusValue): void {
    if (typeof value !== "string" || value.includes("\0")) throw misfit("a text without zeros", value);
    if (code === "o" && !isObjectPath(value)) throw misfit("an object path", value);
    if (code === "g") parseSignature(value);
    const text = Buffer.from(value, "utf8");
    if (code === "g") this.#put(Buffer.of(text.length));
    else this.#length32(text.length);
    this.#put(text);
    this.#reserve(1);
  }

  #length32(value: number): void {
    const at = this.#reserve(4);
    this.#buffer.writeUInt32LE(value, at);
  }

  #put(bytes: Uint8Array): void {
    const at = this.#reserve(bytes.length);
    this.#buffer.set(bytes, at);
  }

  #align(to: number): void {
    this.#reserve((to - (this.#length % to)) % to);
  }

  /** Zeros, and where they begin. The buffer may be another one afterwards. */
  #reserve(bytes: number): number {
    const at = this.#length;
    this.#length += bytes;
    if (this.#length > mostMessageBytes) throw new Fault("invalid", "Cannot write a D-Bus message: it is too large");
    if (this.#length > this.#buffer.length) {
      const larger = Buffer.alloc(Math.max(this.#length, this.#buffer.length * 2));
      larger.set(this.#buffer);
      this.#buffer = larger;
    }
    return at;
  }
}

export function isObjectPath(text: string): boolean {
  return text === "/" || /^(\/[A-Za-z0-9_]+)+$/.test(text);
}

function misfit(wanted: string, value: DbusValue): Fault {
  const told = value instanceof Variant ? "a variant" : typeof value === "object" ? "an object" : `${String(value)}`;
  return new Fault("invalid", `Cannot write a D-Bus message: ${wanted} is wanted, not ${told.slice(0, 80)}`);
}
