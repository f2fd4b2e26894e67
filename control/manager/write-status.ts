// Writing an object's status: only when it differs, and a race that somebody else won is no failure.

import type { Call } from "../../plugins/kit/base/call.ts";
import type { ApiClient } from "../../plugins/kit/kube/client/api-client.ts";
import { isFault } from "../../plugins/kit/base/fault.ts";
import { apiVersionOf, type ResourceRef } from "../../plugins/kit/kube/objects/resources.ts";
import type { ObjectMeta } from "../../plugins/kit/kube/objects/types.ts";
import { deepEqual } from "../machinery/equal.ts";

/** The answer is false when the object changed or went meanwhile; that change wakes the controller again. */
export async function writeStatus<S>(
  client: ApiClient,
  ref: ResourceRef,
  object: { readonly metadata: ObjectMeta; readonly status?: S },
  status: S,
  call: Call,
): Promise<boolean> {
  if (deepEqual(object.status ?? {}, status)) return true;
  const typed = { apiVersion: apiVersionOf(ref), kind: ref.kind, ...object, status };
  try {
    await client.update(ref, typed, call, { subresource: "status" });
    return true;
  } catch (error) {
    if (isFault(error, "not-found", "conflict")) return false;
    throw error;
  }
}
