// The host's user and group ids of a pod with a user namespace of its own.

export interface IdRange {
  /** The host's id for the pod's root. */
  readonly hostId: number;
  readonly length: number;
  /** The runtime shows the owners of files as the pod's users, so what the node makes for the pod may be the host's own. */
  readonly isMapped: boolean;
}
