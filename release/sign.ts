// Signs checksums with an ed25519 key, so that `openssl pkeyutl -verify -rawin` can check them where no network is.

import { createPrivateKey, type KeyObject, sign } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";

/** An ed25519 private key in PEM, as `openssl genpkey -algorithm ed25519` makes one. */
export function readSigningKey(path: string): KeyObject {
  const key = createPrivateKey(readFileSync(path));
  if (key.asymmetricKeyType !== "ed25519") throw new Error(`${path} is not an ed25519 key`);
  return key;
}

/** Writes `<file>.sig`. */
export function signFile(file: string, key: KeyObject): void {
  writeFileSync(`${file}.sig`, sign(undefined, readFileSync(file), key));
}
