// Volume expansion: which claims ask for more than their volumes hold, and a word on those that somebody else has to enlarge.

import { isLocalPath } from "../../../plugins/kit/kube/objects/local-path.ts";
import { resources } from "../../../plugins/kit/kube/objects/resources.ts";
import type { PersistentVolume, PersistentVolumeClaim } from "../../../plugins/kit/kube/objects/types.ts";
import { compareQuantity, parseQuantity } from "../../../plugins/kit/kube/quantity.ts";
import type { ControllerFactory } from "../../manager/contract.ts";
import { keyOf, splitKey } from "../../manager/owners.ts";

/** The size that a bound claim asks for, when it does not have it. */
export function wantedSize(claim: PersistentVolumeClaim): string | undefined {
  const wanted = claim.spec?.resources?.requests?.storage;
  const held = claim.status?.capacity?.storage;
  if (claim.status?.phase !== "Bound" || wanted === undefined || held === undefined) return undefined;
  return isMore(wanted, held) ? String(wanted) : undefined;
}

export const isMore = (a: string | number, b: string | number): boolean =>
  compareQuantity(parseQuantity(a), parseQuantity(b)) > 0;

/** Says once for each size that the claim waits: drivers outside enlarge their volumes, others never will. */
export const expansionController: ControllerFactory = ({ informers, events }) => {
  const claims = informers.for<PersistentVolumeClaim>(resources.persistentvolumeclaims);
  const volumes = informers.for<PersistentVolume>(resources.persistentvolumes);
  const told = new Map<string, string>();
  return {
    name: "volume-expand",
    wakes: [
      {
        resource: resources.persistentvolumeclaims,
        keys: (claim: PersistentVolumeClaim) =>
          wantedSize(claim) !== undefined || told.has(keyOf(claim)) ? [keyOf(claim)] : [],
      },
    ],
    async reconcile(key) {
      const { namespace, name } = splitKey(key);
      const claim = claims.get(namespace, name);
      const wanted = claim && wantedSize(claim);
      const volume = volumes.get("", claim?.spec?.volumeName ?? "");
      if (!claim || !wanted || !volume || isLocalPath(volume)) {
        told.delete(key);
        return undefined;
      }
      if (told.get(key) === wanted) return undefined;
      told.set(key, wanted);
      const message = volume.spec?.csi
        ? "waiting for an external controller to expand this PVC"
        : "didn't find a plugin capable of expanding the volume; waiting for an external controller to process this PVC";
      events.event(
        { apiVersion: "v1", kind: "PersistentVolumeClaim", metadata: claim.metadata },
        "Normal",
        "ExternalExpanding",
        message,
      );
      return undefined;
    },
  };
};
