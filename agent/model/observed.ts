// What the runtime says of a pod right now, in the agent's own words. Everything here comes from the runtime, so it survives a restart
// of the agent; only agent/pleg makes these values and everyone else reads them.

export type ObservedState = "created" | "running" | "exited" | "unknown";

export interface ObservedSandbox {
  readonly id: string;
  readonly isReady: boolean;
  readonly attempt: number;
  /** Wall time in milliseconds. */
  readonly createdAt: number;
  /** The sandbox's own addresses, the primary first; empty on the host's network. */
  readonly ips: readonly string[];
  readonly isHostNetwork: boolean;
  readonly runtimeHandler?: string;
}

export interface ObservedContainer {
  readonly id: string;
  readonly name: string;
  readonly sandboxId: string;
  readonly state: ObservedState;
  /** How often it was restarted, from the container's own annotation. */
  readonly restartCount: number;
  /** Hash of the spec it was made from; empty for containers that another agent made. */
  readonly hash: string;
  /** Wall times in milliseconds; 0 where it has not happened. */
  readonly createdAt: number;
  readonly startedAt: number;
  readonly finishedAt: number;
  readonly exitCode: number;
  readonly reason: string;
  /** The termination message, already read and bounded. */
  readonly message: string;
  /** The image as the user named it, and what it resolved to. */
  readonly image: string;
  readonly imageId: string;
  readonly logPath: string;
  /** Facts of the spec it was started with, kept on the container for killing it when the pod is no longer known. */
  readonly terminationMessagePath: string;
  readonly graceSeconds?: number;
  readonly resources?: ObservedResources;
  /** CPUs that were given to it alone. */
  readonly cpus?: string;
  readonly user?: { readonly uid: number; readonly gid: number; readonly supplementalGroups: readonly number[] };
}

export interface ObservedResources {
  readonly cpuShares?: number;
  readonly cpuQuota?: number;
  readonly cpuPeriod?: number;
  readonly memoryLimitBytes?: number;
}

export interface ObservedPod {
  readonly uid: string;
  readonly name: string;
  readonly namespace: string;
  /** Newest first. */
  readonly sandboxes: readonly ObservedSandbox[];
  /** Newest first; several of one name are its generations. */
  readonly containers: readonly ObservedContainer[];
}

/** The newest generation of a container. */
export function newestOf(pod: ObservedPod | undefined, name: string): ObservedContainer | undefined {
  return pod?.containers.find((container) => container.name === name);
}

/** Something of the pod still runs or may run. */
export function isAnythingRunning(pod: ObservedPod | undefined): boolean {
  if (!pod) return false;
  return (
    pod.sandboxes.some((sandbox) => sandbox.isReady) ||
    pod.containers.some((container) => container.state === "running" || container.state === "unknown")
  );
}
