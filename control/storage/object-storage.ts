// ObjectStorage writes objects: create, optimistic update with retry, delete. A write is answered when it is durable and when
// the cache shows it, so whoever wrote reads what they wrote.

import type { Call } from "../../plugins/kit/base/call.ts";
import type { KubeObject } from "../../plugins/kit/kube/objects/types.ts";
import type { Store, StoreEntry } from "../../plugins/kit/contracts/store.ts";
import { deepEqual } from "../machinery/equal.ts";
import type { ClaimedWrite, Claims, Lost } from "./claims.ts";
import { asBuffer, encodeObject } from "./encoding.ts";
import { Entry } from "./entry.ts";
import { localKey, type StorageRef, storageKey } from "./keys.ts";
import { LatestEntry } from "./latest-entry.ts";
import { mustBeDurable } from "./lease-renewal.ts";
import type { WatchCache } from "./watch-cache.ts";
import { parseJson } from "../../plugins/kit/base/exact-json.ts";

/** What an update decides on seeing the current state: the next one, nothing to do, or that the object goes away. */
export type Change = { do: "put"; object: KubeObject } | { do: "nothing" } | { do: "delete" };

/**
 * What it was lost to: its name is taken, somebody else has what only one object may have (see claims.ts), or its namespace is no longer
 * as it was.
 */
export type CreateResult = { ok: true; entry: Entry } | { ok: false; lostTo: "name" | "claim" | "namespace" };

export interface UpdateResult {
  /** The state now; for a deletion, the last state stamped with the revision that removed it. */
  readonly entry: Entry;
  readonly deleted: boolean;
}

const namespaces: StorageRef = { group: "", plural: "namespaces" };
const names = { object: "name", beside: "namespace", claim: "claim" } as const;

export class ObjectStorage {
  readonly #store: Store;
  readonly #cache: WatchCache;
  readonly #claims: Claims | undefined;

  constructor(store: Store, cache: WatchCache, claims?: Claims) {
    this.#store = store;
    this.#cache = cache;
    this.#claims = claims;
  }

