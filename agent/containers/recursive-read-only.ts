// Whether what is mounted below a read-only volume is read-only, too: by what the mount asks for and what the runtime can do. Pure.

import { Fault } from "../../plugins/kit/base/fault.ts";
import type { VolumeMount } from "../../plugins/kit/kube/objects/types.ts";

/** Fault `invalid` where it is asked for and cannot be had, in upstream's words. */
export function isRecursiveReadOnly(mount: VolumeMount, isSupported: boolean): boolean {
  const { name, recursiveReadOnly: mode = "Disabled", mountPropagation = "None" } = mount;
  if (mode === "Disabled") return false;
  const refused = (why: string) =>
    new Fault("invalid", `volume "${name}" requested recursive read-only mode, but it is not ${why}`);
  if (!mount.readOnly) throw refused("read-only");
  if (mountPropagation !== "None") throw refused(`compatible with propagation "${mountPropagation}"`);
  if (mode === "IfPossible") return isSupported;
  if (mode !== "Enabled") throw new Fault("invalid", `unknown recursive read-only mode "${mode}"`);
  if (!isSupported) throw refused("supported by the runtime");
  return true;
}
