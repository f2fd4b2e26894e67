// Every resource whose objects are kept: the built-in ones, and those that custom resource definitions add while we run.

import { type ResourceRef, resources } from "../../plugins/kit/kube/objects/resources.ts";
import type { Informers } from "../manager/contract.ts";

interface CustomResourceDefinition {
  readonly metadata: { readonly name?: string };
  readonly spec?: {
    readonly group: string;
    readonly scope: string;
    readonly names: { readonly plural: string; readonly kind: string };
    readonly versions: readonly { readonly name: string; readonly storage: boolean }[];
  };
}

const neverStored = new Set(["bindings", "componentstatuses"]);
const groupsNeverStored = new Set(["authentication.k8s.io", "authorization.k8s.io", "metrics.k8s.io"]);

/** One entry a resource, whatever versions it is served in. */
export const builtInResources: readonly ResourceRef[] = Object.entries(resources)
  .filter(([key, ref]) => key === ref.plural && !neverStored.has(ref.plural) && !groupsNeverStored.has(ref.group))
  .map(([, ref]) => ref);

/** Calls back for each custom resource that is there or appears; the same one may be told again. Returns what ends it. */
export function onCustomResource(informers: Informers, then: (ref: ResourceRef) => void): () => void {
  return informers.for<CustomResourceDefinition>(resources.customresourcedefinitions).onEvent(({ type, object }) => {
    const { spec } = object;
    const stored = spec?.versions.find((version) => version.storage);
    if (type === "delete" || !spec || !stored) return;
    const { plural, kind } = spec.names;
    then({ group: spec.group, version: stored.name, plural, kind, namespaced: spec.scope === "Namespaced" });
  });
}
