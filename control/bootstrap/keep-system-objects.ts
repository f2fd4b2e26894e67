// Brings back what every cluster has when somebody deletes it: each deletion of a system object leads to one round of making what is
// missing. Changes that people made to what is still there are left alone, as at every start.

import type { Call } from "../../plugins/kit/base/call.ts";
import type { Clock } from "../../plugins/kit/base/clock.ts";
import type { Log } from "../../plugins/kit/base/log.ts";
import { type ResourceRef, resources } from "../../plugins/kit/kube/objects/resources.ts";
import type { KubeObject } from "../../plugins/kit/kube/objects/types.ts";
import type { Informers } from "../manager/contract.ts";
import { systemObjectNames } from "./system-objects.ts";

export interface KeepSystemObjectsOptions {
  readonly informers: Informers;
  /** Makes what is missing; called again after a while when it fails. */
  ensure(call: Call): Promise<void>;
  readonly clock: Clock;
  readonly log: Log;
}

/** Several deletions at once are one round. */
const settleMs = 500;
const retryMs = 2_000;

const watched: readonly ResourceRef[] = [
  resources.namespaces,
  resources.services,
  resources.endpoints,
  resources.endpointslices,
  resources.configmaps,
  resources.priorityclasses,
  resources.storageclasses,
  resources.clusterroles,
  resources.clusterrolebindings,
  resources.roles,
  resources.rolebindings,
];

export async function keepSystemObjects(options: KeepSystemObjectsOptions, call: Call): Promise<void> {
  const { informers, ensure, clock, log } = options;
  let isDue = false;
  let wake = () => {};
  const stops = watched.map((ref) =>
    informers.for<KubeObject>(ref).onEvent(({ type, object }) => {
      if (type !== "delete" || !isSystemObject(ref, object)) return;
      isDue = true;
      wake();
    }),
  );
  try {
    while (!call.signal.aborted) {
      if (!isDue)
        await new Promise<void>((resolve) => {
          wake = resolve;
          call.signal.addEventListener("abort", () => resolve(), { once: true });
        });
      await clock.sleep(settleMs, call).catch(() => {});
      if (call.signal.aborted) return;
      isDue = false;
      try {
        await ensure(call);
        log.info({}, "restored system objects that were deleted");
      } catch (error) {
        if (call.signal.aborted) return;
        isDue = true;
        log.warn({ err: error, retryInMs: retryMs }, "failed to restore deleted system objects");
        await clock.sleep(retryMs, call).catch(() => {});
      }
    }
  } finally {
    for (const stop of stops) stop();
  }
}

/** RBAC's defaults carry a label; the others are known by name. */
function isSystemObject({ plural }: ResourceRef, { metadata }: KubeObject): boolean {
  const { namespace = "", name = "", labels } = metadata;
  if (labels?.["kubernetes.io/bootstrapping"] === "rbac-defaults") return true;
  if (plural === "endpointslices") return namespace === "default" && name.startsWith("kubernetes");
  return systemObjectNames.has(`${plural}/${namespace === "" ? "" : `${namespace}/`}${name}`);
}
