// From a volume of a pod to what a driver is told of it: handle, capability, attributes, and who the pod is.

import { createHash } from "node:crypto";
import { Fault } from "../../kit/base/fault.ts";
import type { CsiDriverObject } from "../../kit/contracts/pod-objects.ts";
import type { VolumeMountRequest } from "../../kit/contracts/volume.ts";
import type { DriverFeatures } from "./driver.ts";
import { VolumeCapability_AccessMode_Mode as Mode, type VolumeCapability } from "./gen/csi.js";

export interface SecretRef {
  readonly name: string;
  readonly namespace: string;
}

export interface CsiVolume {
  readonly driverName: string;
  readonly volumeHandle: string;
  readonly lifecycle: "Persistent" | "Ephemeral";
  readonly attributes: Readonly<Record<string, string>>;
  readonly fsType: string;
  readonly readOnly: boolean;
  readonly isBlock: boolean;
  readonly accessMode: string;
  readonly mountOptions: readonly string[];
  readonly stageSecret?: SecretRef;
  readonly publishSecret?: SecretRef;
  readonly expandSecret?: SecretRef;
}

interface Source {
  driver: string;
  volumeHandle?: string;
  volumeAttributes?: Record<string, string>;
  fsType?: string;
  readOnly?: boolean;
  nodeStageSecretRef?: { name?: string; namespace?: string };
  nodePublishSecretRef?: { name?: string; namespace?: string };
  nodeExpandSecretRef?: { name?: string; namespace?: string };
}

export function volumeOf(request: VolumeMountRequest): CsiVolume {
  const { pod, persistentVolume, volume } = request;
  const source = (volume.csi ?? {}) as Source;
  const secret = (ref: Source["nodeStageSecretRef"]): SecretRef | undefined =>
    ref?.name ? { name: ref.name, namespace: ref.namespace ?? pod.metadata.namespace ?? "" } : undefined;
  const stageSecret = secret(source.nodeStageSecretRef);
  const publishSecret = secret(source.nodePublishSecretRef);
  const expandSecret = secret(source.nodeExpandSecretRef);
  const isPersistent = source.volumeHandle !== undefined;
  return {
    driverName: source.driver,
    volumeHandle: source.volumeHandle ?? inlineHandle(pod.metadata.uid ?? "", volume.name),
    lifecycle: isPersistent ? "Persistent" : "Ephemeral",
    attributes: source.volumeAttributes ?? {},
    fsType: source.fsType ?? "",
    readOnly: request.readOnly || source.readOnly === true,
    isBlock: persistentVolume?.spec?.volumeMode === "Block",
    accessMode: persistentVolume?.spec?.accessModes?.[0] ?? "ReadWriteOnce",
    mountOptions: persistentVolume?.spec?.mountOptions ?? [],
    ...(stageSecret ? { stageSecret } : {}),
    ...(publishSecret ? { publishSecret } : {}),
    ...(expandSecret ? { expandSecret } : {}),
  };
}

/** As upstream makes them, so that drivers which know the form recognise it. */
function inlineHandle(podUid: string, volumeName: string): string {
  return `csi-${createHash("sha256").update(`${podUid}${volumeName}`).digest("hex")}`;
}

const modes: Readonly<Record<string, number>> = {
  ReadWriteOnce: Mode.SINGLE_NODE_WRITER,
  ReadOnlyMany: Mode.MULTI_NODE_READER_ONLY,
  ReadWriteMany: Mode.MULTI_NODE_MULTI_WRITER,
  ReadWriteOncePod: Mode.SINGLE_NODE_WRITER,
};
const exactModes: Readonly<Record<string, number>> = {
  ...modes,
  ReadWriteOnce: Mode.SINGLE_NODE_MULTI_WRITER,
  ReadWriteOncePod: Mode.SINGLE_NODE_SINGLE_WRITER,
};

export function capabilityOf(volume: CsiVolume, features: DriverFeatures, fsGroup: number | undefined) {
  const mode = (features.knowsSingleWriter ? exactModes : modes)[volume.accessMode] ?? Mode.UNKNOWN;
  const accessMode = { mode } as NonNullable<VolumeCapability["accessMode"]>;
  if (volume.isBlock) return { block: {}, accessMode };
  const group = features.setsGroup && fsGroup !== undefined ? String(fsGroup) : "";
  const mount = { fsType: volume.fsType, mountFlags: [...volume.mountOptions], volumeMountGroup: group };
  return { mount, accessMode };
}

/** Facts of the pod that a driver has asked for (`podInfoOnMount`). */
export function podInfo(request: VolumeMountRequest, volume: CsiVolume): Record<string, string> {
  const { metadata, spec } = request.pod;
  return {
    "csi.storage.k8s.io/pod.name": metadata.name ?? "",
    "csi.storage.k8s.io/pod.namespace": metadata.namespace ?? "",
    "csi.storage.k8s.io/pod.uid": metadata.uid ?? "",
    "csi.storage.k8s.io/serviceAccount.name": spec?.serviceAccountName ?? "",
    "csi.storage.k8s.io/ephemeral": String(volume.lifecycle === "Ephemeral"),
  };
}

/** Whether the node gives the files to the pod's group, after the driver's own word on that. */
export function isGroupApplied(volume: CsiVolume, driver: CsiDriverObject | undefined): boolean {
  if (volume.isBlock || volume.readOnly) return false;
  const policy = driver?.spec?.fsGroupPolicy ?? "ReadWriteOnceWithFSType";
  if (policy === "None") return false;
  if (policy === "File") return true;
  return volume.fsType !== "" && /^ReadWriteOnce(Pod)?$/.test(volume.accessMode);
}

export function checkLifecycle(volume: CsiVolume, driver: CsiDriverObject | undefined): void {
  const supported = driver?.spec?.volumeLifecycleModes ?? ["Persistent"];
  if (supported.includes(volume.lifecycle)) return;
  throw new Fault(
    "unsupported",
    `volume mode "${volume.lifecycle}" not supported by driver ${volume.driverName} (supported: ${supported.join(", ")})`,
  );
}

/** The name of the object that says whether the volume is attached to the node. */
export function attachmentName(
  { volumeHandle, driverName }: Pick<CsiVolume, "volumeHandle" | "driverName">,
  nodeName: string,
): string {
  return `csi-${createHash("sha256").update(`${volumeHandle}${driverName}${nodeName}`).digest("hex")}`;
}
