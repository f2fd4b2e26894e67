// The namespace of a new object. Admission lets nothing be made in one that is going, but it looks before the object is stored, and by
// what this server knows: until the write the namespace may have gone, emptied, and nobody would ever delete what comes after.

import { namespaceEnding, namespaceMissing } from "../../plugins/kit/contracts/namespace-refusals.ts";
import type { KubeObject, Namespace } from "../../plugins/kit/kube/objects/types.ts";
import type { Entry } from "../storage/entry.ts";
import type { Scope } from "./scope.ts";

const namespaces = { group: "", plural: "namespaces" };

/** What this server knows of the namespace now. */
export function homeOf({ services, definition, namespace }: Scope): Entry | undefined {
  return definition.namespaced ? services.cache.cache(namespaces).get(namespace) : undefined;
}

/** The namespace as it must still be when the object is stored. Refuses where it was good `before` admission and no longer is. */
export function requireHome(scope: Scope, object: KubeObject, before: Entry | undefined): Entry | undefined {
  const home = homeOf(scope);
  if (home === before || !before || isEnding(before)) return home;
  if (!home) throw namespaceMissing(scope.namespace);
  const { group, plural } = scope.definition;
  if (isEnding(home)) throw namespaceEnding({ group, resource: plural, name: "", object }, scope.namespace);
  return home;
}

function isEnding({ object }: Entry): boolean {
  const { metadata, status } = object as unknown as Namespace;
  return metadata.deletionTimestamp !== undefined || status?.phase === "Terminating";
}
