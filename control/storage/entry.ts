// Entry is one object in the cache: its bytes, encoded once and shared by every reader, and the decoded form, made when asked for.

import type { KubeObject } from "../../plugins/kit/kube/objects/types.ts";
import { decodeObject, endOfObject, spliceOffset, splicedLength, writeSpliced, writeSplicedItem } from "./encoding.ts";
import type { Keeping, ObjectKeeper } from "./object-keeper.ts";

export class Entry implements Keeping {
  /** `namespace/name` or `name`. */
  readonly key: string;
  readonly revision: number;
  readonly createRevision: number;
  readonly value: Buffer;
  #object: KubeObject | undefined;
  /** Found when first asked for. */
  #metadataStart = 0;
  #metadataEnd = 0;
  /** Lets all readers share one decoded copy for as long as it finds that worth the memory; without one it is made anew each time. */
  #keeper: ObjectKeeper | undefined;
  #wasRead = false;
  #wasLetGo = false;

  constructor(
    key: string,
    value: Buffer,
    revisions: { revision: number; createRevision: number },
    object?: KubeObject,
    keeper?: ObjectKeeper,
  ) {
    this.key = key;
    this.value = value;
    this.revision = revisions.revision;
    this.createRevision = revisions.createRevision;
    this.#keeper = keeper;
    if (!keeper || !object) return;
    this.#object = object;
    keeper.keep(this);
  }

  /** Whether the decoded form is at hand. */
  get hasObject(): boolean {
    return this.#object !== undefined;
  }

  /** Shared: never change it. Kept for the next reader where there is a keeper. */
  get object(): KubeObject {
    this.#wasRead = true;
    if (this.#object) return this.#object;
    const object = decodeObject(this.value, this.revision);
    if (this.#keeper) {
      this.#object = object;
      this.#keeper.keepRead(this, this.#wasLetGo);
    }
    return object;
  }

  /** The same for one look, which is no reason to keep it. */
  get glance(): KubeObject {
    return this.#object ?? decodeObject(this.value, this.revision);
  }

  wasRead(): boolean {
    const wasRead = this.#wasRead;
    this.#wasRead = false;
    return wasRead;
  }

  letGo(): void {
    this.#object = undefined;
    this.#wasLetGo = true;
  }

  /** A newer state took its place: the decoded form is not worth its memory any more, which is many times that of the bytes. */
  supersede(): void {
    if (this.#object) this.#keeper?.forget(this);
    this.#object = undefined;
    this.#keeper = undefined;
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

  /** The same without kind and apiVersion, which is never longer. */
  writeItemTo(target: Buffer, at: number): number {
    return writeSplicedItem(target, at, this.value, this.#metadataAt(), this.revision);
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
    return new Entry(this.key, this.value, { revision, createRevision: this.createRevision });
  }
}
