// Changes the key that secrets are sealed with: a new key, everything sealed anew, the old key dropped. Killed at any
// point it leaves a store that can be read; run again it completes.

import type { Call } from "../../../plugins/kit/base/call.ts";
import { Fault } from "../../../plugins/kit/base/fault.ts";
import type { Store } from "../../../plugins/kit/contracts/store.ts";
import { storagePrefix } from "../../storage/keys.ts";
import type { EncryptionKeys } from "./keys.ts";
import { keyIdOf, sealedResources, secretsTransformer } from "./transformer.ts";

const page = 100;
const mostRounds = 10;

/** How many entries were sealed anew. One at a time: a second rotation must wait for the first. */
export async function rotateEncryptionKey(
  keys: EncryptionKeys,
  store: Store,
  call: Call,
  /** There are two keys now, and nothing is sealed with the new one yet. */
  onAdded?: () => Promise<void>,
): Promise<number> {
  keys.add();
  await onAdded?.();
  return completeRotation(keys, store, call);
}

/** Seals everything with the newest key and drops the others; does nothing when there is only one. */
export async function completeRotation(keys: EncryptionKeys, store: Store, call: Call): Promise<number> {
  if (!keys.hasOld) return 0;
  let total = 0;
  for (let round = 1; round <= mostRounds; round++) {
    const { resealed, lost } = await resealAll(keys, store, call);
    total += resealed;
    // A write that was faster than ours was sealed with the newest key; look once more to be sure.
    if (lost === 0) {
      keys.dropOld();
      return total;
    }
  }
  throw new Fault(
    "conflict",
    "Cannot finish the rotation of the encryption key: too many secrets changed meanwhile; run it again",
  );
}

async function resealAll(keys: EncryptionKeys, store: Store, call: Call): Promise<{ resealed: number; lost: number }> {
  const transformer = secretsTransformer(keys);
  let resealed = 0;
  let lost = 0;
  for (const ref of sealedResources) {
    let after: string | undefined;
    for (;;) {
      const { entries, remaining } = await store.list(
        storagePrefix(ref),
        { limit: page, ...(after ? { after } : {}) },
        call,
      );
      for (const { key, value, revision } of entries) {
        after = key;
        if (keyIdOf(value) === keys.current.id) continue;
        const next = transformer.seal(key, transformer.open(key, value));
        const { ok } = await store.put(key, next, revision, call);
        if (ok) resealed++;
        else lost++;
      }
      if (remaining === 0) break;
    }
  }
  return { resealed, lost };
}
