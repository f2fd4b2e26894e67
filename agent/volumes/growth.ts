// Lets volumes grow that are in use, or about to be: when the volume behind a claim is larger than what the claim has, the plugin is asked
// to let it grow on this node, and the claim's status tells how that went, step by step as the outside resizer expects it.
//
// Invariant: one attempt at a time for each volume, whichever pods use it.

import type { Call } from "../../plugins/kit/base/call.ts";
import type { ApiClient } from "../../plugins/kit/kube/client/api-client.ts";
import type { Clock } from "../../plugins/kit/base/clock.ts";
import { Fault, isFault } from "../../plugins/kit/base/fault.ts";
import { KeyedLock } from "../../plugins/kit/base/keyed-lock.ts";
import { resources } from "../../plugins/kit/kube/objects/resources.ts";
import type { PersistentVolume, PersistentVolumeClaim } from "../../plugins/kit/kube/objects/types.ts";
import type { PodObjects } from "../../plugins/kit/contracts/pod-objects.ts";
import { parseQuantity, quantityValue } from "../../plugins/kit/kube/quantity.ts";
import type { VolumeMountRequest, VolumePlugin } from "../../plugins/kit/contracts/volume.ts";
import type { AgentPod } from "../model/agent-pod.ts";
import type { Recorder } from "../model/recorder.ts";
import { volumeFrom } from "./resolve.ts";
import { failed, finished, inProgress, infeasible, resizeStatusOf } from "./claim-resize.ts";

export interface GrowthOptions {
  readonly objects: PodObjects;
  /** Absent on a node that has no API server: then nothing grows. */
  readonly client: ApiClient | undefined;
  readonly recorder: Recorder;
  readonly clock: Clock;
}

/** A mounted volume behind a claim, whose plugin can let it grow. */
export interface GrowingVolume {
  readonly pod: AgentPod;
  readonly plugin: VolumePlugin;
  readonly request: VolumeMountRequest;
  readonly claimName: string;
  readonly volumeName: string;
}

interface Known {
  /** The size that the volume has on this node, as far as is known. */
  bytes: bigint;
  /** The driver does not let it grow while it is used: it is not asked again before the volume is mounted anew. */
  isRefused: boolean;
  hasFailed: boolean;
}

export class VolumeGrowth {
  readonly #options: GrowthOptions;
  readonly #knownByVolume = new Map<string, Known>();
  readonly #lock = new KeyedLock();

  constructor(options: GrowthOptions) {
    this.#options = options;
  }

