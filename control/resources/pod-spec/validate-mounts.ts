// Validation of what a container mounts: volumes as folders, and volumes as block devices.

import type { Container, Volume } from "../../../plugins/kit/kube/objects/types.ts";
import {
  type FieldErrors,
  forbidden,
  invalid,
  notFoundField,
  notSupported,
  required,
} from "../../machinery/field-error.ts";
import { validateDescendingPath, validateNoBacksteps } from "../paths.ts";

type VolumesByName = ReadonlyMap<string, Volume>;
type Mount = NonNullable<Container["volumeMounts"]>[number];

const propagations = ["Bidirectional", "HostToContainer", "None"];
const recursions = ["Disabled", "Enabled", "IfPossible"];

// Upstream leaves the index out of the paths of subPath, mountPropagation and recursiveReadOnly; so do we.
export function validateMounts(container: Container, at: string, volumes: VolumesByName, errors: FieldErrors): void {
  const list = `${at}.volumeMounts`;
  const deviceNames = new Set((container.volumeDevices ?? []).map(({ name }) => name));
  const devicePaths = new Set((container.volumeDevices ?? []).map(({ devicePath }) => devicePath));
  const paths = new Set<string>();
  (container.volumeMounts ?? []).forEach((mount, index) => {
    const field = `${list}[${index}]`;
    const { name, mountPath, subPath, subPathExpr } = mount;
    if (!name) errors.push(required(`${field}.name`));
    if (!volumes.has(name)) errors.push(notFoundField(`${field}.name`, name ?? ""));
    if (!mountPath) errors.push(required(`${field}.mountPath`));
    if (paths.has(mountPath)) errors.push(invalid(`${field}.mountPath`, mountPath, "must be unique"));
    paths.add(mountPath);
    if (deviceNames.has(name)) errors.push(invalid(`${field}.name`, name, "must not already exist in volumeDevices"));
    if (devicePaths.has(mountPath))
      errors.push(invalid(`${field}.mountPath`, mountPath, "must not already exist as a path in volumeDevices"));
    if (volumes.get(name)?.image)
      for (const part of ["subPath", "subPathExpr"] as const)
        if (mount[part]) errors.push(invalid(`${field}.${part}`, mount[part], "not allowed in image volume sources"));
    if (subPath) errors.push(...validateDescendingPath(subPath, `${list}.subPath`));
    if (subPathExpr) {
      if (subPath)
        errors.push(invalid(`${field}.subPathExpr`, subPathExpr, "subPathExpr and subPath are mutually exclusive"));
      errors.push(...validateDescendingPath(subPathExpr, `${list}.subPathExpr`));
    }
    validatePropagation(mount, container, list, errors);
  });
}

function validatePropagation(mount: Mount, container: Container, list: string, errors: FieldErrors): void {
  const { mountPropagation, recursiveReadOnly, readOnly } = mount;
  if (mountPropagation !== undefined && !propagations.includes(mountPropagation))
    errors.push(notSupported(`${list}.mountPropagation`, mountPropagation, propagations));
  if (mountPropagation === "Bidirectional" && container.securityContext?.privileged !== true)
    errors.push(
      forbidden(
        `${list}.mountPropagation`,
        "Bidirectional mount propagation is available only to privileged containers",
      ),
    );
  if (!recursiveReadOnly || recursiveReadOnly === "Disabled") return;
  const field = `${list}.recursiveReadOnly`;
  if (!recursions.includes(recursiveReadOnly)) {
    errors.push(notSupported(field, recursiveReadOnly, recursions));
    return;
  }
  if (!readOnly) errors.push(forbidden(field, "may only be specified when readOnly is true"));
  if (mountPropagation && mountPropagation !== "None")
    errors.push(forbidden(field, "may only be specified when mountPropagation is None or not specified"));
}

export function validateDevices(container: Container, at: string, volumes: VolumesByName, errors: FieldErrors): void {
  const mountNames = new Set((container.volumeMounts ?? []).map(({ name }) => name));
  const mountPaths = new Set((container.volumeMounts ?? []).map(({ mountPath }) => mountPath));
  const names = new Set<string>();
  const paths = new Set<string>();
  (container.volumeDevices ?? []).forEach(({ name, devicePath }, index) => {
    const field = `${at}.volumeDevices[${index}]`;
    const volume = volumes.get(name);
    if (!name) errors.push(required(`${field}.name`));
    if (names.has(name)) errors.push(invalid(`${field}.name`, name, "must be unique"));
    if (volume && !volume.persistentVolumeClaim && !volume.ephemeral)
      errors.push(
        invalid(
          `${field}.name`,
          name,
          "can only use volume source type of PersistentVolumeClaim or Ephemeral for block mode",
        ),
      );
    if (!volume) errors.push(notFoundField(`${field}.name`, name ?? ""));
    if (!devicePath) errors.push(required(`${field}.devicePath`));
    if (paths.has(devicePath)) errors.push(invalid(`${field}.devicePath`, devicePath, "must be unique"));
    if (devicePath && validateNoBacksteps(devicePath, field).length > 0)
      errors.push(invalid(`${field}.devicePath`, devicePath, "can not contain backsteps ('..')"));
    else paths.add(devicePath);
    if (mountNames.has(name)) errors.push(invalid(`${field}.name`, name, "must not already exist in volumeMounts"));
    if (mountPaths.has(devicePath))
      errors.push(invalid(`${field}.devicePath`, devicePath, "must not already exist as a path in volumeMounts"));
    if (name) names.add(name);
  });
}
