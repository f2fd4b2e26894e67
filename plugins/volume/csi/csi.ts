// csi: volumes of storage drivers that run as pods or programs of their own. Staged once for the node, published for each pod; everything that
// taking them away needs is on disk before a driver is asked for anything.
//
// Invariant: work on one volume of one driver never overlaps, whichever pods it is for.

import { join } from "node:path";
import type { Call } from "../../kit/base/call.ts";
import { Fault, isFault } from "../../kit/base/fault.ts";
import { KeyedLock } from "../../kit/base/keyed-lock.ts";
import { type NodeDrivers, nodeDriversKind } from "../../kit/contracts/node-drivers.ts";
import { isMountPoint } from "../../kit/os/platform/mount.ts";
import type { Plugin } from "../../kit/base/plugin.ts";
import { pluginSocketsKind } from "../../kit/contracts/plugin-sockets.ts";
import { type CsiDriverObject, type PodObjects, podObjectsKind } from "../../kit/contracts/pod-objects.ts";
import {
  type ExpandOutcome,
  type VolumeMountRequest,
  type VolumePlugin,
  type VolumeUsage,
  volumeKind,
} from "../../kit/contracts/volume.ts";
import { secretData } from "../keyed-content.ts";
import { applyFsGroup } from "../ownership.ts";
import { Drivers } from "./drivers.ts";
import { outcomeOf } from "./expand-outcome.ts";
import { serviceAccountTokens } from "./tokens.ts";
import { usageFrom } from "./usage.ts";
import {
  attachmentName,
  capabilityOf,
  checkLifecycle,
  type CsiVolume,
  isGroupApplied,
  podInfo,
  type SecretRef,
  volumeOf,
} from "./volume-request.ts";
import { readState, removeState, stagingOf, targetOf, type VolumeState, writeState } from "./volume-state.ts";

interface Parts {
  readonly stagingRoot: string;
  readonly drivers: Drivers;
  readonly objects: PodObjects;
  readonly node: NodeDrivers | undefined;
}

class CsiVolumes implements VolumePlugin {
  readonly name = "kubernetes.io/csi";
  readonly #parts: Parts;
  readonly #lock = new KeyedLock();

  constructor(parts: Parts) {
    this.#parts = parts;
  }

  supports(volume: VolumeMountRequest["volume"]): boolean {
    return volume.csi !== undefined;
  }

  hostPath({ path }: VolumeMountRequest): string {
    return targetOf(path);
  }

