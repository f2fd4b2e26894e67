// The labels of a service's slices: those of the service, and the reserved ones that tell whose they are. Pure.

import type { Service } from "../../../plugins/kit/kube/objects/types.ts";
import type { EndpointSlice } from "./slices.ts";

const serviceNameLabel = "kubernetes.io/service-name";
const managedByLabel = "endpointslice.kubernetes.io/managed-by";
const headlessLabel = "service.kubernetes.io/headless";
const manager = "endpointslice-controller.k8s.io";

export function labelsFor({ metadata, spec }: Service): Record<string, string> {
  const { [headlessLabel]: _headless, ...labels } = metadata.labels ?? {};
  return {
    ...labels,
    [serviceNameLabel]: metadata.name ?? "",
    [managedByLabel]: manager,
    ...(spec?.clusterIP === "None" || !spec?.clusterIP ? { [headlessLabel]: "" } : {}),
  };
}

export function isManagedSlice({ metadata }: EndpointSlice): boolean {
  return metadata.labels?.[managedByLabel] === manager;
}

/** The key of the service that the slice is for. */
export function serviceKeyOf({ metadata }: EndpointSlice): string {
  return `${metadata.namespace}/${metadata.labels?.[serviceNameLabel]}`;
}
