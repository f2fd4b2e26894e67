// Detached signatures of the cluster's public kubeconfig, one for each bootstrap token that may sign: who holds a token can tell
// that what an unknown server says is true. Pure.

import { createHmac } from "node:crypto";
import type { Secret } from "../../../plugins/kit/kube/objects/types.ts";
import { bootstrapTokenType } from "../../auth/tokens/bootstrap.ts";

const signaturePrefix = "jws-kubeconfig-";

const text = (secret: Secret, field: string) => Buffer.from(secret.data?.[field] ?? "", "base64").toString("utf8");
const base64url = (content: string) => Buffer.from(content).toString("base64url");

export function signingToken(secret: Secret, now: number): { id: string; secret: string } | undefined {
  const id = text(secret, "token-id");
  const key = text(secret, "token-secret");
  const expiry = text(secret, "expiration");
  if (secret.type !== bootstrapTokenType || secret.metadata.deletionTimestamp || !id || !key) return undefined;
  if (secret.metadata.name !== `bootstrap-token-${id}` || text(secret, "usage-bootstrap-signing") !== "true")
    return undefined;
  if (expiry && !(Date.parse(expiry) > now)) return undefined;
  return { id, secret: key };
}

/** A JWS whose content is left out: `header..signature`. */
function detachedSignature(content: string, { id, secret }: { id: string; secret: string }): string {
  const header = base64url(JSON.stringify({ alg: "HS256", kid: id }));
  const signature = createHmac("sha256", secret)
    .update(`${header}.${base64url(content)}`)
    .digest("base64url");
  return `${header}..${signature}`;
}

/** The map's data with exactly the signatures of the tokens there are. */
export function signedData(
  data: Readonly<Record<string, string>>,
  tokens: readonly { id: string; secret: string }[],
): Record<string, string> {
  const kept = Object.entries(data).filter(([name]) => !name.startsWith(signaturePrefix));
  const content = data.kubeconfig ?? "";
  const signatures = tokens.map(
    (token) => [`${signaturePrefix}${token.id}`, detachedSignature(content, token)] as const,
  );
  return Object.fromEntries([...kept, ...(content ? signatures : [])]);
}
