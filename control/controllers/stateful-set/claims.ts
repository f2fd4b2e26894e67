// The volume claims of a stateful set: made before the pod that uses them, and owned so that they go when the policy says.

import type { Call } from "../../../plugins/kit/base/call.ts";
import { isFault, toFault } from "../../../plugins/kit/base/fault.ts";
import type { Informer } from "../../../plugins/kit/kube/informer.ts";
import { resources } from "../../../plugins/kit/kube/objects/resources.ts";
import type { OwnerReference, PersistentVolumeClaim, Pod } from "../../../plugins/kit/kube/objects/types.ts";
import type { ControllerContext } from "../../manager/contract.ts";
import { controllerReference } from "../../manager/owners.ts";
import { deepEqual } from "../../machinery/equal.ts";
import {
  claimName,
  claimOf,
  firstOrdinal,
  ordinalOf,
  podName,
  replicasOf,
  type StatefulSet,
  statefulSetType,
} from "./objects.ts";

const podType = { apiVersion: "v1", kind: "Pod" };

export class Claims {
  readonly #context: ControllerContext;
  readonly #claims: Informer<PersistentVolumeClaim>;

  constructor(context: ControllerContext) {
    this.#context = context;
    this.#claims = context.informers.for<PersistentVolumeClaim>(resources.persistentvolumeclaims);
  }

  async ensure(set: StatefulSet, ordinal: number, call: Call): Promise<void> {
    const { client, events } = this.#context;
    const { namespace = "", name } = set.metadata;
    for (const template of set.spec.volumeClaimTemplates ?? []) {
      const claim = claimName(set, template, ordinal);
      if (this.#claims.get(namespace, claim)) continue;
      const what = `create Claim ${claim} Pod ${podName(set, ordinal)} in StatefulSet ${name}`;
      try {
        await client.create(resources.persistentvolumeclaims, claimOf(set, template, ordinal), call, { namespace });
        events.event({ ...statefulSetType, ...set }, "Normal", "SuccessfulCreate", `${what} success`);
      } catch (error) {
        if (isFault(error, "already-exists")) continue;
        const { message } = toFault(error, "create claim");
        events.event({ ...statefulSetType, ...set }, "Warning", "FailedCreate", `${what} failed error: ${message}`);
        throw error;
      }
    }
  }

  /** Claims of pods that stay belong to nobody or to the set; those of pods beyond the size may go with their pod. */
  async own(set: StatefulSet, pods: readonly Pod[], call: Call): Promise<void> {
    const policy = set.spec.persistentVolumeClaimRetentionPolicy;
    if (!policy || !set.spec.volumeClaimTemplates?.length) return;
    const end = firstOrdinal(set) + replicasOf(set);
    for (const pod of pods) {
      const ordinal = ordinalOf(set, pod);
      if (ordinal === undefined) continue;
      const isBeyond = ordinal < firstOrdinal(set) || ordinal >= end;
      const bySet = policy.whenDeleted === "Delete" && !(isBeyond && policy.whenScaled === "Delete");
      const byPod = isBeyond && policy.whenScaled === "Delete";
      for (const template of set.spec.volumeClaimTemplates) {
        const claim = this.#claims.get(set.metadata.namespace ?? "", claimName(set, template, ordinal));
        if (claim) await this.#setOwners(claim, set, pod, { bySet, byPod }, call);
      }
    }
  }

  async #setOwners(
    claim: PersistentVolumeClaim,
    set: StatefulSet,
    pod: Pod,
    wish: { bySet: boolean; byPod: boolean },
    call: Call,
  ): Promise<void> {
    const known = claim.metadata.ownerReferences ?? [];
    const owners = [controllerReference(set, statefulSetType), controllerReference(pod, podType)] as const;
    const ofName = (reference: OwnerReference) =>
      owners.find(({ kind, name }) => kind === reference.kind && name === reference.name);
    // What is held by a set or pod of the same name that is no more goes with it: that is for the garbage collector.
    if (known.some((reference) => (ofName(reference)?.uid ?? reference.uid) !== reference.uid)) return;
    const isForeign = known.some((reference) => reference.controller && !ofName(reference));
    const [bySet, byPod] = owners;
    const wanted = [
      ...known.filter((reference) => !ofName(reference)),
      // Beside another controller nobody else decides about the claim.
      ...(wish.bySet && !isForeign ? [bySet] : []),
      ...(wish.byPod && !isForeign ? [byPod] : []),
    ];
    if (deepEqual(known, wanted)) return;
    const metadata = { ...claim.metadata, ownerReferences: wanted };
    try {
      await this.#context.client.update(resources.persistentvolumeclaims, { ...claim, metadata }, call);
    } catch (error) {
      if (!isFault(error, "not-found")) throw error;
    }
  }
}
