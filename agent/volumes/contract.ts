// What the rest of the agent asks of its volumes. The volume manager is the only one that mounts and unmounts.

import type { Call } from "../../plugins/kit/call.ts";
import type { VolumeUsage } from "../../plugins/kit/volume.ts";
import type { AgentPod } from "../pods/agent-pod.ts";
import type { FolderUsage } from "../../plugins/kit/safe-files/folder-usage.ts";

export interface MountedVolume {
  /** The directory, file or device on the host that stands for the volume. */
  readonly hostPath: string;
  /** The whole volume is read-only, whatever a container's mount says. */
  readonly readOnly?: boolean;
  /** A raw block device (`volumeDevices`) instead of a directory. */
  readonly isBlock?: boolean;
  /** An image volume: the runtime mounts the image itself, and `hostPath` is empty. */
  readonly image?: { readonly reference: string };
}

export interface SubPathRequest {
  readonly pod: AgentPod;
  readonly containerName: string;
  /** Position among the container's volume mounts; with pod and container it names the bind. */
  readonly index: number;
  readonly volume: MountedVolume;
  /** `subPath`, or `subPathExpr` with its variables already expanded. */
  readonly subPath: string;
  readonly readOnly: boolean;
}

export interface VolumeManager {
  /**
   * Makes every volume of the pod appear and resolves when all are there. Level-driven: it may be called at any time, also twice at
   * once, and mounts only what is missing. A Fault's message goes into the pod's FailedMount event; the caller retries with back-off.
   */
  mount(pod: AgentPod, call: Call): Promise<ReadonlyMap<string, MountedVolume>>;
  /** A host path for a sub path of a volume that no symlink can lead out of it; makes the directory when it is not there. */
  subPath(request: SubPathRequest, call: Call): Promise<string>;
  /** Groups that the pod's persistent volumes ask for (`pv.beta.kubernetes.io/gid`); known after mount. */
  supplementalGroups(podUid: string): readonly number[];
  /** Takes away everything of the pod, sub path binds included, knowing the uid alone; idempotent, complete even after an error. */
  unmountAll(podUid: string, call: Call): Promise<void>;
  /** How full a volume on disk is, where its plugin knows better than the file system; undefined otherwise. */
  usage(pluginName: string, path: string, call: Call): Promise<VolumeUsage | undefined>;
  /** Uids of pods that still have volumes on this host, from the disk: the agent cleans those that no longer exist. */
  podsWithVolumes(call: Call): Promise<readonly string[]>;
  /** `status.volumesInUse` of the node: unique names of attachable volumes. */
  inUse(): readonly string[];
  /** Bytes that the pod's emptyDir volumes on disk use and their limits: over a limit, the pod is evicted. */
  overLimit(pod: AgentPod, call: Call): Promise<{ volume: string; usedBytes: number; limitBytes: number } | undefined>;
  /** What the pod's volumes take on the node's own disk: emptyDir on disk and config maps. */
  localUsage(pod: AgentPod, call: Call): Promise<FolderUsage>;
  /** A pod that already ran when the agent started: what it has mounted is known and kept fresh again. Does not wait. */
  adopt(pod: AgentPod): void;
  /** The pod as its source has it now: content that shows its labels, annotations or resources follows. */
  update(pod: AgentPod): void;
  /** Tells that an object behind live content changed (config map, secret), so that it is refreshed now rather than on the next round. */
  wake(podUid: string): void;
  /** Refreshes live content and rotates tokens until stopped. */
  run(call: Call): Promise<void>;
}