  /** The volume has just been mounted: what it lacks is made up for before the pod sees it. Throws when that fails. */
  mounted(volume: GrowingVolume, call: Call): Promise<void> {
    return this.#lock.run(volume.volumeName, async () => {
      const { claim, persistentVolume } = await this.#objects(volume, call);
      const held = storageOf(claim.status?.capacity);
      const known = { bytes: held, isRefused: false, hasFailed: false };
      this.#knownByVolume.set(volume.volumeName, known);
      if (held >= storageOf(persistentVolume.spec?.capacity)) return;
      if (volume.request.readOnly) {
        const message = `MountVolume.NodeExpandVolume failed for volume "${volume.volumeName}" requested read-only file system`;
        this.#tell(volume, claim, "Warning", "FileSystemResizeFailed", message);
        return;
      }
      try {
        const problem = await this.#expand({ volume, claim, persistentVolume, known }, call);
        if (problem) throw new Fault("internal", problem);
      } catch (error) {
        // Without an API server the pod starts all the same; the size is looked at again beside it.
        if (!isFault(error, "unavailable", "timeout")) throw error;
      }
    });
  }

  /** Looks whether a volume in use has become larger behind; a failure is told as an event and tried again with the next look. */
  look(volume: GrowingVolume, call: Call): Promise<void> {
    if (volume.request.readOnly) return Promise.resolve();
    return this.#lock.run(volume.volumeName, async () => {
      const { claim, persistentVolume } = await this.#objects(volume, call);
      const first = { bytes: storageOf(claim.status?.capacity), isRefused: false, hasFailed: false };
      const known = this.#knownByVolume.get(volume.volumeName) ?? first;
      this.#knownByVolume.set(volume.volumeName, known);
      if (known.isRefused || known.bytes === 0n || storageOf(persistentVolume.spec?.capacity) <= known.bytes) return;
      const problem = await this.#expand({ volume, claim, persistentVolume, known }, call);
      if (!problem) return;
      const message = `NodeExpandVolume.NodeExpandVolume failed for volume "${volume.volumeName}" : ${problem}`;
      this.#options.recorder.event(volume.pod, "Warning", "VolumeResizeFailed", message);
    });
  }

  /** Volumes that no pod uses any more are forgotten. */
  retain(volumeNames: ReadonlySet<string>): void {
    for (const name of this.#knownByVolume.keys()) if (!volumeNames.has(name)) this.#knownByVolume.delete(name);
  }

  async #objects({ pod, claimName, volumeName }: GrowingVolume, call: Call) {
    const { objects } = this.#options;
    const claim = await objects.persistentVolumeClaim(pod.metadata.namespace, claimName, call);
    return { claim, persistentVolume: await objects.persistentVolume(volumeName, call) };
  }

  /** Takes one step and says what the plugin could not do. Throws when the API server cannot be told of it. Whoever resizes outside says in the claim whether this node is meant; resizers that say nothing mean every node. */
  async #expand(growing: Growing, call: Call): Promise<string | undefined> {
    const { volume, known } = growing;
    const { allocatedResources } = growing.claim.status ?? {};
    const status = resizeStatusOf(growing.claim);
    const isTold = status !== undefined || allocatedResources !== undefined;
    const size = isTold ? allocatedResources?.storage : growing.persistentVolume.spec?.capacity?.storage;
    const bytes = storageOf({ storage: size });
    const isClaimUpdated = storageOf(growing.claim.status?.capacity) >= bytes && (!isTold || status === undefined);
    const isShared = growing.claim.spec?.accessModes?.includes("ReadWriteMany") === true;
    if (
      isTold &&
      !(isClaimUpdated && isShared) &&
      status !== "NodeResizePending" &&
      status !== "NodeResizeInProgress"
    ) {
      // All was done elsewhere, or it is not this node's turn yet.
      if (isClaimUpdated) known.bytes = bytes;
      return undefined;
    }
    let claim = growing.claim;
    if (isTold && !isClaimUpdated) claim = await this.#write(claim, inProgress(claim), call);
    const result = await volume.plugin.expand?.(growingRequest(growing), bytes, call);
    if (!result || (result.outcome === "unsupported" && (isClaimUpdated || !isTold))) {
      known.bytes = bytes;
      return undefined;
    }
    if (result.outcome === "grown") {
      const message = `MountVolume.NodeExpandVolume succeeded for volume "${volume.volumeName}" ${volume.pod.spec.nodeName ?? ""}`;
      this.#tell(volume, claim, "Normal", "FileSystemResizeSuccessful", message);
      if (!isClaimUpdated) await this.#write(claim, finished(claim, size ?? "0"), call);
      known.bytes = bytes;
      known.hasFailed = false;
      return undefined;
    }
    if (isTold && result.outcome !== "uncertain") {
      const now = this.#options.clock.now();
      const wanted = storageOf(claim.spec?.resources?.requests);
      const isHopeless = result.outcome === "infeasible" || (known.hasFailed && wanted !== bytes);
      await this.#write(claim, (isHopeless ? infeasible : failed)(claim, result.message, now), call);
      known.hasFailed = true;
    }
    if (result.outcome === "in-use") {
      known.isRefused = true;
      return undefined;
    }
    return `Expander.NodeExpand failed to expand the volume : ${result.message}`;
  }

  async #write(claim: PersistentVolumeClaim, status: object, call: Call): Promise<PersistentVolumeClaim> {
    const { client } = this.#options;
    if (!client) throw new Fault("unavailable", "there is no API server to tell the claim's size to");
    const ref = resources.persistentvolumeclaims;
    const object = { ...claim, apiVersion: "v1", kind: ref.kind, status };
    return client.update<PersistentVolumeClaim>(ref, object, call, { subresource: "status" });
  }

  #tell(
    { pod }: GrowingVolume,
    { metadata }: PersistentVolumeClaim,
    type: "Normal" | "Warning",
    reason: string,
    message: string,
  ): void {
    const { recorder } = this.#options;
    recorder.event(pod, type, reason, message);
    recorder.event({ apiVersion: "v1", kind: "PersistentVolumeClaim", metadata }, type, reason, message);
  }
}

interface Growing {
  readonly volume: GrowingVolume;
  readonly claim: PersistentVolumeClaim;
  readonly persistentVolume: PersistentVolume;
  readonly known: Known;
}

/** With the volume as it is now: the secret for growing may have come since it was mounted. */
function growingRequest({ volume: { request }, persistentVolume }: Growing): VolumeMountRequest {
  return { ...request, volume: volumeFrom(persistentVolume, request.volume.name), persistentVolume };
}

function storageOf(amounts: Readonly<Record<string, string | number | undefined>> | undefined): bigint {
  return quantityValue(parseQuantity(amounts?.storage ?? "0"));
}
