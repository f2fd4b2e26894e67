// Keys and entries between the store's strings and etcd's bytes, below the prefix that is ours.

import type { StoreEntry } from "../../kit/contracts/store.ts";
import type { KeyValue } from "./gen/etcd.js";

export interface KeyRange {
  readonly key: Uint8Array;
  readonly rangeEnd: Uint8Array;
}

export class Keys {
  readonly #root: string;

  constructor(root: string) {
    this.#root = root;
  }

  bytes(key: string): Uint8Array {
    return Buffer.from(this.#root + key, "utf8");
  }

  text(bytes: Uint8Array): string {
    return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("utf8").slice(this.#root.length);
  }

  /** Everything below the prefix, or what of it follows `after`. */
  range(prefix: string, after?: string): KeyRange {
    const start = this.bytes(prefix);
    const next = after === undefined ? start : this.bytes(`${after}\0`);
    const key = Buffer.compare(next, start) > 0 ? next : start;
    return { key: key.length > 0 ? key : everything, rangeEnd: endOf(start) };
  }

  entry(kv: KeyValue): StoreEntry {
    return {
      key: this.text(kv.key),
      value: kv.value,
      createRevision: Number(kv.createRevision),
      revision: Number(kv.modRevision),
    };
  }
}

/** etcd's spelling of "from the first key" and "to the last one". */
const everything = Uint8Array.of(0);

/** The first bytes that follow every key below the prefix. */
function endOf(prefix: Uint8Array): Uint8Array {
  let length = prefix.length;
  while (length > 0 && prefix[length - 1] === 0xff) length--;
  if (length === 0) return everything;
  const end = Uint8Array.from(prefix.subarray(0, length));
  end[length - 1] = (end[length - 1] as number) + 1;
  return end;
}
