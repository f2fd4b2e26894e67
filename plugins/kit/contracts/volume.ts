// The VolumePlugin contract: makes one kind of volume appear below a directory of the pod, and go away again.

import type { Call } from "../base/call.ts";
import type { PersistentVolume, Pod, Volume } from "../kube/objects/types.ts";
import { type Kind, kind } from "../base/plugin.ts";

export interface VolumeMountRequest {
  readonly pod: Pod;
  /** The volume as it stands in the pod, with claims and ephemeral claims already resolved to the volume behind them. */
  readonly volume: Volume;
  /** The persistent volume behind a claim, where there is one. */
  readonly persistentVolume?: PersistentVolume;
  /** Where the volume must appear; its parent exists. */
  readonly path: string;
  readonly readOnly: boolean;
  /** The group that files must be readable by, from the pod's security context, as the host counts. */
  readonly fsGroup?: number;
  readonly fsGroupChangePolicy?: string;
  /** The volume was mounted for this pod before: its owners were set then, and its files are the containers' since. */
  readonly isMounted?: boolean;
  /** The host's id for the pod's root, where that is not the host's own: what the node itself makes for the pod belongs to it. */
  readonly rootId?: number;
}

/** How full a volume is, as the one who serves it counts. */
export interface VolumeUsage {
  readonly capacityBytes: number;
  readonly availableBytes: number;
  readonly usedBytes: number;
  readonly inodes: number;
  readonly inodesFree: number;
  readonly inodesUsed: number;
}

/**
 * How it went to let a volume grow. `in-use`: not while it is used, so not on this node. `infeasible`: never to this size. `failed`: it was
 * not done, another attempt may go better. `uncertain`: it may still be under way, or nobody can say. `unsupported`: there is nothing to do here.
 */
export type ExpandOutcome =
  | { readonly outcome: "grown" }
  | { readonly outcome: "in-use" | "infeasible" | "failed" | "uncertain" | "unsupported"; readonly message: string };

export interface VolumePlugin {
  readonly name: string;
  /** Containers get it read-only whatever their mounts say: its content is the node's to write. */
  readonly isReadOnly?: boolean;
  supports(volume: Volume): boolean;
  /** Makes the volume appear at the path. Called again after a crash at any point: it must complete, not fail. */
  mount(request: VolumeMountRequest, call: Call): Promise<void>;
  /** Takes it away knowing the path alone, also when mount never ran or ran half. */
  unmount(path: string, call: Call): Promise<void>;
  /** Brings live content (config maps, secrets, tokens) up to date; true when something changed. */
  refresh?(request: VolumeMountRequest, call: Call): Promise<boolean>;
  /** Where containers find the volume, when that is not the path itself (hostPath, local). */
  hostPath?(request: VolumeMountRequest): string;
  /** Lets what is mounted at the request's path grow to what is behind it by now; called again for the same size it does nothing. */
  expand?(request: VolumeMountRequest, bytes: bigint, call: Call): Promise<ExpandOutcome>;
  /** Where the file system alone does not tell how full it is; undefined when nobody can say. */
  usage?(path: string, call: Call): Promise<VolumeUsage | undefined>;
}

export const volumeKind: Kind<VolumePlugin> = kind("volume");
