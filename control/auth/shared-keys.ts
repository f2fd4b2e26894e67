// Servers that share a store must have the same keys: else one calls the other's tokens and certificates forged and cannot read its secrets.
// Which keys the cluster uses stands in the store by fingerprint, and a server that lacks one of them does not take part.

import type { Call } from "../../plugins/kit/base/call.ts";
import { Fault } from "../../plugins/kit/base/fault.ts";
import type { Store } from "../../plugins/kit/contracts/store.ts";
import { parseCertificate } from "../../plugins/kit/os/x509.ts";
import { storagePrefix } from "../storage/keys.ts";
import type { EncryptionKeys } from "./encryption/keys.ts";
import { keyIdOf, sealedResources } from "./encryption/transformer.ts";
import type { Pki } from "./pki.ts";

/** Outside of the registry: it is no object. */
const recordKey = "/servers/keys";

export interface SharedKeysOptions {
  readonly store: Store;
  readonly pki: Pick<Pki, "ca" | "frontProxyCa" | "serviceAccountKey" | "serviceAccountKeys">;
  readonly encryption: EncryptionKeys;
  /** Where all of them lie. */
  readonly folder: string;
}

/** What each is called in a refusal, the file that it is in, and who it is now. */
const kinds = {
  ca: "certificate authority (ca.pem)",
  frontProxyCa: "authority of proxies (front-proxy-ca.pem)",
  serviceAccount: "key of service account tokens (service-account.key)",
  encryption: "key of secrets (encryption-keys.json)",
} as const;

type Record = { [kind in keyof typeof kinds]: string };

/** Throws a Fault that says which key is missing. Does nothing for a store that this process writes to alone. */
export async function agreeOnKeys(options: SharedKeysOptions, call: Call): Promise<void> {
  const { store } = options;
  if (!store.newest) return;
  const own = ownKeys(options);
  for (;;) {
    const found = await store.get(recordKey, call);
    if (found) refuseUnknown(JSON.parse(Buffer.from(found.value).toString("utf8")) as Record, options);
    // From before there was such a record: what is sealed tells.
    else for (const encryption of await sealedWith(store, call)) refuseUnknown({ ...own, encryption }, options);
    const text = JSON.stringify(own);
    if (found && Buffer.from(found.value).toString("utf8") === text) return;
    const { ok } = await store.put(recordKey, Buffer.from(text), found?.revision ?? "absent", call);
    if (ok) return;
  }
}

function ownKeys({ pki, encryption }: SharedKeysOptions): Record {
  return {
    ca: parseCertificate(pki.ca.cert).fingerprint256,
    frontProxyCa: parseCertificate(pki.frontProxyCa.cert).fingerprint256,
    serviceAccount: pki.serviceAccountKey.keyId,
    encryption: encryption.current.id,
  };
}

/** A key that we have, if only to verify or open, is no reason: this server may be the first that has a newer one. */
function refuseUnknown(record: Record, options: SharedKeysOptions): void {
  const own = ownKeys(options);
  const isKnown: { [kind in keyof Record]: boolean } = {
    ca: record.ca === own.ca,
    frontProxyCa: record.frontProxyCa === own.frontProxyCa,
    serviceAccount: options.pki.serviceAccountKeys.some(({ keyId }) => keyId === record.serviceAccount),
    encryption: options.encryption.find(record.encryption) !== undefined,
  };
  const missing = (Object.keys(kinds) as (keyof Record)[]).filter((kind) => !isKnown[kind]);
  if (missing.length === 0) return;
  const which = missing.map((kind) => kinds[kind]).join(", ");
  throw new Fault(
    "invalid",
    `Cannot take part in the cluster of this store: its servers have another ${which} than ${options.folder}; copy that folder from one of them. If none is left, delete "${recordKey}" below the prefix in the store to begin with the keys that are here`,
  );
}

async function sealedWith(store: Store, call: Call): Promise<Set<string>> {
  const ids = new Set<string>();
  for (const ref of sealedResources)
    for (const { value } of (await store.list(storagePrefix(ref), {}, call)).entries) {
      const id = keyIdOf(value);
      if (id !== undefined) ids.add(id);
    }
  return ids;
}
