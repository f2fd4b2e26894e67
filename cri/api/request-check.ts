// What CRI says that every runtime must refuse, whatever it is made of. Pure.

import { Fault } from "../../plugins/kit/base/fault.ts";
import { type LinuxContainerSecurityContext, NamespaceMode, type UserNamespace } from "./gen/runtime.js";

/** A group without a user: whose it would be is not said. */
export function checkRunAs(security: LinuxContainerSecurityContext | undefined): void {
  if (!security?.runAsGroup || security.runAsUser || security.runAsUsername) return;
  throw new Fault("invalid", `Cannot run as group ${security.runAsGroup.value}: a group needs a user beside it`);
}

/** A user namespace is the node's or the pod's; the pod's own has a root. */
export function checkUserNamespace(user: UserNamespace | undefined): void {
  if (!user || user.mode === NamespaceMode.NODE) return;
  if (user.mode !== NamespaceMode.POD) {
    throw new Fault("invalid", "Cannot make a user namespace: it is the pod's or the node's, never one container's");
  }
  if (user.uids.length === 0 && user.gids.length === 0) return;
  for (const [what, mappings] of [
    ["users", user.uids],
    ["groups", user.gids],
  ] as const) {
    if (mappings.some(({ containerId, length }) => containerId === 0 && length > 0)) continue;
    throw new Fault("invalid", `Cannot make a user namespace: its ${what} have nothing for id 0, its root`);
  }
}
