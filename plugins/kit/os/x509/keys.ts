// Key pairs and signatures of certificates: ECDSA P-256 for what we make, and the usual algorithms for what others bring.

import { createPrivateKey, createPublicKey, generateKeyPairSync, type KeyObject, sign, verify } from "node:crypto";
import { Fault } from "../../base/fault.ts";
import { type DerValue, expectTag, nothing, oid, readAll, readOid, sequence, tags } from "./der.ts";

export interface KeyPair {
  /** PKCS #8, PEM. */
  readonly key: string;
  /** SubjectPublicKeyInfo, PEM. */
  readonly publicKey: string;
}

export function createKeyPair(): KeyPair {
  const { privateKey, publicKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  return {
    key: privateKey.export({ type: "pkcs8", format: "pem" }) as string,
    publicKey: publicKey.export({ type: "spki", format: "pem" }) as string,
  };
}

export function readPrivateKey(pem: string): KeyObject {
  try {
    return createPrivateKey(pem);
  } catch (error) {
    throw new Fault("invalid", "The private key cannot be read", { cause: error });
  }
}

export function readPublicKey(spki: Uint8Array): KeyObject {
  try {
    return createPublicKey({ key: Buffer.from(spki), format: "der", type: "spki" });
  } catch (error) {
    throw new Fault("invalid", "The public key cannot be read", { cause: error });
  }
}

const ecdsaSha256 = "1.2.840.10045.4.3.2";
const rsaSha256 = "1.2.840.113549.1.1.11";
const ed25519 = "1.3.101.112";

/** Signature algorithms by identifier, with the digest each needs. */
const digests = new Map<string, string | null>([
  [ecdsaSha256, "sha256"],
  ["1.2.840.10045.4.3.3", "sha384"],
  ["1.2.840.10045.4.3.4", "sha512"],
  [rsaSha256, "sha256"],
  ["1.2.840.113549.1.1.12", "sha384"],
  ["1.2.840.113549.1.1.13", "sha512"],
  [ed25519, null],
]);

const algorithmByKeyType: Readonly<Record<string, string>> = { ec: ecdsaSha256, rsa: rsaSha256, ed25519 };

/** The AlgorithmIdentifier that `signWith` uses for this key. */
export function signatureAlgorithm(key: KeyObject): Buffer {
  const id = algorithmByKeyType[key.asymmetricKeyType ?? ""];
  if (!id) throw new Fault("unsupported", `Keys of type "${key.asymmetricKeyType}" cannot sign certificates`);
  return id === rsaSha256 ? sequence(oid(id), nothing()) : sequence(oid(id));
}

export function signWith(key: KeyObject, content: Uint8Array): Buffer {
  return sign(key.asymmetricKeyType === "ed25519" ? null : "sha256", content, key);
}

/** True when the signature over the content was made by the public key with the algorithm named. */
export function isSignedBy(
  publicKey: KeyObject,
  algorithm: DerValue | undefined,
  content: Uint8Array,
  signature: Uint8Array,
): boolean {
  const id = readOid(readAll(expectTag(algorithm, tags.sequence).content)[0]);
  const digest = digests.get(id);
  if (digest === undefined) throw new Fault("unsupported", `Signature algorithm ${id} is not supported`);
  try {
    return verify(digest, content, publicKey, signature);
  } catch {
    // A key of another type than the algorithm's: not signed by it.
    return false;
  }
}
