// What a runtime gives the behaviour suite: how to open it, an image to run, and what it honestly cannot do.

import type { Runtime } from "../../../cri/api/contract.ts";

/**
 * What a runtime may lack. Each is a line in the test's output with its reason, or asks for the other way that is known;
 * and the RPCs among them must then fail as `unsupported`.
 */
export type Ability =
  | "kernel" // real processes, mounts, namespaces and cgroups
  | "pull" // a registry to pull from
  | "runtimeConfig"
  | "updatePodSandboxResources"
  | "checkpointContainer"
  | "criu" // the program that makes checkpoints, where the runtime asks for it only then
  | "metrics"
  | "metricLabels" // describing every label of a metric
  | "podStats"
  | "podUsage" // what a pod uses as a whole
  | "userNamespaces"
  | "idMappedMounts" // mounts that show owners as the pod's users
  | "recursiveReadOnly"
  | "imageVolumes"
  | "stopSignal"
  | "containerUser"
  | "handlers"
  | "sizeAtStart" // a terminal's size before its command begins
  | "ownTerminal" // a terminal with nothing in between that changes or cuts off what passes
  | "orderedEvents" // telling a start before the end that follows at once
  | "lateUpdates" // refusing to change what has exited
  | "lateCommands" // looking for a container's command at its start, not before
  | "takenNames" // refusing a name that is taken, rather than answering with who has it
  | "killAtOnce" // SIGKILL and nothing else where a stop gives no time
  | "burial" // reaping a command that took too long, rather than leaving it to the machine's first process
  | "notFoundCode" // saying by its code that something does not exist, not only in words
  | "restart"
  | "exitsWhileAway"; // exit codes of what ended while nobody looked

export interface RuntimeSetup {
  readonly runtime: Runtime;
  /** The test's own: logs and volumes go below it. */
  readonly dir: string;
  /** Busybox as test/harness/images.ts makes it, present. */
  readonly image: string;
  /** An image whose user is the name `app`, and one whose user is the number 1000. */
  readonly images: { readonly namedUser: string; readonly numberedUser: string; readonly removable: string };
  /** A command that answers on a TCP port with what it is sent, for as many connections as come. */
  readonly echoServer: { readonly command: readonly string[]; readonly port: number };
  /** Another name under which the image can be pulled; only with the ability `pull`. */
  readonly pullable?: string;
  /**
   * Kills the runtime (never its containers), does `meanwhile`, and opens it anew on what it left; only with the
   * ability `restart`.
   */
  restart?(meanwhile?: () => Promise<void>): Promise<Runtime>;
}

export interface RuntimeSuite {
  readonly name: string;
  /** Missing abilities with the reason: `{ metrics: "containerd 1.6 has none" }`. */
  readonly lacks: Readonly<Partial<Record<Ability, string>>>;
  open(t: { teardown(then: () => Promise<void>): void }): Promise<RuntimeSetup>;
}

/** A command for busybox on a real kernel that serves echoes. */
export const echoServer = { command: ["nc", "-ll", "-p", "8080", "-e", "cat"], port: 8080 } as const;
