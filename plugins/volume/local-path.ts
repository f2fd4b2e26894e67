// The directory of a local-path volume: made when a pod first comes, writable for whoever the pod runs as, and held to the
// volume's size where the file system has project quotas.

import { chmodSync, mkdirSync } from "node:fs";
import { basename } from "node:path";
import { isLocalPath } from "../kit/kube/objects/local-path.ts";
import type { PersistentVolume } from "../kit/kube/objects/types.ts";
import { limitDirectory } from "../kit/os/platform/project-quota.ts";
import { parseQuantity, quantityValue } from "../kit/kube/quantity.ts";

/** Does nothing for volumes that are not ours. What a pod made of the directory since stays as it is. */
export function prepareLocalPath(volume: PersistentVolume | undefined): void {
  const path = volume?.spec?.hostPath?.path ?? "";
  if (!volume || !isLocalPath(volume) || basename(path) !== volume.metadata.name) return;
  // Only the first directory that had to be made is answered; without one it was all there.
  if (mkdirSync(path, { recursive: true, mode: 0o777 }) !== undefined) chmodSync(path, 0o777);
  limitDirectory(path, Number(quantityValue(parseQuantity(volume.spec?.capacity?.storage ?? "0"))));
}
