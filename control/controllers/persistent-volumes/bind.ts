// The four writes that bind a claim and a volume to each other. Each is skipped when it is done, so that a binding that was
// interrupted anywhere is completed by the next try.

import type { Call } from "../../../plugins/kit/base/call.ts";
import type { ApiClient } from "../../../plugins/kit/kube/client/api-client.ts";
import { apiVersionOf, type ResourceRef, resources } from "../../../plugins/kit/kube/objects/resources.ts";
import type { PersistentVolume, PersistentVolumeClaim } from "../../../plugins/kit/kube/objects/types.ts";
import { volumeAnnotations as annotations } from "../../../plugins/kit/kube/objects/volume-claims.ts";
import { deepEqual } from "../../machinery/equal.ts";

type Phased = PersistentVolume | PersistentVolumeClaim;

/** The object with its type, as the API wants it; those of the cache may lack that. */
export const typed = <T extends object>(ref: ResourceRef, object: T): T => ({
  apiVersion: apiVersionOf(ref),
  kind: ref.kind,
  ...object,
});

export async function writePhase<T extends Phased>(
  client: ApiClient,
  ref: ResourceRef,
  object: T,
  status: object,
  call: Call,
): Promise<T> {
  const next = { ...object.status, ...status };
  if (deepEqual(object.status ?? {}, next)) return object;
  return client.update<T>(ref, typed(ref, { ...object, status: next }), call, { subresource: "status" });
}

export async function bind(
  client: ApiClient,
  volume: PersistentVolume,
  claim: PersistentVolumeClaim,
  call: Call,
): Promise<void> {
  const reserved = await reserve(client, volume, claim, call);
  await writePhase(client, resources.persistentvolumes, reserved, { phase: "Bound" }, call);
  const named = await nameVolume(client, volume, claim, call);
  const status = {
    phase: "Bound",
    accessModes: volume.spec?.accessModes ?? [],
    capacity: named.status?.capacity ?? volume.spec?.capacity ?? {},
  };
  await writePhase(client, resources.persistentvolumeclaims, named, status, call);
}

/** Puts the claim's name and uid on the volume: from here on nobody else gets it. */
async function reserve(
  client: ApiClient,
  volume: PersistentVolume,
  claim: PersistentVolumeClaim,
  call: Call,
): Promise<PersistentVolume> {
  const before = volume.spec?.claimRef;
  if (before?.uid === claim.metadata.uid) return volume;
  const { namespace = "", name = "", uid = "", resourceVersion = "" } = claim.metadata;
  const claimRef = { apiVersion: "v1", kind: "PersistentVolumeClaim", namespace, name, uid, resourceVersion };
  const metadata = before ? volume.metadata : annotated(volume.metadata, { [annotations.boundByController]: "yes" });
  const next = { ...volume, metadata, spec: { ...volume.spec, claimRef } };
  return client.update(resources.persistentvolumes, typed(resources.persistentvolumes, next), call);
}

async function nameVolume(
  client: ApiClient,
  volume: PersistentVolume,
  claim: PersistentVolumeClaim,
  call: Call,
): Promise<PersistentVolumeClaim> {
  const volumeName = volume.metadata.name ?? "";
  const isNamed = claim.spec?.volumeName === volumeName;
  if (isNamed && claim.metadata.annotations?.[annotations.bindCompleted]) return claim;
  const metadata = annotated(claim.metadata, {
    [annotations.bindCompleted]: "yes",
    ...(isNamed ? {} : { [annotations.boundByController]: "yes" }),
  });
  const next = { ...claim, metadata, spec: { ...claim.spec, volumeName } };
  return client.update(resources.persistentvolumeclaims, typed(resources.persistentvolumeclaims, next), call);
}

export function annotated<M extends { annotations?: Record<string, string> }>(
  metadata: M,
  more: Record<string, string>,
): M {
  return { ...metadata, annotations: { ...metadata.annotations, ...more } };
}
