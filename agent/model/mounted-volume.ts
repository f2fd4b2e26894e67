// A volume of a pod as it is mounted on the host, and a sub path of it.

import type { AgentPod } from "./agent-pod.ts";

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
