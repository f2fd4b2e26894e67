// A bound claim may grow only when its storage class allows expansion.

import { refuse } from "../kit/contracts/admission.ts";
import type { KubeObject, PersistentVolumeClaim } from "../kit/kube/objects/types.ts";
import { compareQuantity, parseQuantity } from "../kit/kube/quantity.ts";
import { isWriteOf, step } from "./step.ts";

interface StorageClass extends KubeObject {
  allowVolumeExpansion?: boolean;
}

const sizeOf = (claim: PersistentVolumeClaim) => parseQuantity(claim.spec?.resources?.requests?.storage ?? "0");

export const persistentVolumeClaimResize = step("PersistentVolumeClaimResize", ({ view }) => ({
  handles: (request) => isWriteOf(request, "", "persistentvolumeclaims", "UPDATE"),
  validate(request) {
    const next = request.object as unknown as PersistentVolumeClaim;
    const previous = request.oldObject as unknown as PersistentVolumeClaim;
    if (previous.status?.phase !== "Bound" || compareQuantity(sizeOf(next), sizeOf(previous)) <= 0) return;
    const name = next.spec?.storageClassName ?? "";
    const found = view.informer<StorageClass>({ group: "storage.k8s.io", plural: "storageclasses" }).get("", name);
    if (found?.allowVolumeExpansion) return;
    throw refuse(
      request,
      "only dynamically provisioned pvc can be resized and the storageclass that provisions the pvc must support resize",
    );
  },
}));
