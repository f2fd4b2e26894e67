// The OpenID discovery document and key set by which others verify this cluster's service account tokens.

import type { VerifyingKey } from "./jwt.ts";

export const discoveryPath = "/.well-known/openid-configuration";
export const keySetPath = "/openid/v1/jwks";

export function openIdConfiguration(issuer: string, serverUrl: string, keys: readonly VerifyingKey[]): object {
  return {
    issuer,
    jwks_uri: `${serverUrl}${keySetPath}`,
    response_types_supported: ["id_token"],
    subject_types_supported: ["public"],
    id_token_signing_alg_values_supported: [...new Set(keys.map(({ algorithm }) => algorithm))],
  };
}

export function jsonWebKeySet(keys: readonly VerifyingKey[]): { keys: object[] } {
  return {
    keys: keys.map(({ key, keyId, algorithm }) => ({
      use: "sig",
      ...key.export({ format: "jwk" }),
      kid: keyId,
      alg: algorithm,
    })),
  };
}
