// Pictures of a collection that several pages are taken from. The cache's arrays are never changed once handed out, so a
// picture costs one reference; a few are remembered for a few minutes, older ones are read from the store's history.

import type { Clock } from "../../plugins/kit/base/clock.ts";
import { Fault, isFault } from "../../plugins/kit/base/fault.ts";
import type { StoreEntry } from "../../plugins/kit/contracts/store.ts";
import { storageOf } from "../resources/definition.ts";
import { asBuffer } from "../storage/encoding.ts";
import { Entry } from "../storage/entry.ts";
import { storagePrefix } from "../storage/keys.ts";
import type { Transformer } from "../storage/transformer.ts";
import type { Scope } from "./scope.ts";
import { badRequest, failure } from "../machinery/status.ts";

export interface Snapshot {
  readonly entries: readonly Entry[];
  readonly revision: number;
  /** The key behind which this page begins. */
  readonly after: string;
  tokenAfter(key: string): string;
}

interface Kept {
  entries: readonly Entry[];
  revision: number;
  usedAt: number;
}

const keptForMs = 5 * 60_000;
const keptPerResource = 8;

/** Remembers pictures by resource; owned by the server, shared by its requests. */
export class Snapshots {
  readonly #clock: Clock;
  readonly #kept = new Map<string, Kept[]>();
  #cancel: (() => void) | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  keep(id: string, entries: readonly Entry[], revision: number): void {
    const now = this.#clock.now();
    const list = (this.#kept.get(id) ?? []).filter(
      (kept) => now - kept.usedAt < keptForMs && kept.revision !== revision,
    );
    list.push({ entries, revision, usedAt: now });
    this.#kept.set(id, list.slice(-keptPerResource));
    this.#expireLater();
  }

  find(id: string, revision: number): readonly Entry[] | undefined {
    const kept = this.#kept.get(id)?.find((one) => one.revision === revision);
    const now = this.#clock.now();
    if (!kept || now - kept.usedAt >= keptForMs) return undefined;
    kept.usedAt = now;
    return kept.entries;
  }

  close(): void {
    this.#cancel?.();
  }

  /** Lets go of pictures that nobody has paged through for a while. */
  #expireLater(): void {
    this.#cancel ??= this.#clock.after(keptForMs, () => {
      this.#cancel = undefined;
      const now = this.#clock.now();
      for (const [id, list] of this.#kept) {
        const fresh = list.filter((kept) => now - kept.usedAt < keptForMs);
        if (fresh.length === 0) this.#kept.delete(id);
        else this.#kept.set(id, fresh);
      }
      if (this.#kept.size > 0) this.#expireLater();
    });
  }
}

interface Token {
  v: string;
  rv: number;
  start: string;
  /** When the first page was taken. */
  at?: number;
}

export async function snapshotFor(scope: Scope, want: { token?: string; exact?: number }): Promise<Snapshot> {
  const { cache, snapshots } = scope.services;
  const own = cache.cache(storageOf(scope.definition));
  const token = want.token === undefined ? undefined : readToken(want.token);
  const now = scope.services.clock.now();
  // However often it is used, a picture ends: clients must not hold on to the past for ever.
  if (token?.at !== undefined && now - token.at >= keptForMs) throw expired(token);
  let revision = token?.rv ?? want.exact;
  let entries: readonly Entry[];
  if (revision === undefined || revision < 0 || revision === cache.revision) {
    revision = cache.revision;
    entries = own.sorted();
  } else {
    entries = snapshots.find(own.id, revision) ?? (await fromHistory(scope, revision, token));
  }
  const taken = { entries, revision };
  return {
    ...taken,
    after: token?.start ?? "",
    tokenAfter: (key) => {
      snapshots.keep(own.id, taken.entries, taken.revision);
      return writeToken({ v: "meta.k8s.io/v1", rv: taken.revision, start: key, at: token?.at ?? now });
    },
  };
}

async function fromHistory(scope: Scope, revision: number, token: Token | undefined): Promise<readonly Entry[]> {
  const ref = storageOf(scope.definition);
  const prefix = storagePrefix(ref);
  const { cache, store } = scope.services;
  const transformer = cache.transformerFor(ref);
  try {
    const { entries } = await store.list(prefix, { atRevision: revision }, scope.call);
    return entries.map((entry) => {
      const plain = transformer ? openPast(transformer, entry) : entry.value;
      return new Entry(entry.key.slice(prefix.length), asBuffer(plain), entry);
    });
  } catch (error) {
    if (!isFault(error, "expired")) throw error;
    throw expired(token);
  }
}

/** What was encrypted with a key that was dropped since can no longer be shown, like what was compacted. */
function openPast(transformer: Transformer, { key, value }: StoreEntry): Uint8Array {
  try {
    return transformer.open(key, value);
  } catch (cause) {
    throw new Fault("expired", `Cannot read ${key} at an old revision`, { cause });
  }
}

/** A client that pages too slowly may go on from where it was, over a newer state. */
function expired(token: Token | undefined): Fault {
  if (!token)
    return new Fault("expired", "expired", {
      details: failure(410, "Expired", "The resourceVersion for the provided list is too old."),
    });
  const status = failure(
    410,
    "Expired",
    "The provided continue parameter is too old to display a consistent list result. You can start a new list without the continue parameter, or use the continue token in this response to retrieve the remainder of the results. Continuing with the provided token results in an inconsistent list - objects that were created, modified, or deleted between the time the first chunk was returned and now may show up in the list.",
  );
  const { at: _at, ...rest } = token;
  const inconsistent = writeToken({ ...rest, rv: -1 });
  return new Fault("expired", status.message ?? "", { details: { ...status, metadata: { continue: inconsistent } } });
}

function writeToken(token: Token): string {
  return Buffer.from(JSON.stringify({ ...token, start: `${token.start}\0` })).toString("base64url");
}

function readToken(text: string): Token {
  try {
    const token = JSON.parse(Buffer.from(text, "base64url").toString("utf8")) as Token;
    if (
      token.v === "meta.k8s.io/v1" &&
      Number.isInteger(token.rv) &&
      typeof token.start === "string" &&
      token.start.endsWith("\0")
    )
      return { ...token, start: token.start.slice(0, -1) };
  } catch {
    // Falls through to the refusal: what it is not does not matter.
  }
  throw badRequest("invalid continue token: continue key is not valid: illegal base64 data at input byte 0");
}
