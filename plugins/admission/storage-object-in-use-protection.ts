// Claims and volumes carry a finalizer from the start, so that none in use goes away under its pod.

import { step } from "./step.ts";

const finalizers: Readonly<Record<string, string>> = {
  persistentvolumeclaims: "kubernetes.io/pvc-protection",
  persistentvolumes: "kubernetes.io/pv-protection",
};

export const storageObjectInUseProtection = step("StorageObjectInUseProtection", () => ({
  handles: (request) =>
    request.operation === "CREATE" &&
    request.group === "" &&
    request.subresource === "" &&
    finalizers[request.resource] !== undefined,
  mutate({ object, resource }) {
    const finalizer = finalizers[resource];
    if (!object || !finalizer || object.metadata.finalizers?.includes(finalizer)) return;
    object.metadata.finalizers = [...(object.metadata.finalizers ?? []), finalizer];
  },
}));
