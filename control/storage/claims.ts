// What only one object of a resource may have (a service's address, a node port), where several servers write to one store: a key of its own
// for each, written and removed in one transaction with the object, so that of two servers that give the same in the same instant one loses.
//
// Invariants: whoever comes to have something writes its claim; a claim therefore holds for as long as the object that it names has what is
// claimed. One whose object does not (a server from before there were claims deleted it) is nobody's, and who wants it replaces it.

import type { Call } from "../../plugins/kit/base/call.ts";
import type { Log } from "../../plugins/kit/base/log.ts";
import type { KubeObject } from "../../plugins/kit/kube/objects/types.ts";
import type { Store, StoreEntry, TransactionStep } from "../../plugins/kit/contracts/store.ts";
import type { Entry } from "./entry.ts";
import { registryRoot, type StorageRef, splitKey, storageId } from "./keys.ts";

/** Outside of the registry: they are no objects, and no cache follows them. */
const root = "/claims/";

/**
 * So much of what one object has is claimed: etcd takes 128 keys in one transaction, and a change may give back as many as it takes.
 * What comes after is given out by what this server knows, as all is where a store has no transactions.
 */
const mostOfOne = 60;

/** What the object has and no other may, what matters most first, each as `<kind of thing>/<which>`. */
export type Holdings = (object: KubeObject) => readonly string[];

/** A resource whose bytes are stored as they are, and what its objects hold. */
export interface ClaimedResource {
  readonly ref: StorageRef;
  readonly holdings: Holdings;
}

export interface ClaimedWrite {
  /** The object's own key, and what it must be at. */
  readonly key: string;
  readonly expect: number | "absent";
  /** Another object that must be as it was. */
  readonly beside?: { readonly key: string; readonly expect: number };
  /** Its next bytes; it goes when absent. */
  readonly value?: Uint8Array;
}

/** What was not as expected: the object, which is `current` now, the one beside it, or another has what was to be claimed. */
export type Lost = { ok: false; to: "object" | "beside" | "claim"; current: StoreEntry | undefined };
export type ClaimedResult = { ok: true; revision: number } | Lost;

type Transact = NonNullable<Store["transact"]>;

export class Claims {
  readonly #store: Store;
  readonly #transact: Transact;
  readonly #holdings: ReadonlyMap<string, Holdings>;

  private constructor(store: Store, transact: Transact, resources: readonly ClaimedResource[]) {
    this.#store = store;
    this.#transact = transact;
    const claimed = (holdings: Holdings) => (object: KubeObject) => holdings(object).slice(0, mostOfOne);
    this.#holdings = new Map(resources.map(({ ref, holdings }) => [storageId(ref), claimed(holdings)]));
  }

  /** Undefined for a store that one process writes to alone: it knows what it has given out. */
  static on(store: Store, resources: readonly ClaimedResource[]): Claims | undefined {
    const transact = store.transact?.bind(store);
    return store.newest && transact ? new Claims(store, transact, resources) : undefined;
  }

  /** The steps that must go with a change of the object; none for most. */
  steps(ref: StorageRef, key: string, before: Entry | undefined, after: KubeObject | undefined): TransactionStep[] {
    const holdings = this.#holdings.get(storageId(ref));
    if (!holdings) return [];
    const had = new Set(before ? holdings(before.glance) : []);
    const has = new Set(after ? holdings(after) : []);
    return [
      ...[...has].filter((each) => !had.has(each)).map((each) => claim(each, key, "absent")),
      ...[...had]
        .filter((each) => !has.has(each))
        .map((each) => ({ key: root + each, expect: "any" as const, delete: true as const })),
    ];
  }

  /** The write with its claims, all or nothing. A claim in the way whose object does not have what it says is replaced. */
  async write(
    { key, expect, value, beside }: ClaimedWrite,
    claims: readonly TransactionStep[],
    call: Call,
  ): Promise<ClaimedResult> {
    const own: TransactionStep = value ? { key, expect, put: value } : { key, expect, delete: true };
    let steps = claims;
    for (;;) {
      const result = await this.#transact([own, ...(beside ? [beside] : []), ...steps], call);
      if (result.ok) return result;
      const [current, ...found] = result.current;
      const isAsExpected = expect === "absent" ? !current : current?.revision === expect;
      if (!isAsExpected) return { ok: false, to: "object", current };
      if (beside && found.shift()?.revision !== beside.expect) return { ok: false, to: "beside", current };
      const next: TransactionStep[] = [];
      for (const [index, step] of steps.entries()) {
        const inTheWay = found[index];
        if (step.expect !== "any" && inTheWay && (await this.#isHeld(inTheWay, call)))
          return { ok: false, to: "claim", current };
        next.push(step.expect === "any" ? step : { ...step, expect: inTheWay?.revision ?? "absent" });
      }
      steps = next;
    }
  }

  /**
   * Claims what objects have that were written before there were claims, and lets go of what nobody has; to be called before anything is
   * given out.
   */
  async settle(log: Log, call: Call): Promise<void> {
    const { entries: claimed } = await this.#store.list(root, {}, call);
    const owners = new Map(claimed.map((entry) => [entry.key, ownerOf(entry)]));
    const held = new Set<string>();
    for (const [id, holdings] of this.#holdings) {
      const { entries } = await this.#store.list(`${registryRoot}${id}/`, {}, call);
      for (const entry of entries)
        for (const each of holdings(objectIn(entry))) {
          held.add(`${each} ${entry.key}`);
          if (owners.get(root + each) !== entry.key) await this.#claimLate(each, entry.key, log, call);
        }
    }
    for (const entry of claimed)
      if (!held.has(`${thingOf(entry)} ${ownerOf(entry)}`)) await this.#store.delete(entry.key, entry.revision, call);
  }

  async #claimLate(what: string, owner: string, log: Log, call: Call): Promise<void> {
    for (;;) {
      const object = await this.#store.get(owner, call);
      if (!object || !this.#holds(object, what)) return;
      const found = await this.#store.get(root + what, call);
      if (found && (await this.#isHeld(found, call))) {
        const other = ownerOf(found);
        if (other !== owner) log.warn({ what, owner, other }, "two objects have what only one may have");
        return;
      }
      const step = claim(what, owner, found?.revision ?? "absent");
      // The claim is only good for the state that it was made for.
      const { ok } = await this.#transact([{ key: owner, expect: object.revision }, step], call);
      if (ok) return;
    }
  }

  /** Whether the object that a claim names has what it says. */
  async #isHeld(entry: StoreEntry, call: Call): Promise<boolean> {
    const owner = await this.#store.get(ownerOf(entry), call);
    return owner !== undefined && this.#holds(owner, thingOf(entry));
  }

  #holds(owner: StoreEntry, what: string): boolean {
    const id = splitKey(owner.key)?.id ?? "";
    return this.#holdings.get(id)?.(objectIn(owner)).includes(what) ?? false;
  }
}

const claim = (what: string, owner: string, expect: number | "absent"): TransactionStep => ({
  key: root + what,
  expect,
  put: Buffer.from(owner),
});

const thingOf = ({ key }: StoreEntry): string => key.slice(root.length);
const ownerOf = ({ value }: StoreEntry): string => Buffer.from(value).toString("utf8");
const objectIn = ({ value }: StoreEntry): KubeObject => JSON.parse(Buffer.from(value).toString("utf8")) as KubeObject;
