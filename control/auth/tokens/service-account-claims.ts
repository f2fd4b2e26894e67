// What a service account token says: how it is made for a TokenRequest, and what a verified one means. Pure.

import { randomUUID } from "node:crypto";

export interface ObjectIdentity {
  readonly name: string;
  readonly uid: string;
}

export interface ServiceAccountClaims {
  readonly namespace: string;
  readonly account: ObjectIdentity;
  readonly pod?: ObjectIdentity;
  readonly secret?: ObjectIdentity;
  readonly node?: ObjectIdentity;
  readonly audiences: readonly string[];
  readonly tokenId?: string;
  readonly notBefore: number;
  readonly expires: number;
  readonly warnAfter?: number;
}

export interface TokenWish {
  readonly issuer: string;
  readonly namespace: string;
  readonly account: ObjectIdentity;
  readonly pod?: ObjectIdentity;
  readonly secret?: ObjectIdentity;
  readonly node?: ObjectIdentity;
  readonly audiences: readonly string[];
  readonly nowSeconds: number;
  readonly lifetimeSeconds: number;
  readonly warnAfterSeconds?: number;
}

export const accountUserName = (namespace: string, name: string) => `system:serviceaccount:${namespace}:${name}`;

export const accountGroups = (namespace: string) => [
  "system:serviceaccounts",
  `system:serviceaccounts:${namespace}`,
  "system:authenticated",
];

export function claimsFor(wish: TokenWish): Record<string, unknown> {
  const { nowSeconds, account, namespace, pod, secret, node } = wish;
  return {
    aud: wish.audiences,
    exp: nowSeconds + wish.lifetimeSeconds,
    iat: nowSeconds,
    iss: wish.issuer,
    jti: randomUUID(),
    "kubernetes.io": {
      namespace,
      ...(node ? { node } : {}),
      ...(pod ? { pod } : {}),
      ...(secret ? { secret } : {}),
      serviceaccount: account,
      ...(wish.warnAfterSeconds === undefined ? {} : { warnafter: nowSeconds + wish.warnAfterSeconds }),
    },
    nbf: nowSeconds,
    sub: accountUserName(namespace, account.name),
  };
}

/** Undefined when the claims are not those of a bound token. The signature must have been verified before. */
export function readClaims(claims: Record<string, unknown>): ServiceAccountClaims | undefined {
  const own = claims["kubernetes.io"] as Record<string, unknown> | undefined;
  const account = identity(own?.serviceaccount);
  const namespace = own?.namespace;
  if (!own || !account || typeof namespace !== "string" || typeof claims.exp !== "number") return undefined;
  if (claims.sub !== accountUserName(namespace, account.name)) return undefined;
  const audiences = [claims.aud ?? []].flat().filter((each): each is string => typeof each === "string");
  const pod = identity(own.pod);
  const secret = identity(own.secret);
  const node = identity(own.node);
  return {
    namespace,
    account,
    audiences,
    notBefore: typeof claims.nbf === "number" ? claims.nbf : 0,
    expires: claims.exp,
    ...(pod ? { pod } : {}),
    ...(secret ? { secret } : {}),
    ...(node ? { node } : {}),
    ...(typeof claims.jti === "string" ? { tokenId: claims.jti } : {}),
    ...(typeof own.warnafter === "number" ? { warnAfter: own.warnafter } : {}),
  };
}

function identity(value: unknown): ObjectIdentity | undefined {
  if (typeof value !== "object" || value === null) return undefined;
  const { name, uid } = value as Record<string, unknown>;
  return typeof name === "string" && typeof uid === "string" ? { name, uid } : undefined;
}
