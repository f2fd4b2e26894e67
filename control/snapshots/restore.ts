// Brings a snapshot back in the place of the present store: checked first, the keys of its secrets beside the present ones.

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { Fault } from "../../plugins/kit/base/fault.ts";
import { claimDataDir } from "../../plugins/kit/os/platform/data-dir.ts";
import { EncryptionKeys } from "../auth/encryption/keys.ts";
import { findSnapshot, keysPath, verifySnapshot } from "./files.ts";

export interface Replaced {
  /** Where the store that was there is kept; undefined where there was none. */
  readonly replaced: string | undefined;
}

/** Refuses a damaged snapshot and a data dir that an instance runs on. */
export async function restoreSnapshot(
  dataDir: string,
  given: string,
  putStore: (folder: string, snapshot: string) => Replaced,
): Promise<Replaced & { readonly path: string }> {
  const path = findSnapshot(dataDir, given);
  await verifySnapshot(path);
  const lock = await claimDataDir(dataDir);
  try {
    // The keys come first: one too many harms nothing, one too few makes secrets unreadable.
    new EncryptionKeys(join(dataDir, "pki", "encryption-keys.json")).keep(readKeys(path));
    return { path, ...putStore(join(dataDir, "store"), path) };
  } finally {
    lock.release();
  }
}

function readKeys(path: string): { id: string; secret: Buffer }[] {
  try {
    const files = JSON.parse(readFileSync(keysPath(path), "utf8")) as { keys: { id: string; secret: string }[] }[];
    return files.flatMap(({ keys }) => keys.map(({ id, secret }) => ({ id, secret: Buffer.from(secret, "base64") })));
  } catch (cause) {
    throw new Fault("invalid", `Cannot restore from ${path}: ${keysPath(path)} holds no keys`, { cause });
  }
}
