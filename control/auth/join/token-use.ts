// A join token is good for the certificate of one node. What it was used for stands in its secret: the node's name and the hash of
// its key. The same key may ask again, because an answer can be lost on its way.

import { createHash } from "node:crypto";
import type { Call } from "../../../plugins/kit/base/call.ts";
import type { ApiClient } from "../../../plugins/kit/kube/client/api-client.ts";
import { isFault } from "../../../plugins/kit/base/fault.ts";
import { resources } from "../../../plugins/kit/kube/objects/resources.ts";
import type { Secret } from "../../../plugins/kit/kube/objects/types.ts";
import { bootstrapTokenType } from "../tokens/bootstrap.ts";

/** Set by `skiff token create`. Tokens without it, made by other tools, are good until they expire. */
export const singleUseAnnotation = "skiff.dev/single-use";
export const nodeAnnotation = "skiff.dev/used-by-node";
const keyAnnotation = "skiff.dev/used-by-key";

export interface TokenUse {
  readonly tokenId: string;
  readonly nodeName: string;
  /** PEM. */
  readonly publicKey: string;
}

/**
 * Uses the token up for this node and key. Undefined when it is theirs; else why not. A Fault `conflict` means that the secret was
 * written meanwhile: ask again.
 */
export async function useToken(use: TokenUse, client: ApiClient, call: Call): Promise<string | undefined> {
  const at = { namespace: "kube-system", name: `bootstrap-token-${use.tokenId}` };
  let secret: Secret;
  try {
    secret = await client.get<Secret>(resources.secrets, at, call);
  } catch (error) {
    if (isFault(error, "not-found")) return `join token "${use.tokenId}" has expired or was deleted`;
    throw error;
  }
  const annotations = secret.metadata.annotations ?? {};
  if (secret.type !== bootstrapTokenType || annotations[singleUseAnnotation] !== "true") return undefined;
  const key = createHash("sha256").update(use.publicKey).digest("hex");
  const usedBy = annotations[nodeAnnotation];
  if (usedBy === use.nodeName && annotations[keyAnnotation] === key) return undefined;
  if (usedBy !== undefined)
    return `join token "${use.tokenId}" was used for node ${JSON.stringify(usedBy)}; make another with: skiff token create`;
  const used = { ...annotations, [nodeAnnotation]: use.nodeName, [keyAnnotation]: key };
  await client.update(resources.secrets, { ...secret, metadata: { ...secret.metadata, annotations: used } }, call);
  return undefined;
}
