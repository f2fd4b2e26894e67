// What the rest of the agent asks of its volumes. The volume manager is the only one that mounts and unmounts.

import type { Call } from "../../plugins/kit/base/call.ts";
import type { VolumeUsage } from "../../plugins/kit/contracts/volume.ts";
import type { AgentPod } from "../model/agent-pod.ts";
import type { FolderUsage } from "../../plugins/kit/os/safe-files/folder-usage.ts";
import type { MountedVolume, SubPathRequest } from "../model/mounted-volume.ts";

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
