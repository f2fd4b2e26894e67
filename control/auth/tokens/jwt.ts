// JSON Web Tokens signed with our own keys: ES256 and RS256 through the runtime's crypto, nothing more. The algorithm
// follows from the key, never from the token, so `alg: none` and key confusion have nothing to hold on to.

import { createHash, createPublicKey, type KeyObject, sign, verify } from "node:crypto";

type JwtAlgorithm = "ES256" | "RS256";

export interface ParsedJwt {
  readonly header: Record<string, unknown>;
  readonly claims: Record<string, unknown>;
  readonly signed: string;
  readonly signature: Buffer;
}

export interface VerifyingKey {
  readonly key: KeyObject;
  readonly keyId: string;
  readonly algorithm: JwtAlgorithm;
}

export interface SigningKey extends VerifyingKey {
  readonly privateKey: KeyObject;
}

// Tokens are a few kilobytes; longer ones are not ours.
const longestToken = 16 * 1024;

/** Undefined for anything that does not look like a signed token. Nothing in it is trusted yet. */
export function parseJwt(token: string): ParsedJwt | undefined {
  if (token.length > longestToken) return undefined;
  const parts = token.split(".");
  const [head, body, signature] = parts;
  if (parts.length !== 3 || !head || !body || !signature || !/^[\w-]+\.[\w-]+\.[\w-]+$/.test(token)) return undefined;
  const header = decodePart(head);
  const claims = decodePart(body);
  if (!header || !claims) return undefined;
  return { header, claims, signed: `${head}.${body}`, signature: Buffer.from(signature, "base64url") };
}

function decodePart(part: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(Buffer.from(part, "base64url").toString("utf8"));
    return typeof value === "object" && value !== null && !Array.isArray(value)
      ? (value as Record<string, unknown>)
      : undefined;
  } catch {
    // Not JSON, so not a token.
    return undefined;
  }
}

export function signJwt(claims: object, by: SigningKey): string {
  const header = { alg: by.algorithm, kid: by.keyId };
  const signed = `${encodePart(header)}.${encodePart(claims)}`;
  const signature = sign("sha256", Buffer.from(signed), cryptoKey(by.privateKey));
  return `${signed}.${signature.toString("base64url")}`;
}

/** True when one of the keys made the signature; a key id in the header narrows the choice. */
export function isSignedBy(jwt: ParsedJwt, keys: readonly VerifyingKey[]): boolean {
  const named = keys.filter((key) => key.keyId === jwt.header.kid);
  return (named.length > 0 ? named : keys).some(
    ({ key, algorithm }) =>
      jwt.header.alg === algorithm && verify("sha256", Buffer.from(jwt.signed), cryptoKey(key), jwt.signature),
  );
}

const cryptoKey = (key: KeyObject) => ({ key, dsaEncoding: "ieee-p1363" as const });
const encodePart = (value: object) => Buffer.from(JSON.stringify(value)).toString("base64url");

/** The key id is the digest of the public key, as upstream forms it. */
export function verifyingKey(key: KeyObject): VerifyingKey {
  const publicKey = key.type === "public" ? key : createPublicKey(key);
  const der = publicKey.export({ type: "spki", format: "der" });
  const keyId = createHash("sha256").update(der).digest("base64url");
  return { key: publicKey, keyId, algorithm: publicKey.asymmetricKeyType === "rsa" ? "RS256" : "ES256" };
}

export function signingKey(privateKey: KeyObject): SigningKey {
  return { ...verifyingKey(privateKey), privateKey };
}
