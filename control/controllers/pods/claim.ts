// Which objects are a controller's own: those it controls and whose labels match. Orphans that match are adopted; its own that no
// longer match are released.

import type { Call } from "../../../plugins/kit/base/call.ts";
import type { ApiClient } from "../../../plugins/kit/kube/client/api-client.ts";
import { isFault } from "../../../plugins/kit/base/fault.ts";
import type { LabelSelectorMatcher } from "../../../plugins/kit/kube/selector.ts";
import type { ResourceRef } from "../../../plugins/kit/kube/objects/resources.ts";
import type { KubeObject } from "../../../plugins/kit/kube/objects/types.ts";
import { controllerOf, controllerReference } from "../../manager/owners.ts";

type Claimed = Pick<KubeObject, "metadata">;

export interface ClaimOptions {
  readonly client: ApiClient;
  /** The resource of what is claimed. */
  readonly resource: ResourceRef;
  readonly owner: Claimed;
  readonly ownerType: { apiVersion: string; kind: string };
  readonly selector: LabelSelectorMatcher;
  /** Held on every object of the controller: added when it is adopted, removed when it is released. */
  readonly finalizer?: string;
  /** Asked once before the first adoption, straight from the API server: is the owner still there and not being deleted? */
  readonly mayAdopt?: (call: Call) => Promise<boolean>;
}

export async function claim<T extends Claimed>(
  candidates: readonly T[],
  options: ClaimOptions,
  call: Call,
): Promise<T[]> {
  const { owner, selector } = options;
  const mine: T[] = [];
  let mayAdopt: Promise<boolean> | undefined;
  for (const object of candidates) {
    const controller = controllerOf(object);
    const matches = selector.matches(object.metadata.labels);
    if (controller) {
      if (controller.uid !== owner.metadata.uid) continue;
      if (matches) mine.push(object);
      else if (!owner.metadata.deletionTimestamp) await release(object, options, call);
    } else if (matches && !owner.metadata.deletionTimestamp && !object.metadata.deletionTimestamp) {
      mayAdopt ??= options.mayAdopt?.(call) ?? Promise.resolve(true);
      if ((await mayAdopt) && (await adopt(object, options, call))) mine.push(object);
    }
  }
  return mine;
}

/** The answer is false when somebody else was quicker. */
async function adopt(object: Claimed, options: ClaimOptions, call: Call): Promise<boolean> {
  const { owner, ownerType, finalizer } = options;
  const ownerReferences = [controllerReference(owner, ownerType)];
  const { uid } = object.metadata;
  return patch(object, { uid, ownerReferences, ...(finalizer ? { finalizers: [finalizer] } : {}) }, options, call);
}

async function release(object: Claimed, options: ClaimOptions, call: Call): Promise<void> {
  const { owner, finalizer } = options;
  const ownerReferences = [{ $patch: "delete", uid: owner.metadata.uid }];
  const removed = finalizer ? { "$deleteFromPrimitiveList/finalizers": [finalizer] } : {};
  await patch(object, { uid: object.metadata.uid, ownerReferences, ...removed }, options, call);
}

async function patch(
  object: Claimed,
  metadata: object,
  { client, resource }: ClaimOptions,
  call: Call,
): Promise<boolean> {
  const { namespace = "", name = "" } = object.metadata;
  try {
    await client.patch(resource, { namespace, name }, { type: "strategic", body: { metadata } }, call);
    return true;
  } catch (error) {
    // Gone, or another object of that name: there is nothing to claim. A conflict or a refusal by uid likewise.
    if (isFault(error, "not-found", "invalid", "conflict")) return false;
    throw error;
  }
}
