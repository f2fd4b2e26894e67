// How an object becomes bytes: JSON with kind, apiVersion and metadata first and without its resourceVersion, which is the
// store's revision and is spliced in as the first field of the metadata whenever the bytes are sent.

import { Fault } from "../../plugins/kit/base/fault.ts";
import type { KubeObject } from "../../plugins/kit/kube/objects/types.ts";
import { parseJson } from "../../plugins/kit/base/exact-json.ts";

const metadataMark = Buffer.from('"metadata":{');

export function encodeObject(object: KubeObject): Buffer {
  const { kind, apiVersion, metadata, ...rest } = object;
  const { resourceVersion: _, ...meta } = metadata;
  return ownBytes(JSON.stringify({ kind, apiVersion, metadata: meta, ...rest }));
}

/** Bytes for keeping: `Buffer.from` cuts short ones out of shared blocks, and one kept piece would hold all of its block. */
function ownBytes(text: string): Buffer {
  const bytes = Buffer.allocUnsafeSlow(Buffer.byteLength(text));
  bytes.write(text);
  return bytes;
}

/** A private copy that the caller may change. */
export function decodeObject(value: Buffer, revision: number): KubeObject {
  const object = parseJson(value.toString("utf8")) as KubeObject;
  object.metadata.resourceVersion = String(revision);
  return object;
}

export function asBuffer(value: Uint8Array): Buffer {
  return Buffer.isBuffer(value) ? value : Buffer.from(value.buffer, value.byteOffset, value.byteLength);
}

/** The offset just behind `"metadata":{`, where the resourceVersion is spliced in. */
export function spliceOffset(value: Buffer): number {
  const at = value.indexOf(metadataMark);
  if (at < 0) throw new Fault("internal", "Cannot read a stored object: its metadata is not where the encoder puts it");
  return at + metadataMark.length;
}

export function revisionField(revision: number): string {
  return `"resourceVersion":"${revision}",`;
}

/** Copies the object's wire form to `target` and returns the offset behind it. */
export function writeSpliced(target: Buffer, at: number, value: Buffer, split: number, revision: number): number {
  let end = at + value.copy(target, at, 0, split);
  end += target.write(revisionField(revision), end, "latin1");
  return end + value.copy(target, end, split);
}

/** The same as an item of a typed list, whose items do not say their kind: all before `"metadata"` is left out. */
export function writeSplicedItem(target: Buffer, at: number, value: Buffer, split: number, revision: number): number {
  target[at] = open;
  let end = at + 1 + value.copy(target, at + 1, split - metadataMark.length, split);
  end += target.write(revisionField(revision), end, "latin1");
  return end + value.copy(target, end, split);
}

export function splicedLength(value: Buffer, revision: number): number {
  return value.length + revisionField(revision).length;
}

const quote = 0x22;
const backslash = 0x5c;
const open = 0x7b;
const close = 0x7d;

/** The offset behind the brace that ends the object whose first field begins at `from`. */
export function endOfObject(value: Buffer, from: number): number {
  let depth = 1;
  for (let at = from; at < value.length; at++) {
    const byte = value[at];
    if (byte === quote) {
      at = value.indexOf(quote, at + 1);
      while (isEscaped(value, at)) at = value.indexOf(quote, at + 1);
      if (at < 0) break;
    } else if (byte === open) depth++;
    else if (byte === close && --depth === 0) return at + 1;
  }
  throw new Fault("internal", "Cannot read a stored object: its metadata does not end");
}

function isEscaped(value: Buffer, at: number): boolean {
  let count = 0;
  while (value[at - 1 - count] === backslash) count++;
  return count % 2 === 1;
}
