// The volume binder: finds a volume for each claim, keeps the phases of both true, and says what becomes of a volume whose
// claim is gone.

import type { Call } from "../../../plugins/kit/base/call.ts";
import { resources } from "../../../plugins/kit/kube/objects/resources.ts";
import type { PersistentVolume, PersistentVolumeClaim, Pod } from "../../../plugins/kit/kube/objects/types.ts";
import {
  volumeAnnotations as annotations,
  bestVolume,
  classOf,
  isReservedFor,
  isWaiting,
  mismatch,
  noProvisioner,
  type StorageClass,
} from "../../../plugins/kit/kube/objects/volume-claims.ts";
import type { ControllerContext, ControllerFactory } from "../../manager/contract.ts";
import { keyOf, splitKey } from "../../manager/owners.ts";
import { annotated, bind, typed, writePhase } from "./bind.ts";
import { isRecyclable, recycle, recycledBy } from "./recycle.ts";

const claimKey = (key: string) => `claim:${key}`;
const volumeKey = (name: string) => `volume:${name}`;

export const persistentVolumeBinder: ControllerFactory = (context) => {
  const { informers } = context;
  const claims = informers.for<PersistentVolumeClaim>(resources.persistentvolumeclaims);
  const binder = new Binder(context);
  const unbound = () =>
    claims
      .list()
      .filter((claim) => claim.status?.phase !== "Bound")
      .map((claim) => claimKey(keyOf(claim)));
  return {
    name: "persistent-volume-binder",
    wakes: [
      {
        resource: resources.persistentvolumeclaims,
        keys: (claim: PersistentVolumeClaim) => [
          claimKey(keyOf(claim)),
          ...(claim.spec?.volumeName ? [volumeKey(claim.spec.volumeName)] : []),
          // A volume may be kept for a claim that never got as far as naming it.
          ...binder.reservedFor(claim).map((volume) => volumeKey(volume.metadata.name ?? "")),
        ],
      },
      {
        resource: resources.persistentvolumes,
        keys: (volume: PersistentVolume) => {
          const claim = volume.spec?.claimRef;
          const own = volumeKey(volume.metadata.name ?? "");
          return claim ? [own, claimKey(`${claim.namespace}/${claim.name}`)] : [own, ...unbound()];
        },
      },
      { resource: resources.storageclasses, keys: () => unbound() },
      {
        resource: resources.pods,
        keys: (pod: Pod) => {
          const volume = recycledBy(pod);
          return volume === undefined ? [] : [volumeKey(volume)];
        },
      },
    ],
    async reconcile(key, call) {
      const rest = key.slice(key.indexOf(":") + 1);
      if (key.startsWith("volume:")) await binder.syncVolume(rest, call);
      else await binder.syncClaim(splitKey(rest), call);
      return undefined;
    },
  };
};

class Binder {
  readonly #context: ControllerContext;
  readonly #claims;
  readonly #volumes;
  readonly #classes;

  constructor(context: ControllerContext) {
    this.#context = context;
    this.#claims = context.informers.for<PersistentVolumeClaim>(resources.persistentvolumeclaims);
    this.#volumes = context.informers.for<PersistentVolume>(resources.persistentvolumes);
    this.#classes = context.informers.for<StorageClass>(resources.storageclasses);
  }

  reservedFor(claim: PersistentVolumeClaim): PersistentVolume[] {
    return this.#volumes.list().filter((volume) => isReservedFor(volume, claim));
  }

  async syncClaim({ namespace, name }: { namespace: string; name: string }, call: Call): Promise<void> {
    const claim = this.#claims.get(namespace, name);
    if (!claim || claim.metadata.deletionTimestamp) return;
    if (!claim.spec?.volumeName) return this.#findVolume(claim, call);
    const volume = this.#volumes.get("", claim.spec.volumeName);
    const wasBound = claim.metadata.annotations?.[annotations.bindCompleted] !== undefined;
    if (volume && (isReservedFor(volume, claim) || !volume.spec?.claimRef)) {
      const reason = wasBound ? undefined : mismatch(volume, claim);
      if (!reason) return bind(this.#context.client, volume, claim, call);
      this.#warn(claim, "VolumeMismatch", `Cannot bind to requested volume "${claim.spec.volumeName}": ${reason}`);
    } else if (wasBound) {
      const message = volume
        ? "Bound claim has lost reference to PersistentVolume. Data on the volume is lost! Two claims are bound to the same volume, this one is bound incorrectly"
        : "Bound claim has lost its PersistentVolume. Data on the volume is lost!";
      if (claim.status?.phase !== "Lost") this.#warn(claim, volume ? "ClaimMisbound" : "ClaimLost", message);
      await this.#claimPhase(claim, "Lost", call);
      return;
    } else if (volume) {
      this.#warn(claim, "FailedBinding", `volume "${claim.spec.volumeName}" already bound to a different claim.`);
    }
    await this.#claimPhase(claim, "Pending", call);
  }

  async #findVolume(claim: PersistentVolumeClaim, call: Call): Promise<void> {
    const { client, events } = this.#context;
    const [kept] = this.reservedFor(claim);
    if (kept && !mismatch(kept, claim)) return bind(client, kept, claim, call);
    const storageClass = this.#classes.get("", classOf(claim));
    const isUndecided = isWaiting(storageClass) && !claim.metadata.annotations?.[annotations.selectedNode];
    await this.#claimPhase(claim, "Pending", call);
    if (isUndecided) {
      const message = "waiting for first consumer to be created before binding";
      return events.event(claim, "Normal", "WaitForFirstConsumer", message);
    }
    // Where the scheduler chose a node it has also reserved the volume, unless one is to be made.
    const volume = isWaiting(storageClass) ? undefined : bestVolume(claim, this.#volumes.list());
    if (volume) return bind(client, volume, claim, call);
    if (!storageClass || storageClass.provisioner === noProvisioner) {
      const missing = classOf(claim)
        ? `storageclass.storage.k8s.io "${classOf(claim)}" not found`
        : "no persistent volumes available for this claim and no storage class is set";
      const reason = storageClass || !classOf(claim) ? "FailedBinding" : "ProvisioningFailed";
      const message = storageClass ? "no persistent volumes available for this claim" : missing;
      return events.event(claim, storageClass || !classOf(claim) ? "Normal" : "Warning", reason, message);
    }
    await this.#askProvisioner(claim, storageClass.provisioner, call);
  }

  async #askProvisioner(claim: PersistentVolumeClaim, provisioner: string, call: Call): Promise<void> {
    if (claim.metadata.annotations?.[annotations.storageProvisioner] === provisioner) return;
    const metadata = annotated(claim.metadata, {
      [annotations.oldStorageProvisioner]: provisioner,
      [annotations.storageProvisioner]: provisioner,
    });
    const ref = resources.persistentvolumeclaims;
    await this.#context.client.update(ref, typed(ref, { ...claim, metadata }), call);
    const message = `Waiting for a volume to be created either by the external provisioner '${provisioner}' or manually by the system administrator. If volume creation is delayed, please verify that the provisioner is running and correctly registered.`;
    this.#context.events.event(claim, "Normal", "ExternalProvisioning", message);
  }

