// Which other groups and versions serve the objects of a resource, for admission rules that were written for one of those.

import type { EquivalentResource } from "../../plugins/kit/contracts/admission.ts";
import type { Call } from "../../plugins/kit/base/call.ts";
import type { KubeObject } from "../../plugins/kit/kube/objects/types.ts";
import { groupVersion, type ResourceDefinition, storageOf } from "../resources/definition.ts";
import { storageId } from "../storage/keys.ts";
import type { Registry } from "./registry.ts";

const known = new WeakMap<Registry, { generation: number; byDefinition: Map<ResourceDefinition, Siblings> }>();

interface Siblings {
  readonly own: readonly EquivalentResource[];
  /** The same for objects of a kind of their own (scale, eviction), which are alike in all versions. */
  readonly unconverted: readonly EquivalentResource[];
}

/** Those beside the definition itself; `isOwnKind` where the object is of the resource's own kind. */
export function equivalentsOf(
  registry: Registry,
  definition: ResourceDefinition,
  isOwnKind: boolean,
): readonly EquivalentResource[] {
  let kept = known.get(registry);
  if (kept?.generation !== registry.generation) {
    kept = { generation: registry.generation, byDefinition: new Map() };
    known.set(registry, kept);
  }
  let siblings = kept.byDefinition.get(definition);
  if (!siblings) {
    siblings = siblingsOf(registry, definition);
    kept.byDefinition.set(definition, siblings);
  }
  return isOwnKind ? siblings.own : siblings.unconverted;
}

function siblingsOf(registry: Registry, definition: ResourceDefinition): Siblings {
  const id = storageId(storageOf(definition));
  const others = registry
    .groups()
    .flatMap((group) => registry.versions(group).flatMap((version) => registry.resources(group, version)))
    .filter((other) => other !== definition && storageId(storageOf(other)) === id);
  const place = ({ group, version, plural, kind }: ResourceDefinition) => ({ group, version, resource: plural, kind });
  return {
    own: others.map((other) => ({
      ...place(other),
      to: (object, call) => converted(object, definition, other, call),
      from: (object, call) => converted(object, other, definition, call),
    })),
    unconverted: others.map((other) => ({ ...place(other), to: copied, from: copied })),
  };
}

const copied = async (object: KubeObject): Promise<KubeObject> => structuredClone(object);

async function converted(
  object: KubeObject,
  from: ResourceDefinition,
  to: ResourceDefinition,
  call: Call,
): Promise<KubeObject> {
  const copy = structuredClone(object);
  if (from.conversion) return from.conversion.inVersion(copy, to.version, call);
  const stored = from.toStored?.(copy) ?? copy;
  return to.fromStored?.(stored) ?? { ...stored, apiVersion: groupVersion(to) };
}
