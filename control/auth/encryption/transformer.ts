// Seals secrets on their way to the store with AES-256-GCM. The id of the key stands in the clear before the sealed bytes;
// the place in the store is part of what is authenticated, so sealed bytes cannot be moved to another name.

import { createCipheriv, createDecipheriv, randomBytes } from "node:crypto";
import { Fault } from "../../../plugins/kit/base/fault.ts";
import { type StorageRef, storageId } from "../../storage/keys.ts";
import type { Transformer } from "../../storage/transformer.ts";
import type { EncryptionKeys } from "./keys.ts";

const prefix = "k8s:enc:aesgcm:v1:";
const nonceBytes = 12;
const tagBytes = 16;
/** The prefix, the key's id and a colon. */
const headBytes = prefix.length + 8 + 1;

export const sealedResources: readonly StorageRef[] = [{ group: "", plural: "secrets" }];

export function secretsTransformer(
  keys: EncryptionKeys,
  resources: readonly StorageRef[] = sealedResources,
): Transformer {
  const sealed = new Set(resources.map(storageId));
  return {
    handles: (ref) => sealed.has(storageId(ref)),
    seal(key, plain) {
      const { id, secret } = keys.current;
      const head = Buffer.from(`${prefix}${id}:`);
      // A random nonce of 96 bits is good for 2^32 seals of one key; rotation comes long before.
      const nonce = randomBytes(nonceBytes);
      const cipher = createCipheriv("aes-256-gcm", secret, nonce).setAAD(Buffer.from(key));
      return kept(head, nonce, cipher.update(plain), cipher.final(), cipher.getAuthTag());
    },
    open(key, bytes) {
      const id = keyIdOf(bytes);
      if (id === undefined) throw new Fault("invalid", `Cannot read ${key}: it is not encrypted`);
      const found = keys.find(id);
      if (!found)
        throw new Fault(
          "invalid",
          `Cannot read ${key}: it was encrypted with key "${id}", which is not in the key file`,
        );
      const nonce = bytes.subarray(headBytes, headBytes + nonceBytes);
      const tag = bytes.subarray(bytes.length - tagBytes);
      try {
        const decipher = createDecipheriv("aes-256-gcm", found.secret, nonce, { authTagLength: tagBytes });
        decipher.setAAD(Buffer.from(key)).setAuthTag(tag);
        const content = bytes.subarray(headBytes + nonceBytes, bytes.length - tagBytes);
        return kept(decipher.update(content), decipher.final());
      } catch (cause) {
        throw new Fault("invalid", `Cannot read ${key}: the encrypted bytes were changed or belong elsewhere`, {
          cause,
        });
      }
    },
  };
}

/** Joined in memory of their own: `Buffer.concat` would cut them out of a shared block, which they would hold for as long as they are kept. */
function kept(...parts: readonly Buffer[]): Buffer {
  const bytes = Buffer.allocUnsafeSlow(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) at += part.copy(bytes, at);
  return bytes;
}

/** Undefined for bytes that are not sealed. */
export function keyIdOf(bytes: Uint8Array): string | undefined {
  if (bytes.length < headBytes + nonceBytes + tagBytes) return undefined;
  const head = Buffer.from(bytes.subarray(0, headBytes)).toString("latin1");
  return head.startsWith(prefix) && head.endsWith(":") ? head.slice(prefix.length, -1) : undefined;
}