  async syncVolume(name: string, call: Call): Promise<void> {
    const volume = this.#volumes.get("", name);
    if (!volume) return;
    const reference = volume.spec?.claimRef;
    if (!reference?.uid) return this.#volumePhase(volume, "Available", call);
    const found = this.#claims.get(reference.namespace ?? "", reference.name ?? "");
    const claim = found?.metadata.uid === reference.uid ? found : undefined;
    if (!claim) return this.#release(volume, call);
    if (claim.spec?.volumeName === name) return this.#volumePhase(volume, "Bound", call);
    if (!claim.spec?.volumeName) return;
    // The claim has another volume: this one is free again, or goes when it was made for the claim alone.
    if (volume.metadata.annotations?.[annotations.provisionedBy]) return this.#release(volume, call);
    const { claimRef: _, ...spec } = volume.spec ?? {};
    const isOurs = volume.metadata.annotations?.[annotations.boundByController] !== undefined;
    const { uid: _uid, resourceVersion: _version, ...wish } = reference;
    const next = { ...volume, spec: isOurs ? spec : { ...spec, claimRef: wish } };
    const ref = resources.persistentvolumes;
    await this.#context.client.update(ref, typed(ref, next), call);
  }

  /** The claim is gone. Volumes that somebody provisioned are deleted by whoever made them, on seeing this phase. */
  async #release(volume: PersistentVolume, call: Call): Promise<void> {
    const policy = volume.spec?.persistentVolumeReclaimPolicy ?? "Retain";
    const isMade = volume.metadata.annotations?.[annotations.provisionedBy] !== undefined;
    if (policy === "Retain" || (policy === "Delete" && isMade)) return this.#volumePhase(volume, "Released", call);
    if (policy === "Recycle" && isRecyclable(volume)) return this.#recycle(volume, call);
    if (policy === "Recycle") return this.#fail(volume, "VolumeFailedRecycle", "no volume plugin can recycle it", call);
    await this.#fail(volume, "VolumeFailedDelete", "nobody provisioned it, so nobody can delete it", call);
  }

  async #recycle(volume: PersistentVolume, call: Call): Promise<void> {
    if (volume.status?.phase === "Failed") return;
    await this.#volumePhase(volume, "Released", call);
    const result = await recycle(this.#context, volume, call);
    if (result === undefined) return;
    if (result !== "done") return this.#fail(volume, "VolumeFailedRecycle", result.trouble, call);
    const { claimRef: _, ...spec } = volume.spec ?? {};
    const { [annotations.boundByController]: _bound, ...others } = volume.metadata.annotations ?? {};
    const ref = resources.persistentvolumes;
    const metadata = { ...volume.metadata, annotations: others };
    await this.#context.client.update(ref, typed(ref, { ...volume, metadata, spec }), call);
    this.#context.events.event(volume, "Normal", "VolumeRecycled", "Volume recycled");
  }

  async #fail(volume: PersistentVolume, reason: string, message: string, call: Call): Promise<void> {
    if (volume.status?.phase !== "Failed") this.#context.events.event(volume, "Warning", reason, message);
    const failed = { phase: "Failed", reason, message };
    await writePhase(this.#context.client, resources.persistentvolumes, volume, failed, call);
  }

  async #volumePhase(volume: PersistentVolume, phase: string, call: Call): Promise<void> {
    await writePhase(this.#context.client, resources.persistentvolumes, volume, { phase }, call);
  }

  async #claimPhase(claim: PersistentVolumeClaim, phase: string, call: Call): Promise<void> {
    await writePhase(this.#context.client, resources.persistentvolumeclaims, claim, { phase }, call);
  }

  #warn(claim: PersistentVolumeClaim, reason: string, message: string): void {
    this.#context.events.event(claim, "Warning", reason, message);
  }
}
