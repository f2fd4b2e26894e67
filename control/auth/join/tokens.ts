// Makes, lists and takes back join tokens: bootstrap token secrets in kube-system that only let a node ask for its certificate.

import { randomInt } from "node:crypto";
import type { Call } from "../../../plugins/kit/base/call.ts";
import type { ApiClient } from "../../../plugins/kit/kube/client/api-client.ts";
import type { Clock } from "../../../plugins/kit/base/clock.ts";
import { formatJoinToken } from "../../../plugins/kit/kube/join-token.ts";
import { resources } from "../../../plugins/kit/kube/objects/resources.ts";
import type { Secret } from "../../../plugins/kit/kube/objects/types.ts";
import { bootstrapTokenType } from "../tokens/bootstrap.ts";
import { nodeAnnotation, singleUseAnnotation } from "./token-use.ts";

const joinGroup = "system:bootstrappers:skiff:default-node-token";

export interface JoinTokenFacts {
  readonly id: string;
  readonly description: string;
  /** Wall time in milliseconds; absent when it never ends. */
  readonly expiresAt?: number;
  /** The node that it was used for. */
  readonly usedBy?: string;
}

const namespace = "kube-system";
const alphabet = "0123456789abcdefghijklmnopqrstuvwxyz";
const randomText = (length: number) => Array.from({ length }, () => alphabet[randomInt(alphabet.length)]).join("");
const secretName = (id: string) => `bootstrap-token-${id}`;

/** The whole token, which is shown once; the server keeps it as a secret that expires. */
export async function createJoinToken(
  wish: { ttlSeconds?: number; description?: string },
  { client, caHash, clock }: { client: ApiClient; caHash: string; clock: Clock },
  call: Call,
): Promise<string> {
  const token = { caHash, id: randomText(6), secret: randomText(16) };
  const expiration = wish.ttlSeconds
    ? new Date(clock.now() + wish.ttlSeconds * 1000).toISOString().replace(/\.\d+Z$/, "Z")
    : undefined;
  const fields: Record<string, string> = {
    "token-id": token.id,
    "token-secret": token.secret,
    "usage-bootstrap-authentication": "true",
    "usage-bootstrap-signing": "true",
    "auth-extra-groups": joinGroup,
    ...(expiration ? { expiration } : {}),
    ...(wish.description ? { description: wish.description } : {}),
  };
  const data = Object.fromEntries(
    Object.entries(fields).map(([key, value]) => [key, Buffer.from(value).toString("base64")]),
  );
  const secret = {
    apiVersion: "v1",
    kind: "Secret",
    metadata: { name: secretName(token.id), namespace, annotations: { [singleUseAnnotation]: "true" } },
    type: bootstrapTokenType,
    data,
  };
  await client.create(resources.secrets, secret, call, { namespace });
  return formatJoinToken(token);
}

export async function listJoinTokens(client: ApiClient, call: Call): Promise<JoinTokenFacts[]> {
  const { items } = await client.list<Secret>(
    resources.secrets,
    { namespace, fieldSelector: `type=${bootstrapTokenType}` },
    call,
  );
  return items.map(({ data, metadata }) => {
    const field = (name: string) => Buffer.from(data?.[name] ?? "", "base64").toString("utf8");
    const expiresAt = Date.parse(field("expiration"));
    const usedBy = metadata.annotations?.[nodeAnnotation];
    return {
      id: field("token-id"),
      description: field("description"),
      ...(Number.isNaN(expiresAt) ? {} : { expiresAt }),
      ...(usedBy ? { usedBy } : {}),
    };
  });
}

/** Taking back what is not there is a Fault `not-found`. */
export async function deleteJoinToken(id: string, client: ApiClient, call: Call): Promise<void> {
  await client.delete(resources.secrets, { namespace, name: secretName(id) }, call);
}