  async mount(request: VolumeMountRequest, call: Call): Promise<void> {
    const volume = volumeOf(request);
    const object = await this.#driverObject(volume.driverName, call);
    checkLifecycle(volume, object);
    await this.#inTurn(volume, async () => {
      if (readState(request.path) && isMountPoint(targetOf(request.path))) return;
      await this.#publish(request, volume, object, call);
    });
  }

  /** Drivers that ask for it are told again, with fresh tokens. */
  async refresh(request: VolumeMountRequest, call: Call): Promise<boolean> {
    const volume = volumeOf(request);
    const object = await this.#driverObject(volume.driverName, call);
    if (!object?.spec?.requiresRepublish) return false;
    await this.#inTurn(volume, () => this.#publish(request, volume, object, call));
    return true;
  }

  async unmount(path: string, call: Call): Promise<void> {
    const state = readState(path);
    if (!state) return removeState(path);
    await this.#inTurn(state, async () => {
      const driver = this.#parts.drivers.named(state.driverName);
      await driver.unpublish(state.volumeHandle, targetOf(path), call);
      const staging = stagingOf(this.#parts.stagingRoot, state);
      staging.removeUser(path);
      // A pod's volume without state is gone, whatever its mark says.
      const isLast = staging.exists && staging.users().every((user) => readState(user) === undefined);
      if (isLast) {
        if ((await driver.features(call)).stages) await driver.unstage(state.volumeHandle, staging.path, call);
        staging.remove();
      }
      removeState(path);
    });
  }

  async usage(path: string, call: Call): Promise<VolumeUsage | undefined> {
    const state = readState(path);
    if (!state) return undefined;
    const driver = this.#parts.drivers.named(state.driverName);
    if (!(await driver.features(call)).tellsUsage) return undefined;
    const staging = stagingOf(this.#parts.stagingRoot, state);
    const stagingPath = staging.exists ? staging.path : "";
    return usageFrom(await driver.stats(state.volumeHandle, targetOf(path), stagingPath, call));
  }

  async expand(request: VolumeMountRequest, bytes: bigint, call: Call): Promise<ExpandOutcome> {
    const volume = volumeOf(request);
    return this.#inTurn(volume, async () => {
      try {
        const driver = this.#parts.drivers.named(volume.driverName);
        const features = await driver.features(call);
        if (!features.expands)
          return {
            outcome: "unsupported",
            message: `NodeExpand is not supported by the CSI driver ${volume.driverName}`,
          };
        const staging = stagingOf(this.#parts.stagingRoot, volume);
        const told = {
          volumeId: volume.volumeHandle,
          volumePath: targetOf(request.path),
          capacityRange: { requiredBytes: bytes, limitBytes: 0n },
          stagingTargetPath: features.stages ? staging.path : "",
          volumeCapability: capabilityOf(volume, features, undefined),
          secrets: await this.#secret(volume.expandSecret, call),
        };
        await driver.expand(told, call);
        return { outcome: "grown" };
      } catch (error) {
        return outcomeOf(error);
      }
    });
  }

  async #publish(
    request: VolumeMountRequest,
    volume: CsiVolume,
    object: CsiDriverObject | undefined,
    call: Call,
  ): Promise<void> {
    const { drivers, stagingRoot } = this.#parts;
    const driver = drivers.named(volume.driverName);
    const features = await driver.features(call);
    const publishContext = await this.#attached(volume, object, call);
    const { driverName, volumeHandle, lifecycle } = volume;
    const state: VolumeState = { driverName, volumeHandle, lifecycle };
    writeState(request.path, state);
    const isGroupOurs = isGroupApplied(volume, object) && !features.setsGroup;
    const told = {
      volumeId: volumeHandle,
      publishContext,
      volumeCapability: capabilityOf(volume, features, request.fsGroup),
    };
    let stagingTargetPath = "";
    if (lifecycle === "Persistent" && features.stages) {
      const staging = stagingOf(stagingRoot, state);
      staging.addUser(request.path);
      stagingTargetPath = staging.path;
      const secrets = await this.#secret(volume.stageSecret, call);
      await driver.stage({ ...told, stagingTargetPath, secrets, volumeContext: { ...volume.attributes } }, call);
    }
    const volumeContext = await this.#context(request, volume, object, call);
    const secrets = await this.#secret(volume.publishSecret, call);
    const targetPath = targetOf(request.path);
    await driver.publish(
      { ...told, stagingTargetPath, targetPath, secrets, volumeContext, readonly: volume.readOnly },
      call,
    );
    if (isGroupOurs) await applyFsGroup(targetPath, request, call);
  }

  async #context(
    request: VolumeMountRequest,
    volume: CsiVolume,
    object: CsiDriverObject | undefined,
    call: Call,
  ): Promise<Record<string, string>> {
    const { podInfoOnMount, tokenRequests = [] } = object?.spec ?? {};
    const tokens = await serviceAccountTokens(this.#parts.objects, request.pod, tokenRequests, call);
    return { ...volume.attributes, ...(podInfoOnMount ? podInfo(request, volume) : {}), ...tokens };
  }

  /** What attaching has told, once the volume is attached; drivers that attach nothing have nothing to tell. */
  async #attached(volume: CsiVolume, object: CsiDriverObject | undefined, call: Call): Promise<Record<string, string>> {
    if (volume.lifecycle === "Ephemeral" || object?.spec?.attachRequired === false) return {};
    const { objects, node } = this.#parts;
    const name = attachmentName(volume, node?.nodeName ?? "");
    try {
      const { status } = await objects.volumeAttachment(name, call);
      if (status?.attached) return status.attachmentMetadata ?? {};
      const why = status?.attachError?.message;
      throw new Fault(
        "unavailable",
        `volume ${volume.volumeHandle} is not attached to this node yet${why ? `: ${why}` : ""}`,
      );
    } catch (error) {
      // To a node, an attachment that does not exist is one that it may not read.
      if (!isFault(error, "not-found", "forbidden")) throw error;
      throw new Fault(
        "unavailable",
        `volume ${volume.volumeHandle} is not attached to this node yet: nobody has begun`,
      );
    }
  }

  async #driverObject(name: string, call: Call): Promise<CsiDriverObject | undefined> {
    try {
      return await this.#parts.objects.csiDriver(name, call);
    } catch (error) {
      // A driver may do without the object: then the defaults hold.
      if (isFault(error, "not-found")) return undefined;
      throw error;
    }
  }

  async #secret(ref: SecretRef | undefined, call: Call): Promise<Record<string, string>> {
    if (!ref) return {};
    const data = secretData(await this.#parts.objects.secret(ref.namespace, ref.name, call));
    return Object.fromEntries([...data].map(([key, value]) => [key, Buffer.from(value).toString("utf8")]));
  }

  #inTurn<T>({ driverName, volumeHandle }: VolumeState, work: () => Promise<T>): Promise<T> {
    return this.#lock.run(`${driverName}/${volumeHandle}`, work);
  }
}

export const csi: Plugin<VolumePlugin> = {
  kind: volumeKind,
  name: "csi",
  needs: [podObjectsKind, pluginSocketsKind, nodeDriversKind],
  open(host) {
    const [node] = host.all(nodeDriversKind);
    const [objects] = host.all(podObjectsKind);
    if (!objects) throw new Fault("internal", "the csi volume plugin needs somebody to ask for objects");
    const drivers = new Drivers(node);
    host.onClose(() => drivers.close());
    for (const sockets of host.all(pluginSocketsKind)) sockets.use("CSIPlugin", drivers);
    return new CsiVolumes({ stagingRoot: join(host.stateDir, "staging"), drivers, objects, node });
  },
};
