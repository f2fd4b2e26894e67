// The PodHook contract: steps around a pod's life on the node. Clean-up runs in reverse, completely, even if prepare never ran.

import type { Call } from "../base/call.ts";
import type { Pod } from "../kube/objects/types.ts";
import { type Kind, kind } from "../base/plugin.ts";

export interface StartedContainer {
  readonly name: string;
  /** As the runtime knows it. */
  readonly id: string;
  /** The file that its output goes to. */
  readonly logPath: string;
}

/** A hook may be called again after a crash at any point: each step must complete what an earlier call began. */
export interface PodHook {
  readonly name: string;
  /** Before the sandbox is made; called again on every attempt. What it throws keeps the pod waiting, with an event that says so. */
  prepare?(pod: Pod, call: Call): Promise<void>;
  /**
   * When the sandbox has its addresses, before the first container starts; not for pods on the host's network. What it waits for holds the
   * pod up, and so does what it throws.
   */
  connected?(pod: Pod, ips: readonly string[], call: Call): Promise<void>;
  /** After a container of the pod has started. What it throws is told, and the container runs on. */
  started?(pod: Pod, container: StartedContainer, call: Call): Promise<void>;
  /** After the pod's last process is gone; must work when nothing was ever prepared. What it throws is tried again. */
  cleanup?(pod: Pod, call: Call): Promise<void>;
}

export const hookKind: Kind<PodHook> = kind("hook");
