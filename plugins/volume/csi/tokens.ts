// Service account tokens for drivers that act in a pod's name (`tokenRequests`), in the one attribute that drivers look for.

import type { Call } from "../../kit/base/call.ts";
import type { Pod } from "../../kit/kube/objects/types.ts";
import type { PodObjects } from "../../kit/contracts/pod-objects.ts";

const attribute = "csi.storage.k8s.io/serviceAccount.tokens";
const defaultSeconds = 3600;

export async function serviceAccountTokens(
  objects: PodObjects,
  pod: Pod,
  wishes: readonly { audience?: string; expirationSeconds?: number }[],
  call: Call,
): Promise<Record<string, string>> {
  if (wishes.length === 0) return {};
  const byAudience: Record<string, { token: string; expirationTimestamp: string }> = {};
  for (const { audience = "", expirationSeconds = defaultSeconds } of wishes) {
    const audiences = audience === "" ? [] : [audience];
    const { token, expiresAt } = await objects.token({ pod, audiences, expirationSeconds }, call);
    byAudience[audience] = { token, expirationTimestamp: new Date(expiresAt).toISOString() };
  }
  return { [attribute]: JSON.stringify(byAudience) };
}
