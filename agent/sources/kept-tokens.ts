// Tokens of pods' service accounts: asked of the API server, and as objects that a checkpoint can hold.

import type { Call } from "../../plugins/kit/base/call.ts";
import type { ApiClient } from "../../plugins/kit/kube/client/api-client.ts";
import { resources } from "../../plugins/kit/kube/objects/resources.ts";
import type { KubeObject } from "../../plugins/kit/kube/objects/types.ts";
import type { IssuedToken, TokenWish } from "../../plugins/kit/contracts/pod-objects.ts";

export const tokenKind = "TokenRequest";

interface Answer {
  readonly spec?: { readonly expirationSeconds?: number };
  readonly status: { readonly token: string; readonly expirationTimestamp: string };
}

export async function issueToken(
  client: ApiClient,
  { pod, audiences, expirationSeconds }: TokenWish,
  call: Call,
): Promise<IssuedToken> {
  const { namespace, name, uid } = pod.metadata;
  const account = pod.spec?.serviceAccountName || "default";
  const request = {
    apiVersion: "authentication.k8s.io/v1",
    kind: tokenKind,
    metadata: { namespace },
    spec: {
      audiences: [...audiences],
      expirationSeconds,
      boundObjectRef: { apiVersion: "v1", kind: "Pod", name, uid },
    },
  };
  const answer = await client.create<Answer>(resources.serviceaccounts, request, call, {
    namespace,
    name: account,
    subresource: "token",
  });
  const { token, expirationTimestamp } = answer.status;
  const expiresAt = Date.parse(expirationTimestamp);
  // As upstream: by the server's clock alone.
  return { token, issuedAt: expiresAt - (answer.spec?.expirationSeconds ?? expirationSeconds) * 1000, expiresAt };
}

/** One name for each token that a pod has; it begins with the pod's uid. */
export function tokenName({ pod, audiences, expirationSeconds }: TokenWish): string {
  return [pod.metadata.uid, expirationSeconds, ...audiences].join("/");
}

export function tokenObject(wish: TokenWish, issued: IssuedToken): KubeObject {
  const { namespace = "" } = wish.pod.metadata;
  const metadata = { namespace, name: tokenName(wish) };
  return { apiVersion: "authentication.k8s.io/v1", kind: tokenKind, metadata, status: { ...issued } };
}

export function isTokenOf(object: KubeObject, podUid: string): boolean {
  return object.kind === tokenKind && (object.metadata.name ?? "").startsWith(`${podUid}/`);
}

export function issuedIn(object: KubeObject | undefined): IssuedToken | undefined {
  return object?.["status"] as IssuedToken | undefined;
}