  /** Where others write to the store as well, the namespace must still be the given one; alone, the caller has seen to that. */
  async create(
    ref: StorageRef,
    namespace: string,
    name: string,
    object: KubeObject,
    call: Call,
    home?: Entry,
  ): Promise<CreateResult> {
    const key = storageKey(ref, namespace, name);
    const beside = this.#claims && home && { key: storageKey(namespaces, "", home.key), expect: home.revision };
    const write = { ref, key, plain: encodeObject(object), object, ...(beside ? { beside } : {}) };
    const result = await this.#put(write, call);
    if (!result.ok) return { ok: false, lostTo: names[result.to] };
    return { ok: true, entry: await this.#settle(ref, localKey(namespace, name), result.entry, call) };
  }

  /**
   * Changes an object by what `decide` makes of its current state; called again when another writer was quicker, with this object or
   * with something that only one object may have.
   * Resolves to undefined when there is no such object.
   */
  async update(
    ref: StorageRef,
    namespace: string,
    name: string,
    decide: (current: Entry) => Change | Promise<Change>,
    call: Call,
  ): Promise<UpdateResult | undefined> {
    const key = storageKey(ref, namespace, name);
    const local = localKey(namespace, name);
    const latest = new LatestEntry(this.#cache, ref, local);
    // As often as it takes, until the caller gives up: each time somebody lost, somebody else has written.
    for (;;) {
      call.signal.throwIfAborted();
      const verdict = await verdictOn(latest.entry, decide);
      if ("answer" in verdict) {
        if (await latest.wasOld(call)) continue;
        return verdict.answer();
      }
      const { value, object } = verdict;
      if (!value) {
        const result = await this.#delete(ref, key, verdict.current, call);
        if (result.ok) {
          await this.#cache.reached(result.revision, call);
          return { entry: verdict.current.deletedAt(result.revision), deleted: true };
        }
        latest.lostTo(this.#entryOf(ref, local, result.current));
        continue;
      }
      const written = await this.#put({ ref, key, plain: value, object, before: verdict.current }, call);
      if (written.ok) return { entry: await this.#settle(ref, local, written.entry, call), deleted: false };
      if (written.to === "object") latest.lostTo(this.#entryOf(ref, local, written.current));
    }
  }

  async #put({ ref, key, plain, object, before, beside }: Write, call: Call): Promise<WriteResult> {
    const transformer = this.#cache.transformerFor(ref);
    const value = transformer ? transformer.seal(key, plain) : plain;
    const expect = before?.revision ?? "absent";
    const claims = this.#claims?.steps(ref, key, before, object) ?? [];
    this.#cache.expect(key, value, plain, object);
    let landed = false;
    try {
      const result =
        this.#claims && (claims.length > 0 || beside)
          ? await this.#claims.write({ key, expect, value, ...(beside ? { beside } : {}) }, claims, call)
          : await this.#store.put(key, value, expect, call, { durable: mustBeDurable(ref, before, object) });
      landed = result.ok;
      if (!result.ok) return { to: "object", ...result };
      if ("entry" in result) return result;
      const { revision } = result;
      return { ok: true, entry: { key, value, createRevision: before?.createRevision ?? revision, revision } };
    } finally {
      if (!landed) this.#cache.unexpect(key);
    }
  }

  async #delete(ref: StorageRef, key: string, before: Entry, call: Call): Promise<DeleteOutcome> {
    const claims = this.#claims?.steps(ref, key, before, undefined) ?? [];
    if (!this.#claims || claims.length === 0) {
      return this.#store.delete(key, before.revision, call, { durable: mustBeDurable(ref, before, undefined) });
    }
    return this.#claims.write({ key, expect: before.revision }, claims, call);
  }

  async #settle(ref: StorageRef, local: string, written: StoreEntry, call: Call): Promise<Entry> {
    await this.#cache.reached(written.revision, call);
    const cached = this.#cache.cache(ref).get(local);
    // Another writer may have been here since: the answer is still what this one wrote.
    return cached?.revision === written.revision ? cached : (this.#entryOf(ref, local, written) as Entry);
  }

  #entryOf(ref: StorageRef, local: string, stored: StoreEntry | undefined): Entry | undefined {
    if (!stored) return undefined;
    const transformer = this.#cache.transformerFor(ref);
    const plain = transformer ? transformer.open(stored.key, stored.value) : stored.value;
    return new Entry(local, asBuffer(plain), stored);
  }
}

interface Write {
  readonly ref: StorageRef;
  readonly key: string;
  readonly plain: Buffer;
  readonly object: KubeObject;
  /** What it takes the place of; there must be nothing when absent. */
  readonly before?: Entry;
  readonly beside?: NonNullable<ClaimedWrite["beside"]>;
}

type WriteResult = { ok: true; entry: StoreEntry } | Lost;
type DeleteOutcome = { ok: true; revision: number } | { ok: false; current: StoreEntry | undefined };

/** What is to be done with the current state: write it, remove it (without a value), or answer without a write. */
type Verdict =
  | { readonly current: Entry; readonly value: Buffer; readonly object: KubeObject }
  | { readonly current: Entry; readonly value?: undefined; readonly object?: undefined }
  | { readonly answer: () => UpdateResult | undefined };

async function verdictOn(
  current: Entry | undefined,
  decide: (current: Entry) => Change | Promise<Change>,
): Promise<Verdict> {
  if (!current) return { answer: () => undefined };
  const unchanged: Verdict = { answer: () => ({ entry: current, deleted: false }) };
  let change: Change;
  try {
    change = await decide(current);
  } catch (error) {
    const answer = () => {
      throw error;
    };
    return { answer };
  }
  if (change.do === "nothing") return unchanged;
  if (change.do === "delete") return { current };
  const value = encodeObject(change.object);
  return isSame(value, current) ? unchanged : { current, value, object: change.object };
}

/** Another order of keys is the same object; it has the same length, which is cheap to see. */
function isSame(value: Buffer, current: Entry): boolean {
  if (value.length !== current.value.length) return false;
  return (
    value.equals(current.value) ||
    deepEqual(parseJson(value.toString("utf8")), parseJson(current.value.toString("utf8")))
  );
}
