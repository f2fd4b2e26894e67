// Paths of this room that are no resources: how others verify our tokens, and changing the key of stored secrets.

import type { Call } from "../../plugins/kit/base/call.ts";
import { jsonAnswer } from "../machinery/answer.ts";
import type { PathHandler } from "../machinery/path-handler.ts";
import { discoveryPath, jsonWebKeySet, keySetPath, openIdConfiguration } from "./tokens/discovery.ts";
import type { VerifyingKey } from "./tokens/jwt.ts";

/** POST here to rotate; only system:masters and cluster-admins may. */
export const rotateKeyPath = "/skiff/v1/secrets-encryption/rotate";

export interface AccessPathsOptions {
  readonly issuer: string;
  readonly keys: readonly VerifyingKey[];
  /** `https://10.0.0.1:6443`, where others fetch the key set. */
  readonly serverUrl: () => string;
  /** Gives how many secrets were encrypted anew. */
  readonly rotate: (call: Call) => Promise<number>;
}

export function accessPaths({ issuer, keys, serverUrl, rotate }: AccessPathsOptions): PathHandler {
  let rotating: Promise<number> | undefined;
  return ({ method, path, signal }) => {
    const asked = path.replace(/\/$/, "");
    if (method === "GET" && asked === discoveryPath) return jsonAnswer(openIdConfiguration(issuer, serverUrl(), keys));
    if (method === "GET" && asked === keySetPath)
      return jsonAnswer(jsonWebKeySet(keys), 200, "application/jwk-set+json");
    if (method !== "POST" || asked !== rotateKeyPath) return undefined;
    // Asked twice at once it is done once.
    rotating ??= rotate({ signal }).finally(() => {
      rotating = undefined;
    });
    return rotating.then((encrypted) => jsonAnswer({ encrypted }));
  };
}
