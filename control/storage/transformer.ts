// Transformer is how bytes are changed on their way to and from the store: encryption of secrets at rest.

import type { StorageRef } from "./keys.ts";

export interface Transformer {
  handles(ref: StorageRef): boolean;
  /** The key is bound to the sealed bytes, so that they cannot be moved to another one. */
  seal(key: string, plain: Uint8Array): Uint8Array;
  /** Throws a Fault when the bytes were not sealed for this key, or were changed. */
  open(key: string, sealed: Uint8Array): Uint8Array;
}
