// Entry is one object in the cache: its bytes, encoded once and shared by every reader, and the decoded form, made when asked for.

import type { KubeObject } from "../../plugins/kit/objects/types.ts";
import { decodeObject, endOfObject, spliceOffset, splicedLength, writeSpliced } from "./encoding.ts";

export class Entry {
  /** `namespace/name` or `name`. */
  readonly key: string;
  readonly revision: number;
  readonly createRevision: number;
  readonly value: Buffer;
  #object: KubeObject | undefined;
  /** Found when first asked for. */
  #metadataStart = 0;
  #metadataEnd = 0;
  /** Whoever keeps a decoded copy anyway (informers) lets all readers share it; otherwise it is made anew each time. */
  #keepsObject: boolean;

  constructor(
    key: string,
    value: Buffer,
    revisions: { revision: number; createRevision: number },
    object: KubeObject | undefined,
    keepsObject: boolean,
  ) {
    this.key = key;
    this.value = value;
    this.revision = revisions.revision;
    this.createRevision = revisions.createRevision;
    this.#keepsObject = keepsObject;
    if (keepsObject) this.#object = object;
  }

  /** Whether the decoded form is at hand. */
  get hasObject(): boolean {
    return this.#object !== undefined;
  }

  /** Shared: never change it. */
  get object(): KubeObject {
    if (this.#object) return this.#object;
    const object = decodeObject(this.value, this.revision);
    if (this.#keepsObject) this.#object = object;
    return object;
  }

  /** A newer state took its place: the decoded form is not worth its memory any more, which is many times that of the bytes. */
  supersede(): void {
    this.#object = undefined;
    this.#keepsObject = false;
  }

  /** A copy that the caller owns and may change. */
  copy(): KubeObject {
    return decodeObject(this.value, this.revision);
  }

  get namespace(): string {
    const slash = this.key.indexOf("/");
    return slash < 0 ? "" : this.key.slice(0, slash);
  }

  get name(): string {
    return this.key.slice(this.key.indexOf("/") + 1);
  }

  get wireLength(): number {
    return splicedLength(this.value, this.revision);
  }

  writeTo(target: Buffer, at: number): number {
    return writeSpliced(target, at, this.value, this.#metadataAt(), this.revision);
  }

  /** Where the fields of the metadata stand in the bytes: behind its opening brace, to behind the closing one. */
  metadataRange(): { from: number; to: number } {
    const from = this.#metadataAt();
    if (this.#metadataEnd === 0) this.#metadataEnd = endOfObject(this.value, from);
    return { from, to: this.#metadataEnd };
  }

  #metadataAt(): number {
    if (this.#metadataStart === 0) this.#metadataStart = spliceOffset(this.value);
    return this.#metadataStart;
  }

  /** The object's JSON with its resourceVersion. */
  wire(): Buffer {
    const target = Buffer.allocUnsafe(this.wireLength);
    this.writeTo(target, 0);
    return target;
  }

  /** The same bytes as seen by a deletion: upstream stamps the last state with the revision that removed it. */
  deletedAt(revision: number): Entry {
    return new Entry(this.key, this.value, { revision, createRevision: this.createRevision }, undefined, false);
  }
}
