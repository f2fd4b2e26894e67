// The bytes of a D-Bus message to values. Bytes come from another program: whatever they are, the answer is values or a Fault `invalid`.

import { Fault } from "../../base/fault.ts";
import { isObjectPath } from "./marshal.ts";
import { alignmentOf, type DbusType, parseSignature } from "./signature.ts";
import { type DbusValue, Variant } from "./values.ts";

const deepest = 64;
const utf8 = new TextDecoder("utf-8", { fatal: true });

/** Values from the front of the bytes; `end` is where the last one ends. */
export function unmarshal(signature: string, bytes: Uint8Array, isLittle = true): { values: DbusValue[]; end: number } {
  const reader = new Reader(bytes, isLittle);
  const values = parseSignature(signature).map((type) => reader.read(type, 0));
  return { values, end: reader.at };
}

class Reader {
  readonly #bytes: Uint8Array;
  readonly #view: DataView;
  readonly #isLittle: boolean;
  at = 0;

  constructor(bytes: Uint8Array, isLittle: boolean) {
    this.#bytes = bytes;
    this.#view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    this.#isLittle = isLittle;
  }

  read(type: DbusType, depth: number): DbusValue {
    if (depth > deepest) throw broken("its values lie too deep");
    this.#align(alignmentOf(type));
    switch (type.kind) {
      case "basic":
        return this.#basic(type.code);
      case "variant": {
        const signature = this.#text(1);
        const [inner, more] = parseSignature(signature);
        if (!inner || more) throw broken("a variant has not one type");
        return new Variant(signature, this.read(inner, depth + 1));
      }
      case "array":
        return this.#array(type.item, depth);
      case "struct":
        return type.fields.map((field) => this.read(field, depth + 1));
      case "entry":
        return [this.read(type.key, depth + 1), this.read(type.value, depth + 1)];
    }
  }

  #array(item: DbusType, depth: number): DbusValue {
    const length = this.#view.getUint32(this.#take(4), this.#isLittle);
    this.#align(alignmentOf(item));
    const end = this.at + length;
    if (end > this.#bytes.length) throw broken("an array ends behind it");
    if (item.kind === "basic" && item.code === "y")
      return new Uint8Array(this.#bytes.subarray(this.#take(length), end));
    const items: DbusValue[] = [];
    while (this.at < end) items.push(this.read(item, depth + 1));
    if (this.at !== end) throw broken("an array does not end with an item");
    return item.kind === "entry" ? new Map(items as unknown as [DbusValue, DbusValue][]) : items;
  }

  #basic(code: string): DbusValue {
    const view = this.#view;
    switch (code) {
      case "y":
        return view.getUint8(this.#take(1));
      case "n":
        return view.getInt16(this.#take(2), this.#isLittle);
      case "q":
        return view.getUint16(this.#take(2), this.#isLittle);
      case "i":
        return view.getInt32(this.#take(4), this.#isLittle);
      case "u":
      case "h":
        return view.getUint32(this.#take(4), this.#isLittle);
      case "x":
        return view.getBigInt64(this.#take(8), this.#isLittle);
      case "t":
        return view.getBigUint64(this.#take(8), this.#isLittle);
      case "d":
        return view.getFloat64(this.#take(8), this.#isLittle);
      case "b": {
        const value = view.getUint32(this.#take(4), this.#isLittle);
        if (value > 1) throw broken("a boolean is neither true nor false");
        return value === 1;
      }
      default: {
        const text = this.#text(code === "g" ? 1 : 4);
        if (code === "o" && !isObjectPath(text)) throw broken("an object path is none");
        if (code === "g") parseSignature(text);
        return text;
      }
    }
  }

  #text(lengthBytes: 1 | 4): string {
    const at = this.#take(lengthBytes);
    const length = lengthBytes === 1 ? this.#view.getUint8(at) : this.#view.getUint32(at, this.#isLittle);
    const from = this.#take(length + 1);
    if (this.#bytes[from + length] !== 0) throw broken("a text does not end with a zero");
    const text = this.#bytes.subarray(from, from + length);
    if (text.includes(0)) throw broken("a text has a zero in it");
    try {
      return utf8.decode(text);
    } catch (error) {
      throw broken("a text is not UTF-8", error);
    }
  }

  #align(to: number): void {
    const from = this.#take((to - (this.at % to)) % to);
    for (let at = from; at < this.at; at++)
      if (this.#bytes[at] !== 0) throw broken("there is something in its padding");
  }

  #take(bytes: number): number {
    const from = this.at;
    if (from + bytes > this.#bytes.length) throw broken("it ends too early");
    this.at = from + bytes;
    return from;
  }
}

function broken(why: string, cause?: unknown): Fault {
  return new Fault("invalid", `Cannot read a D-Bus message: ${why}`, cause === undefined ? {} : { cause });
}
